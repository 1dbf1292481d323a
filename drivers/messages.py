"""The frozen samples and commands that drivers and the controller exchange.

Times are monotonic nanoseconds. An array inside a sample is a copy that is never written again.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

# Names of the force sensors: corners of the triangle, the wheel of a bumper, or the link of the frame.
SensorName = Literal["top", "lower_left", "lower_right", "front_left", "front_right", "link_left", "link_right"]
# A camera's trigger line among the outputs of the valves' device, and its key in a section of `devices.valves`; with an
# s, the key of those that have names.
CAMERA_TRIGGER = "camera_trigger"
SpeedSet = tuple[float, ...]
ValveSet = tuple[tuple[bool, bool], ...]


class DaqBlock(msgspec.Struct, frozen=True, gc=False):
    """Consecutive samples of all channels.

    Attributes:
        sequence: counts blocks; without gaps while no block is lost.
        t_ns: (n,) time of each sample [ns].
        values: (n, channels) readings [V]; of load channels in the unit of each.
        overload: (channels,) whether the device flagged the channel.
        arrived_ns: when the driver received it [ns], -1 where not measured.
    """

    sequence: int
    t_ns: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    overload: tuple[bool, ...]
    arrived_ns: int = -1


class PowerSample(msgspec.Struct, frozen=True, gc=False):
    """What motor controllers measure of their power, which they are asked a few times a second.

    Attributes:
        t_ns: when the oldest of these readings was taken [ns]; -1 before all have been.
        current_A: (wheels,) of each wheel's motor [A], either sign; NaN before the first reading.
        supply_V: (supplies,) of the motors' supply, by controller [V]; NaN before the first reading.
        temperature_degC: (supplies,) of the motors' power stages, by controller [deg C]; NaN before the first reading.

    What a kind of controller does not measure is NaN.
    """

    t_ns: int
    current_A: tuple[float, ...]
    supply_V: tuple[float, ...]
    temperature_degC: tuple[float, ...]

    @classmethod
    def unread(cls, wheels: int, supplies: int) -> PowerSample:
        """Nothing has been measured yet."""
        sizes = {field: wheels if field == "current_A" else supplies for field in cls.__struct_fields__[1:]}
        return cls(-1, **{field: (math.nan,) * size for field, size in sizes.items()})


class DriveSample(msgspec.Struct, frozen=True, gc=False):
    """Encoder speeds of all wheels [rad/s], positive rolling forward, in the order of the wheel names.

    Attributes:
        acknowledged_ns: t_ns of the newest command that the drives have confirmed, -1 before the first.
        stopped_ns: when the last byte of the last controller's stop was sent, for the newest cut after
            they ran [ns]; -1 while they run, and before.
        power: newest currents and supply voltages; None where they are not measured.
    """

    sequence: int
    t_ns: int
    speed_radps: SpeedSet
    acknowledged_ns: int
    stopped_ns: int = -1
    power: PowerSample | None = None


class ValveSample(msgspec.Struct, frozen=True, gc=False):
    """Gauge pressures [Pa]: by cylinder, (extend, retract); empty: the device switches a camera's trigger alone.

    Attributes:
        acknowledged_ns: t_ns of the newest command that the valves have confirmed, -1 before the first.
    """

    sequence: int
    t_ns: int
    pressure_Pa: tuple[tuple[float, float], ...] = ()
    acknowledged_ns: int = -1


class JointSample(msgspec.Struct, frozen=True, gc=False):
    """Angles of all driven joints [rad], as the rover's own coordinates, in the order of the servos' names.

    Attributes:
        acknowledged_ns: t_ns of the newest command that the servos have confirmed, -1 before the first.
        stopped_ns: when the last byte of the last controller's stop was sent, for the newest cut after
            they ran [ns]; -1 while they run, and before.
        current_A: newest current of each joint's motor [A], either sign; NaN before the first reading; empty where
            they are not measured.
    """

    sequence: int
    t_ns: int
    angle_rad: tuple[float, ...]
    acknowledged_ns: int
    stopped_ns: int = -1
    current_A: tuple[float, ...] = ()


class Reading(msgspec.Struct, frozen=True, gc=False):
    """One reading of an instrument of motion, in its own axes: its mounting is not yet taken into account.

    Attributes:
        sequence: counts readings from 1; a gap: some were lost.
        t_ns: when it was measured [ns].
        value: (channels,) in SI, in the order of the instrument's channels; NaN: this one was not measured; all of
            them infinite: not live, the instrument plays a recording back.
        arrived_ns: when the driver received it [ns]; -1: before the first.
    """

    sequence: int
    t_ns: int
    value: tuple[float, ...]
    arrived_ns: int = -1

    @property
    def live(self) -> bool:
        """It is of what the instrument sees now."""
        return not math.isinf(self.value[0])

    @classmethod
    def unread(cls, channels: int) -> Reading:
        """Nothing has been measured yet."""
        return cls(0, -1, (math.nan,) * channels)


class DriveCommand(msgspec.Struct, frozen=True, gc=False):
    """Wheel speeds to hold [rad/s], or a cut: drive output zero. A level, not an event: it may be repeated or lost.

    Attributes:
        duty: (wheels,) share of the supply voltage, -1 to 1, in place of the speeds; empty: the speeds hold.
    """

    t_ns: int
    cut: bool
    speed_radps: SpeedSet
    duty: SpeedSet = ()


class JointCommand(msgspec.Struct, frozen=True, gc=False):
    """Angles to hold [rad], or a cut: servo output zero. A level, as `DriveCommand`.

    The limiter has limited how fast an angle changes; a servo follows it at once, within its own limits.
    """

    t_ns: int
    cut: bool
    angle_rad: tuple[float, ...]


class ValveCommand(msgspec.Struct, frozen=True, gc=False):
    """Valves to power: by cylinder, (extend, retract); all off leaves the bogies passive.

    Attributes:
        regulators_Pa: gauge pressure of each regulator that is moved during a run [Pa]; empty: there is none.
        trigger: the camera's trigger line is on.
        triggers: of each trigger line with a name, whether it is on; empty: none is.
    """

    t_ns: int
    powered: ValveSet
    regulators_Pa: tuple[float, ...] = ()
    trigger: bool = False
    triggers: tuple[bool, ...] = ()
