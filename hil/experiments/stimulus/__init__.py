"""A stimulus: speeds of the wheels, and valves, over time from a table.

experiment  its states, what is set in each tick, and its part of the summary
figure      stimulus.png
"""
