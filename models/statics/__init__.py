"""Statics of a rover on its wheels: what its joints' torques do to the wheels' loads, and the best that they can do."""

from models.statics.driving import SteadyDrive, best_torques, spread_of
from models.statics.equilibrium import Equilibrium, StandingRover, tilt_of
from models.statics.pull import PullTable, make_pull_table
from models.statics.statics import RoverStatics, traction_wrenches

__all__ = [
    "Equilibrium",
    "PullTable",
    "RoverStatics",
    "StandingRover",
    "SteadyDrive",
    "best_torques",
    "make_pull_table",
    "spread_of",
    "tilt_of",
    "traction_wrenches",
]
