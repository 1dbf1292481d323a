"""The whole rig as one steppable model: what the simulated rig runs."""

from models.plant.ground import GroundParameters, Impacts, SensedPlate, WheelKind
from models.plant.instruments import InstrumentOnRig, InstrumentParameters
from models.plant.parameters import RigParameters, Spread
from models.plant.plant import Plant
from models.plant.reading_noise import ReadingNoise
from models.plant.towing import Towing
from models.plant.veer import Veer

__all__ = [
    "GroundParameters",
    "Impacts",
    "InstrumentOnRig",
    "InstrumentParameters",
    "Plant",
    "ReadingNoise",
    "RigParameters",
    "SensedPlate",
    "Spread",
    "Towing",
    "Veer",
    "WheelKind",
]
