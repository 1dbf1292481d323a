"""Reduced multibody rovers: descriptions here, and `models.rover.rover.Rover`, whose import takes the kernels' time."""

from models.rover.exomars import ExomarsParameters, exomars
from models.rover.exomars_like import ExomarsLikeParameters, exomars_like
from models.rover.juno import JunoParameters, juno
from models.rover.parameters import Parameters
from models.rover.parametric import ParametricParameters, parametric
from models.rover.rcp import RcpParameters, rcp
from models.rover.registry import ROVERS
from models.rover.rocker_bogie import RockerBogieParameters, rocker_bogie

__all__ = [
    "ROVERS",
    "ExomarsLikeParameters",
    "ExomarsParameters",
    "JunoParameters",
    "Parameters",
    "ParametricParameters",
    "RcpParameters",
    "RockerBogieParameters",
    "exomars",
    "exomars_like",
    "juno",
    "parametric",
    "rcp",
    "rocker_bogie",
]
