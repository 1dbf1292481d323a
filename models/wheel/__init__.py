"""Wheel on soil: hypervolumetric normal force and traction of rigid and flexible wheels (Petersen 2012, 3-5)."""

from models.wheel.crowned import CrownedWheel
from models.wheel.flexible import FlexibleWheel
from models.wheel.flexible_ring import Ring
from models.wheel.many import DriftForces, NormalForce, WheelForces
from models.wheel.rigid import RigidWheel
from models.wheel.soil import PRESETS, Preset, Soil, passive_pressure

__all__ = [
    "PRESETS", "CrownedWheel", "DriftForces", "FlexibleWheel", "NormalForce", "Preset", "RigidWheel", "Ring", "Soil",
    "WheelForces", "passive_pressure",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
