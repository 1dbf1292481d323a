"""Following: a speed of the rims or of the rover over time, or a slip, by what is measured (Petersen 2012, 6.2, 6.3.1).

experiment  its states, the speed that is wanted in each tick, and its part of the summary
judgement   error, slip and saturation in the window
figure      follow.png
"""
