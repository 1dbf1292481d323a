"""Statics of a rover on its wheels: what its joints' torques do to the wheels' loads, and the best that they can do."""

from models.statics.best import Cost, best_torques, spread_of, traction_loss, unevenness
from models.statics.statics import RoverStatics
from models.statics.steady import NoSteadyStateError, SteadyRover, SteadyState, tilt_of

__all__ = [
    "Cost",
    "NoSteadyStateError",
    "RoverStatics",
    "SteadyRover",
    "SteadyState",
    "best_torques",
    "spread_of",
    "tilt_of",
    "traction_loss",
    "unevenness",
]
