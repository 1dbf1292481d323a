"""Simulated devices: the drivers' interfaces on one plant, and in `protocol` parts for devices simulated in bytes.

This file imports nothing: `protocol` does not need the plant.
"""
