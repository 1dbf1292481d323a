"""Wheel on soil: hypervolumetric normal force and traction of a rigid wheel (Petersen 2012, chapters 3 and 4)."""

from models.wheel.forces import DriftForces, NormalForce, WheelForces
from models.wheel.presets import PRESETS, Preset
from models.wheel.rigid import RigidWheel
from models.wheel.soil import Soil

__all__ = ["PRESETS", "DriftForces", "NormalForce", "Preset", "RigidWheel", "Soil", "WheelForces"]


def __dir__() -> list[str]:
    return __all__
