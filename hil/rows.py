"""The fixed-size rows of a record: what one tick, one event and one tick's timing look like on disk.

Fixed-size fields only: variable-length ones cannot be read back from a file whose writer was killed.
"""

from __future__ import annotations

import math
import struct
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

WheelName = Literal["front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right"]
WHEELS: tuple[WheelName, ...] = get_args(WheelName)
SensorName = Literal["top", "lower_left", "lower_right", "front_left", "front_right"]
SENSORS: dict[str, tuple[SensorName, ...]] = {  # by layout, in the order of the channels
    "triangle": ("top", "lower_left", "lower_right"),
    "bumper": ("front_left", "front_right"),
}
CHANNELS = max(map(len, SENSORS.values()))  # that a row has room for
IMPACT = "impact"  # name of the event that tells of one
MOTION = "motion"  # name of the event that a record of a jog begins with
BURST_SLACK_S = 0.25  # it may come at least this long after its sample, and no sample of its burst is lost

TICK = np.dtype(
    [
        ("tick", "<i8"),
        ("t_ns", "<i8"),  # monotonic, 0 at the start of the run
        ("state", "<u1"),  # hil.trials.state.State
        ("safe", "<u1"),  # 1 while Safe is latched
        ("cut", "<u1"),  # commanded
        ("impact", "<u1"),  # 1 from the tick of detection on
        ("clamped", "<u4"),  # commands clamped by the gate so far
        ("valves", "<u1", (2, 2)),  # commanded: (left, right) by (extend, retract)
        ("daq_age_ns", "<i8"),  # age of the newest sample
        ("daq_sequence", "<i8"),  # of the newest block of sensor samples taken in, 0 before the first
        ("drives_t_ns", "<i8"),  # when the newest speeds were measured
        ("drives_acknowledged_ns", "<i8"),  # t_ns of the newest command that the drives have confirmed, -1 before
        ("drives_stopped_ns", "<i8"),  # when the newest cut after they ran had left for all drives, -1 while they run
        ("valves_t_ns", "<i8"),  # when the newest pressures were, or the valves last answered
        ("valves_acknowledged_ns", "<i8"),  # t_ns of the newest command that the valves have confirmed, -1 before
        ("set_speed_radps", "<f8", (6,)),  # commanded, by wheel
        ("wheel_speed_radps", "<f8", (6,)),  # measured
        ("pressure_Pa", "<f8", (2, 2)),  # measured
        ("force_N", "<f8", (CHANNELS,)),  # corrected, newest sample, by channel; NaN where there is none
        ("force_sum_N", "<f8"),
        ("load_point_m", "<f8", (2,)),  # across, up from the triangle's centroid; NaN while unloaded, and of a bumper
        ("normal_force_N", "<f8", (6,)),  # from here on predicted by the rover twin
        ("sinkage_m", "<f8", (6,)),
        ("slip", "<f8", (6,)),
        ("speed_mps", "<f8"),
        ("effective_kinetic_energy_J", "<f8"),
        ("time_to_impact_s", "<f8"),  # infinity while not approaching
    ]
)

EVENT = np.dtype(
    [
        ("id", "<u2"),  # fault number (docs/reference.md), 0 for what is not a fault
        ("name", "S32"),
        ("tick", "<i8"),
        ("t_ns", "<i8"),
        ("value", "<f8"),
        ("limit", "<f8"),
        ("reaction_tick", "<i8"),
        ("detail", "S128"),
    ]
)

# The rooms of a tick, in the order in which it passes through them (hil/cycle.py).
PHASES = ("sample", "estimate", "model", "control", "gate", "command", "hand_off")
TIMING = np.dtype(
    [
        ("tick", "<i8"),
        ("work_ns", "<i8"),  # from taking the samples to handing off the record
        ("plant_ns", "<i8"),  # the simulated far end's own cost, where it runs in the loop's process
        *((f"{phase}_ns", "<i8") for phase in PHASES),
    ]
)

BLOCK = np.dtype(  # one block of sensor samples as it came from the DAQ
    [
        ("sequence", "<i8"),  # counts blocks, without gaps while the link is whole
        ("t_ns", "<i8"),  # of its first sample
        ("samples", "<i8"),  # of each channel
        ("overload", "<u1", (CHANNELS,)),  # whether the device flagged the channel; 0 where there is none
        ("arrived_ns", "<i8"),  # when the driver had it, -1 where nobody looked
    ]
)


class Row:
    """One row that is set and read again and again; nothing is allocated for it in a tick.

    Args:
        dtype: of packed numbers, arrays of numbers included.

    Attributes:
        array: the row, an array of one.
    """

    _CODES: ClassVar = {"i8": "q", "f8": "d", "u1": "B", "u4": "I"}

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.array = np.zeros(1, dtype)
        self._bytes = self.array.view(np.uint8).data
        codes = (self._CODES[kind.base.str[1:]] * math.prod(kind.shape) for kind, *_ in (dtype.fields or {}).values())
        self._struct = struct.Struct("<" + "".join(codes))

    def set(self, *numbers: float) -> None:
        """Set all numbers, those of arrays one by one."""
        self._struct.pack_into(self._bytes, 0, *numbers)

    def numbers(self) -> tuple[Any, ...]:
        """All numbers, those of arrays one by one."""
        return self._struct.unpack_from(self._bytes)


def event_row(
    id: int,
    name: str,
    tick: int,
    t_ns: int,
    value: float = 0.0,
    limit: float = 0.0,
    reaction_tick: int = -1,
    detail: str = "",
) -> NDArray[np.void]:
    """One event as it is recorded and published: an array of one row of `EVENT`.

    Args:
        id: Fault number, 0 for what is not a fault.
        name: Its name, cut off after 32 bytes.
        tick: Tick of detection.
        t_ns: Its time [ns].
        value: What was found.
        limit: What is allowed.
        reaction_tick: Tick whose command reacted, -1 if none did.
        detail: In words, cut off after 128 bytes.
    """
    row = (id, _fitting(name, "name"), tick, t_ns, value, limit, reaction_tick, _fitting(detail, "detail"))
    return np.array([row], EVENT)


def claims_samples(event: np.void) -> bool:
    """Whether an event, a row of `EVENT`, says which sensor samples a burst holds: an impact or a fault does."""
    return bool(event["id"]) or event["name"] == IMPACT.encode()


def _fitting(text: str, field: str) -> bytes:
    """Returns the text as UTF-8, cut between two characters where the field of `EVENT` is too short for it."""
    return text.encode()[: EVENT[field].itemsize].decode(errors="ignore").encode()
