"""The slow load channels of a plant: their samples, their noise, and how many have been taken."""

from __future__ import annotations

import numpy as np

from models.kernels.bound import BoundArguments
from models.kernels.compiled import FloatArray
from models.rover.rover import Rover
from models.sensors.load_sensors import RING, LoadSensors, make_load_parts, take_load_samples
from models.vehicle import VehicleModel, VehicleState


class LoadSampling:
    """Samples of leg sensors and load cell.

    Args:
        rover: of the plant.
        vehicle: of the plant.
        state: of the plant.
        sensors: the channels.
        random: source of their noise.

    Attributes:
        channels: how many there are.
        rate_hz: samples a second.
        full_scale: (channels,) either sign, in the unit of each channel's readings.
        samples: how many of each channel have been taken.
    """

    def __init__(
        self,
        rover: Rover,
        vehicle: VehicleModel,
        state: VehicleState,
        sensors: LoadSensors,
        random: np.random.Generator,
    ) -> None:
        self._random, self._pull = random, state.pull
        self.channels, self.rate_hz, self.full_scale = len(sensors.wheel), sensors.rate_hz, sensors.range
        self.samples = 0
        parts = make_load_parts(rover, vehicle, state, sensors)
        self._volts, self._parts = parts.volts, BoundArguments(parts)

    def take(self, from_ns: int, to_ns: int) -> None:
        """Take the samples of an advance of the plant [ns]: whose time n / rate, in whole ns, is at most its end."""
        count = -(-(to_ns + 1) * self.rate_hz // 1_000_000_000) - self.samples
        noise = self._random.standard_normal((count, self.channels))
        take_load_samples(self._parts, self.samples, noise, from_ns, to_ns, -float(self._pull[0]))
        self.samples += count

    def copy_samples(self, first: int, volts: FloatArray) -> None:
        """Copy samples first, first + 1, ... into volts (n, channels), in the unit of the readings.

        Raises:
            OverflowError: they have been overwritten.
        """
        if self.samples - first > RING:
            raise OverflowError(f"sample {first} is gone: {self.samples} taken, the last {RING} kept")
        np.take(self._volts, np.arange(first, first + len(volts)) % RING, axis=0, out=volts)
