"""A drive with controlled wheel loads: how evenly the cylinders share the weight, against passive and the best.

experiment  its steps, and the goal of each tick
segments    the run cut where the wanted loads change
spread      spread, settling, response to a step, static optimum
best        that optimum for the rig
summary     spread before and after, loads and torques of each step
figure      normal_force.png
"""
