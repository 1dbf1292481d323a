"""Noise of what the devices read: the cylinders' pressures, and the speeds of the wheels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray


class ReadingNoise(NamedTuple):
    """Standard deviations.

    Attributes:
        pressure: of each pressure [Pa].
        speed: of each wheel's speed [rad/s].
    """

    pressure: float = 0.0
    speed: float = 0.0


def read_with(noise: float, values: FloatArray, random: np.random.Generator) -> FloatArray:
    """Values (...) as read, with noise of that standard deviation; 0 draws no random numbers."""
    return values + noise * random.standard_normal(values.shape) if noise > 0.0 else values
