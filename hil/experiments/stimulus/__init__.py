"""A stimulus: speeds of the wheels, and valves, over time from a table."""
