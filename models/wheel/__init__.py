"""Wheel on soil: hypervolumetric normal force and traction of a rigid wheel (Petersen 2012, chapters 3 and 4)."""

from models.wheel.presets import PRESETS, Preset
from models.wheel.rigid import RigidWheel
from models.wheel.soil import Soil

__all__ = ["PRESETS", "Preset", "RigidWheel", "Soil"]
