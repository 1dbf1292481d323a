"""Interface of simulated devices to the rig: wheels, valves, sampled channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

# Called with a due time and the actual time [ns], so that a simulated device can report its lateness.
TakesTimes = Callable[[int, int], object]
# Time of what does not happen by itself [ns].
NEVER_NS = 2**62


class AxlePorts(Protocol):
    """The six axles, in the order of the wheel names."""

    def speed_radps(self, wheel: int) -> float:
        """Returns the speed of an axle [rad/s], positive rolling forward."""

    def angle_rad(self, wheel: int) -> float:
        """Returns the angle of an axle since the start [rad]."""

    def hold(self, wheel: int, speed_radps: float) -> None:
        """Command the drive to hold a speed."""

    def drive(self, wheel: int, duty: float) -> None:
        """Command the drive to a share of its supply voltage, -1 to 1, positive rolling forward; 0 is a cut."""

    def cut(self, wheel: int) -> None:
        """Set its output to zero."""

    def current_A(self, wheel: int) -> float:
        """Returns the current of its motor [A], positive where it drives forward."""

    def supply_V(self) -> float:
        """Returns the voltage of the motors' supply [V]."""


class Servos(Protocol):
    """The driven joints, in the order of the servos' names; each holds an angle, or its output is zero."""

    def angle_rad(self, joint: int) -> float:
        """Returns the angle of a joint [rad], as the rover's own coordinate."""

    def speed_radps(self, joint: int) -> float:
        """Its rate [rad/s]."""

    def hold(self, joint: int, angle_rad: float) -> None:
        """Command the servo to hold an angle."""

    def cut(self, joint: int) -> None:
        """Set its output to zero."""

    def current_A(self, joint: int) -> float:
        """Current of its motor for the torque that it gives to the joint [A], with the sign of that torque."""


class CylinderPorts(Protocol):
    """The cylinders' valves and the regulators of their supply, each counted in the order of the rig's.

    Attributes:
        valves: how many valves there are.
        regulators: how many regulators are moved during a run.
    """

    valves: int
    regulators: int

    def power(self, valve: int, on: bool) -> None:
        """Switch a valve on or off."""

    def pressure_Pa(self, valve: int) -> float:
        """Returns the gauge pressure of the chamber at a valve."""

    def regulate(self, regulator: int, pressure_Pa: float) -> None:
        """Set a regulator to a gauge pressure."""


class Analog(Protocol):
    """The sampled channels of the data acquisition.

    Attributes:
        rate_hz: samples a second and channel.
        channels: how many there are.
    """

    rate_hz: int
    channels: int

    def taken(self) -> int:
        """Returns the number of samples of each channel so far."""

    def copy(self, first: int, volts: npt.NDArray[np.float64]) -> None:
        """Copy samples first, first + 1, ... [V] into volts (n, channels). Raises OverflowError: overwritten."""

    def at_ns(self, sample: int) -> int:
        """Returns when a sample is taken [ns of CLOCK_MONOTONIC]."""

    def due_ns(self, count: int) -> int:
        """Returns when so many samples of each channel can first be there [ns of CLOCK_MONOTONIC]."""

    def read_in_blocks(self, first: int, count: int) -> None:
        """From a sample on, so many are read at a time: the rig may make them in this rhythm."""


@runtime_checkable
class PacedChannels(Protocol):
    """Sampled channels whose rate a reader chooses."""

    def pace(self, rate_hz: float) -> None:
        """Take so many samples a second from now on, counted from 0."""


class SampledChannels(Protocol):
    """Sampled channels of a plant.

    Attributes:
        channels: how many there are.
        rate_hz: samples a second.
    """

    channels: int
    rate_hz: int

    @property
    def full_scale(self) -> float | npt.NDArray[np.float64]:
        """Of all channels, or (channels,) of each, either sign, in the unit of their readings."""

    @property
    def samples(self) -> int:
        """Number of samples of each channel so far."""

    def copy_samples(self, first: int, volts: npt.NDArray[np.float64]) -> None:
        """Copy samples first, first + 1, ... [V] into volts (n, channels). Raises OverflowError: overwritten."""


class Instrument(Protocol):
    """An instrument of motion on the rig, as exact as it is: its noise and its faults are in what it gives.

    Attributes:
        channels: names of the values of a reading, as `drivers.driver_type.InstrumentSetup` has them.
        rate_hz: readings a second.
    """

    channels: tuple[str, ...]
    rate_hz: float

    def since(self, sequence: int) -> Sequence[tuple[int, int, tuple[float, ...]]]:
        """Readings after a number, oldest first: number, time of measurement [ns of CLOCK_MONOTONIC], values.

        Those that are too old are no longer there, and one that the instrument lost never is: numbers have gaps.
        """


class ChannelReadings(Protocol):
    """The newest readings of channels that an amplifier reads."""

    def volts(self, channel: int) -> float:
        """Returns the newest sample of a channel [V]."""


class LoadReadings(ChannelReadings, Instrument, Protocol):
    """The load channels, in the order of their names: for an amplifier that is asked, or for a device that streams.

    As of an instrument, a reading is a sample of all channels, in the unit that `LoadChannelSetup` of the rig has.
    """


class PlantPorts(NamedTuple):
    """Plant of the serial devices; a rig without load channels has no readings, one without driven joints no servos."""

    wheels: AxlePorts
    cylinders: CylinderPorts
    readings: LoadReadings | None = None
    instruments: Mapping[str, Instrument] = {}
    servos: Servos | None = None
