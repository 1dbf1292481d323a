"""The values that pass from stage to stage in one tick. Each is frozen; nothing skips a stage and nothing goes back."""

from __future__ import annotations

import time
from typing import NamedTuple, TypeVar

import msgspec

from drivers.messages import DaqBlock, DriveSample, ValveSample, ValveSet
from hil.messages.operator_input import OperatorInput

T = TypeVar("T")

# A tick takes no more blocks than this; a DAQ that always has another must not hold the loop.
MOST_BLOCKS = 64
# Numbers by wheel, in the order of the layout's wheels.
ByWheel = tuple[float, ...]


class Tick(NamedTuple):
    """One tick of the loop: its number, its time since the start [ns], and what it took to get there."""

    number: int
    t_ns: int
    began_ns: int  # monotonic clock when work began
    plant_ns: int  # cost of the simulated rig


class StageTimer:
    """How long a tick stays in each of its stages.

    Attributes:
        times_ns: one a stage done so far [ns], in the order of `hil.messages.schema.PHASES`.
    """

    def __init__(self, tick: Tick) -> None:
        self._left_ns = tick.began_ns
        self.times_ns: list[int] = []

    def timed(self, value: T) -> T:
        """The value that a stage has just returned."""
        self.end_stage()
        return value

    def end_stage(self) -> None:
        """A stage is done."""
        now_ns = time.monotonic_ns()
        self.times_ns.append(now_ns - self._left_ns)
        self._left_ns = now_ns


class Samples(msgspec.Struct, frozen=True, gc=False):
    """What the devices said, newest last; `drives` and `valves` are held between their samples.

    Of a rig without force sensors there are no blocks, of age 0; of one without valves, the sample of before the first.
    `gap` is the most blocks of sensor samples that were missing between two of this tick's, or before its first;
    `operator` what an operator has asked since the last tick.
    """

    t_ns: int
    blocks: tuple[DaqBlock, ...]
    daq_age_ns: int
    daq_sequence: int  # of the newest block so far, 0 before the first
    drives: DriveSample
    valves: ValveSample
    gap: int = 0
    operator: OperatorInput = ()


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
        wheel_speed_radps: (wheels,) measured.
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
    wheel_speed_radps: ByWheel
    still: tuple[int, ...] = ()


class Prediction(msgspec.Struct, frozen=True, gc=False):
    """What the rover twin says of the rig: normal forces [N], sinkage [m] and slip by wheel, speed, T_c, time left."""

    normal_force_N: ByWheel
    sinkage_m: ByWheel
    slip: ByWheel
    speed_mps: float
    effective_kinetic_energy_J: float
    time_to_impact_s: float
    finite: bool


class Goal(msgspec.Struct, frozen=True, gc=False):
    """What the experiment wants; its controller makes set-points of it.

    Attributes:
        state: of the experiment.
        cut: drive output zero; the speeds do not count then.
        forward_mps: speed of the rover [m/s], for controllers that work out wheel speeds.
        speed_radps: wheel speeds [rad/s], for those that hand them on.
        valves: to power; empty: none.
    """

    state: int
    cut: bool
    forward_mps: float = 0.0
    speed_radps: ByWheel = ()
    valves: ValveSet = ()


class SetPoints(msgspec.Struct, frozen=True, gc=False):
    """What the controller asks for; the limiter decides what of it reaches the devices."""

    state: int
    cut: bool
    speed_radps: ByWheel
    valves: ValveSet = ()


class Command(msgspec.Struct, frozen=True, gc=False):
    """What the limiter lets through."""

    state: int
    safe: bool
    cut: bool
    speed_radps: ByWheel
    valves: ValveSet
    clamped: int
