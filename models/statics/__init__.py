"""Statics of a rover on its wheels: what its joints' torques do to the wheels' loads, and whether it can stand."""

from models.statics.balance import RoverStatics
from models.statics.best import Cost, best_torques, spread_of, traction_loss, unevenness
from models.statics.least_friction import LeastFriction, least_friction
from models.statics.standing import StandingEquations, stability_margin, stand, tipping_slope
from models.statics.steady import NoSteadyStateError, SteadyRover, SteadyState, tilt_of

__all__ = [
    "Cost",
    "LeastFriction",
    "NoSteadyStateError",
    "RoverStatics",
    "StandingEquations",
    "SteadyRover",
    "SteadyState",
    "best_torques",
    "least_friction",
    "spread_of",
    "stability_margin",
    "stand",
    "tilt_of",
    "tipping_slope",
    "traction_loss",
    "unevenness",
]
