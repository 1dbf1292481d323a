"""The values that pass from stage to stage in one tick, and the row of numbers that is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import chain
from operator import sub
from time import monotonic_ns
from typing import Any, NamedTuple, TypeVar

import msgspec

from drivers.messages import DaqBlock, DriveSample, JointSample, Reading, ValveSample, ValveSet
from hil.messages.layout import Layout
from hil.messages.loads import LoadGoal, LoadSetPoints
from hil.messages.operator_input import OperatorInput
from hil.messages.signals import TICK

T = TypeVar("T")

# A tick takes no more blocks than this; a DAQ that always has another must not hold the loop.
MOST_BLOCKS = 64
# Numbers by wheel, in the order of the layout's wheels.
ByWheel = tuple[float, ...]
# Numbers by servo, in the order of the layout's servos.
ByServo = tuple[float, ...]
# States of an instrument as a source of the observer: nothing came yet; its newest reading was used; it was rejected by
# its innovation; the instrument is left out; its newest reading is stale.
SOURCE_STATES = ("none", "used", "rejected", "left_out", "stale")
# What became of the newest measurement of the soil: none yet; used; rejected by its innovation; left out, because the
# rover does not drive forward, does not drive steadily and straight, its slip or load is not measured, or it has hit
# the obstacle.
SOIL_STATES = ("none", "used", "rejected", "standing", "unsteady", "unmeasured", "impact")
UPRIGHT = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)  # pose of a base that has not moved


class Tick(NamedTuple):
    """One tick of the loop: its number, its time since the start [ns], and what it took to get there."""

    number: int
    t_ns: int
    began_ns: int  # monotonic clock when work began
    plant_ns: int  # time spent in the simulated rig [ns]


class StageTimer:
    """Measures how long each stage of a tick takes."""

    def __init__(self, tick: Tick) -> None:
        self._ends_ns = [tick.began_ns]

    def timed(self, value: T) -> T:
        """End a stage, and return the value that it has returned."""
        self._ends_ns.append(monotonic_ns())
        return value

    def end_stage(self) -> None:
        """Store the time at which a stage has ended."""
        self._ends_ns.append(monotonic_ns())

    @property
    def times_ns(self) -> list[int]:
        """One duration for each finished stage [ns], in the order of `hil.messages.signals.PHASES`."""
        return list(map(sub, self._ends_ns[1:], self._ends_ns))


class Samples(msgspec.Struct, frozen=True, gc=False):
    """Samples of all devices, newest last; `drives` and `valves` keep their value between two samples.

    A rig without force sensors has no blocks, and age 0; a rig without valves has the initial valve sample.
    `gap` is the largest number of blocks missing between two blocks of this tick, or before its first;
    `operator` holds the operator's commands since the last tick. `load_blocks` are those of the slow load channels
    (`Layout.loads`), and the next three are for them as `daq_age_ns`, `daq_sequence` and `gap` are for `blocks`.
    `motion`, `imu` and `joints` are the newest readings of the instruments of motion; None: there is no such one. A
    reading is new where its time is. `servos` has the newest angles of the driven joints; None: none is driven.
    """

    t_ns: int
    blocks: tuple[DaqBlock, ...]
    daq_age_ns: int
    daq_sequence: int  # number of the newest block so far, 0 before the first
    drives: DriveSample
    valves: ValveSample
    gap: int = 0
    operator: OperatorInput = ()
    load_blocks: tuple[DaqBlock, ...] = ()
    load_age_ns: int = 0
    load_sequence: int = 0
    load_gap: int = 0
    motion: Reading | None = None
    imu: Reading | None = None
    joints: Reading | None = None
    servos: JointSample | None = None


class LoadState(msgspec.Struct, frozen=True, gc=False):
    """State of the load channels, with the fields of `Estimate` that are of the same name."""

    finite: bool
    saturated: bool
    still: tuple[int, ...]


class Estimate(msgspec.Struct, frozen=True, gc=False):
    """Estimates from the samples.

    Attributes:
        zeroed: the channels' bias is known.
        bias_V: (channels,) of each channel.
        noise_V: (channels,) standard deviation of each channel.
        finite: every sample was a finite number.
        saturated: a channel has been at the end of its range since zeroing.
        impact_ns: time of the first sample over the threshold, or None.
        force_N: (channels,) newest, droop corrected.
        load_point_m: (across, up) from the sensors' centroid; NaN while unloaded, of a bumper, and up of links.
        wheel_speed_radps: (wheels,) measured.
        still: (channels,) number of newest samples in a row that are equal bit for bit, without those at full scale.
        wheel_load_N: (wheels,) normal forces measured by leg sensors; empty without them.
        pull_N: (1,) drawbar pull measured by a load cell; empty without one.
        loads: state of the load channels; None without any.
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
    wheel_load_N: ByWheel = ()
    pull_N: tuple[float, ...] = ()
    loads: LoadState | None = None


class ObserverOutput(msgspec.Struct, frozen=True, gc=False):
    """What instruments of motion add to a prediction: standard deviations of its values, and the state of each source.

    Attributes:
        speed_sd_mps: of `Prediction.speed_mps`.
        slip_sd: (wheels,) of the slips.
        sinkage_sd_m: (wheels,) of the sinkages.
        normal_force_sd_N: (wheels,) of the wheel loads.
        pose_sd: (6,) of the pose: position [m], then rotation about x, y, z of the base [rad].
        joint_angle_sd_rad: (turning joints,) of their angles.
        gravity: (3,) direction of gravity in the base frame, a unit vector.
        energy_sd_J: of T_c.
        time_to_impact_sd_s: of the time to the impact; infinity while the rover does not approach.
        innovation: (instruments,) squared normalised innovation of the newest reading over its degrees of freedom; NaN
            before the first.
        source: (instruments,) state of each, a code of `SOURCE_STATES`.
    """

    speed_sd_mps: float
    slip_sd: ByWheel
    sinkage_sd_m: ByWheel
    normal_force_sd_N: ByWheel
    pose_sd: tuple[float, ...]
    joint_angle_sd_rad: tuple[float, ...]
    gravity: tuple[float, ...]
    energy_sd_J: float
    time_to_impact_sd_s: float
    innovation: tuple[float, ...]
    source: tuple[int, ...]


class SoilEstimate(msgspec.Struct, frozen=True, gc=False):
    """The soil as it is estimated together with the twin, of `SOIL_PARAMETERS` in their order.

    Attributes:
        value: in the units of section soil.
        sd: standard deviations of their logs.
        correlation: of the logs: first and second, first and third, second and third.
        innovation: squared normalised innovation of the newest measurement over its number of values; NaN before.
        state: of that measurement, a code of `SOIL_STATES`.
        observable: the drive has observable at least one of the parameters, which the load control may then use.
    """

    value: tuple[float, ...]
    sd: tuple[float, ...]
    correlation: tuple[float, ...]
    innovation: float
    state: int
    observable: bool


class Prediction(msgspec.Struct, frozen=True, gc=False):
    """Prediction of the rover twin: normal forces [N], sinkage [m] and slip by wheel, speed, T_c, time left.

    Attributes:
        finite: its state is.
        outside: code of the range of models.validity that the rover has left; 0: none.
        outside_value: found there.
        outside_limit: allowed there.
        way_m: driven so far, forwards less backwards.
        gap_m: of the nearer front wheel to the obstacle, along the obstacle's normal; below 0: in contact. NaN: none.
        pose: (7,) of the base: position [m] and quaternion x y z w in the world.
        joint_angle_rad: (turning joints,) of them, as `Layout.turning` names them.
        servo_torque_Nm: (servos,) on the driven joints, that their measured motion takes, without friction of gears.
        cylinder_torque_Nm: (cylinders,) on their joints, from the measured pressures; empty, as the next two, where no
            loads are controlled.
        cylinder_angle_rad: (cylinders,) of their joints.
        gravity: (3,) direction of gravity in the base frame, a unit vector.
        observed: of a rig with instruments of motion, by which the values above are corrected; None: it has none.
        soil: estimated; None: it is not.
    """

    normal_force_N: ByWheel
    sinkage_m: ByWheel
    slip: ByWheel
    speed_mps: float
    effective_kinetic_energy_J: float
    time_to_impact_s: float
    finite: bool
    outside: float = 0.0
    outside_value: float = 0.0
    outside_limit: float = 0.0
    way_m: float = 0.0
    gap_m: float = math.nan
    pose: tuple[float, ...] = UPRIGHT
    joint_angle_rad: tuple[float, ...] = ()
    servo_torque_Nm: ByServo = ()
    cylinder_torque_Nm: tuple[float, ...] = ()
    cylinder_angle_rad: tuple[float, ...] = ()
    gravity: tuple[float, ...] = ()
    observed: ObserverOutput | None = None
    soil: SoilEstimate | None = None


# State of each experiment in which nothing is armed and nothing can move.
IDLE_STATE = 0


class Goal(msgspec.Struct, frozen=True, gc=False):
    """The goal of the experiment in one tick; the controller turns it into set-points.

    Attributes:
        state: of the experiment.
        cut: drive output zero; the speeds are ignored then.
        forward_mps: speed of the rover [m/s], for controllers that compute wheel speeds.
        speed_radps: wheel speeds [rad/s], for controllers that pass them on.
        valves: valves to power; empty: none.
        pushing: the rover is pushing on something, so that its slip is not that of the ground.
        loads: wanted distribution of wheel loads; None: not controlled.
        duty: (wheels,) open-loop drive, in place of a speed; empty: none.
        joint_angle_rad: (servos,) angles of the driven joints; empty: each holds the angle that it was last set to.
    """

    state: int
    cut: bool
    forward_mps: float = 0.0
    speed_radps: ByWheel = ()
    valves: ValveSet = ()
    pushing: bool = False
    loads: LoadGoal | None = None
    duty: ByWheel = ()
    joint_angle_rad: ByServo = ()


class SetPoints(msgspec.Struct, frozen=True, gc=False):
    """The output of the controller; the limiter decides what of it reaches the devices.

    Attributes:
        regulators_Pa: of each regulator (`Layout.regulators`).
        duty: (wheels,) open-loop drive in place of the speeds; empty: the speeds hold.
        loads: of the load controller, for the record; None where loads are not controlled.
        trigger: the camera's trigger line is to be on.
        triggers: each trigger line with a name is to be on (`Layout.triggers`); empty: none is.
        joint_angle_rad: as in `Goal`.
    """

    state: int
    cut: bool
    speed_radps: ByWheel
    valves: ValveSet = ()
    regulators_Pa: tuple[float, ...] = ()
    duty: ByWheel = ()
    loads: LoadSetPoints | None = None
    trigger: bool = False
    joint_angle_rad: ByServo = ()
    triggers: tuple[bool, ...] = ()


class Command(msgspec.Struct, frozen=True, gc=False):
    """The output of the limiter, which goes to the devices; fields as in `SetPoints`.

    Attributes:
        joint_angle_rad: (servos,) angles of the driven joints.
        servos_cut: servo output zero; the angles are ignored then.
    """

    state: int
    safe: bool
    cut: bool
    speed_radps: ByWheel
    valves: ValveSet
    clamped: int
    regulators_Pa: tuple[float, ...] = ()
    duty: ByWheel = ()
    loads: LoadSetPoints | None = None
    trigger: bool = False
    joint_angle_rad: ByServo = ()
    servos_cut: bool = False
    triggers: tuple[bool, ...] = ()


TickPacker = Callable[[Tick, Samples, Estimate, Prediction, Command], tuple[float, ...]]


@cache
def tick_packer(layout: Layout) -> TickPacker:
    """What returns all numbers of a row of `tick_dtype`, those of arrays one by one.

    Sources of `TICK` are evaluated in one expression: 3 us, as much as lines by hand, where a loop over getters takes
    10. They stand in this package: nothing that is read from a file becomes code.
    """
    values = (f"*{one.source}" if one.shape(layout) else one.source for one in TICK if one.present(layout))
    text = f"lambda tick, samples, estimate, prediction, command: ({', '.join(values)},)"
    names: dict[str, Any] = {"flat": chain.from_iterable, "layout": layout}
    made: TickPacker = eval(text, names)
    return made
