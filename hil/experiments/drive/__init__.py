"""Driving: wheel speeds over time, over the ground of the config, without an obstacle.

experiment  its states, the goal of each tick, and distance, slip and loads of each step
figure      drive.png
"""
