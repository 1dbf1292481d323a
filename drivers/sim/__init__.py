"""Simulated devices: the drivers' interfaces as views on one plant, and in `wire` the same bytes as real ones.

This file imports nothing: those in `wire` do without the plant.
"""
