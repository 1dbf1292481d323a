"""Reduced multibody rovers."""

from models.rover.assembly import Parameters
from models.rover.catalogue import ROVERS, rover_of
from models.rover.exomars import ExomarsParameters, exomars
from models.rover.exomars_like import ExomarsLikeParameters, exomars_like
from models.rover.parametric import ParametricParameters, parametric
from models.rover.rcp import RcpParameters, rcp
from models.rover.rocker_bogie import RockerBogieParameters, rocker_bogie
from models.rover.rover import Rover

__all__ = [
    "ROVERS",
    "ExomarsLikeParameters",
    "ExomarsParameters",
    "Parameters",
    "ParametricParameters",
    "RcpParameters",
    "RockerBogieParameters",
    "Rover",
    "exomars",
    "exomars_like",
    "parametric",
    "rcp",
    "rocker_bogie",
    "rover_of",
]
