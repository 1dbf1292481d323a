"""Simulated devices: the drivers' interfaces as views on one plant."""

from drivers.sim.far_end import FarEnd

__all__ = ["FarEnd"]
