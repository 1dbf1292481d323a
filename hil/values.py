"""The values that pass from room to room in one tick. Each is frozen; nothing skips a room and nothing goes back."""

from __future__ import annotations

import time
from typing import NamedTuple, TypeVar

import msgspec

from drivers.types import VALVES_OFF, DaqBlock, DriveSample, ValveSample, ValveSet

T = TypeVar("T")
Six = tuple[float, ...]
STILL: Six = (0.0,) * 6


class Tick(NamedTuple):
    """One beat of the loop: its number, its time since the start [ns], and what it took to get there."""

    number: int
    t_ns: int
    began_ns: int  # monotonic clock when work began
    plant_ns: int  # cost of the simulated far end


class Laps:
    """How long a tick stays in each of its rooms.

    Attributes:
        times_ns: one a room left so far [ns], in the order of `hil.rows.PHASES`.
    """

    def __init__(self, tick: Tick) -> None:
        self._left_ns = tick.began_ns
        self.times_ns: list[int] = []

    def of(self, value: T) -> T:
        """The value that a room has just handed on."""
        self.end()
        return value

    def end(self) -> None:
        """A room has been left."""
        now_ns = time.monotonic_ns()
        self.times_ns.append(now_ns - self._left_ns)
        self._left_ns = now_ns


class Samples(msgspec.Struct, frozen=True, gc=False):
    """What the devices said, newest last; `drives` and `valves` are held between their samples.

    `gap` is the most blocks of sensor samples that were missing between two of this tick's, or before its first.
    """

    t_ns: int
    blocks: tuple[DaqBlock, ...]
    daq_age_ns: int
    daq_sequence: int  # of the newest block so far, 0 before the first
    drives: DriveSample
    valves: ValveSample
    gap: int = 0


class Estimate(msgspec.Struct, frozen=True, gc=False):
    """What the samples mean.

    Attributes:
        zeroed: the channels' bias is known.
        bias_V: (channels,) of each channel.
        noise_V: (channels,) standard deviation of each channel.
        finite: every sample was a finite number.
        saturated: a channel has been at the end of its range since zeroing.
        impact_ns: time of the first sample over the threshold, or None.
        force_N: (channels,) newest, droop corrected.
        load_point_m: (across, up) from the triangle's centroid; NaN while unloaded, and of a bumper.
        wheel_speed_radps: (6,) measured.
        still: (channels,) newest samples in a row that are equal bit for bit, those at full scale not counted.
    """

    zeroed: bool
    bias_V: tuple[float, ...]
    noise_V: tuple[float, ...]
    finite: bool
    saturated: bool
    impact_ns: int | None
    force_N: tuple[float, ...]
    load_point_m: tuple[float, float]
    wheel_speed_radps: Six
    still: tuple[int, ...] = ()


class Prediction(msgspec.Struct, frozen=True, gc=False):
    """What the rover twin says of the rig: normal forces [N], sinkage [m] and slip by wheel, speed, T_c, time left."""

    normal_force_N: Six
    sinkage_m: Six
    slip: Six
    speed_mps: float
    effective_kinetic_energy_J: float
    time_to_impact_s: float
    finite: bool


class Request(msgspec.Struct, frozen=True, gc=False):
    """What the controller wants."""

    state: int
    cut: bool
    speed_radps: Six
    valves: ValveSet = VALVES_OFF


class Command(msgspec.Struct, frozen=True, gc=False):
    """What the gate lets through."""

    state: int
    safe: bool
    cut: bool
    speed_radps: Six
    valves: ValveSet
    clamped: int
