"""Reduced multibody rovers."""

from models.rover.assembly import Parameters
from models.rover.exomars import ExomarsParameters, exomars
from models.rover.exomars_like import ExomarsLikeParameters, exomars_like
from models.rover.juno import JunoParameters, juno
from models.rover.parametric import ParametricParameters, parametric
from models.rover.rcp import RcpParameters, rcp
from models.rover.registry import ROVERS, RoverKind, kind_of, rover_of
from models.rover.rocker_bogie import RockerBogieParameters, rocker_bogie
from models.rover.rover import Rover

__all__ = [
    "ROVERS",
    "ExomarsLikeParameters",
    "ExomarsParameters",
    "JunoParameters",
    "Parameters",
    "ParametricParameters",
    "RcpParameters",
    "RockerBogieParameters",
    "Rover",
    "RoverKind",
    "exomars",
    "exomars_like",
    "juno",
    "kind_of",
    "parametric",
    "rcp",
    "rocker_bogie",
    "rover_of",
]
