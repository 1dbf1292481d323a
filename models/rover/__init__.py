"""Reduced multibody rovers."""

from models.rover.rcp import RcpParameters, rcp
from models.rover.rover import Rover

__all__ = ["RcpParameters", "Rover", "rcp"]
