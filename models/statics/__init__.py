"""Statics of a rover on its wheels: what its joints' torques do to the wheels' loads, and the best that they can do."""

from models.statics.best import Cost, best_torques, spread_of, traction_loss, unevenness
from models.statics.driving import Driving, NoSteadyStateError, SteadyDrive
from models.statics.equilibrium import Equilibrium, StandingRover, tilt_of
from models.statics.statics import RoverStatics, traction_wrenches

__all__ = [
    "Cost",
    "Driving",
    "Equilibrium",
    "NoSteadyStateError",
    "RoverStatics",
    "StandingRover",
    "SteadyDrive",
    "best_torques",
    "spread_of",
    "tilt_of",
    "traction_loss",
    "traction_wrenches",
    "unevenness",
]
