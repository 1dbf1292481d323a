"""Driving: wheel speeds over time, over the ground of the config, without an obstacle."""
