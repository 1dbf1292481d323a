"""The fixed-size rows of a record: what one tick, one event and one tick's timing look like on disk.

Fixed-size fields only: variable-length ones cannot be read back from a file whose writer was killed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hil.layout import Layout

SensorName = Literal["top", "lower_left", "lower_right", "front_left", "front_right"]
SENSORS: dict[str, tuple[SensorName, ...]] = {  # by layout, in the order of the channels
    "triangle": ("top", "lower_left", "lower_right"),
    "bumper": ("front_left", "front_right"),
}
Field = tuple[str, str] | tuple[str, str, tuple[int, ...]]
IMPACT = "impact"  # name of the event that tells of one
# Fields of a tick that hold a number for each wheel.
BY_WHEEL = ("set_speed_radps", "wheel_speed_radps", "normal_force_N", "sinkage_m", "slip")
BURST_SLACK_S = 0.25  # it may come at least this long after its sample, and no sample of its burst is lost


def compound(fields: Sequence[Field]) -> np.dtype[Any]:
    """A row of these fields; one whose shape has a 0 is left out, for HDF5 has no arrays of nothing."""
    return np.dtype([field for field in fields if len(field) == 2 or 0 not in field[2]])


def tick_dtype(layout: Layout) -> np.dtype[Any]:
    """One tick of a rig with that layout; what it has none of has no field."""
    wheels, cylinders, channels = len(layout.wheels), len(layout.cylinders), len(layout.channels)
    fields: list[Field] = [
        ("tick", "<i8"),
        ("t_ns", "<i8"),  # monotonic, 0 at the start of the run
        ("state", "<u1"),  # of the experiment: /meta/states has their names
        ("safe", "<u1"),  # 1 while Safe is latched
        ("cut", "<u1"),  # commanded
        ("impact", "<u1"),  # 1 from the tick of detection on
        ("clamped", "<u4"),  # commands clamped by the limiter so far
        ("valves", "<u1", (cylinders, 2)),  # commanded: by cylinder, (extend, retract)
        ("daq_age_ns", "<i8"),  # age of the newest sample
        ("daq_sequence", "<i8"),  # of the newest block of sensor samples taken in, 0 before the first
        ("drives_t_ns", "<i8"),  # when the newest speeds were measured
        ("drives_acknowledged_ns", "<i8"),  # t_ns of the newest command that the drives have confirmed, -1 before
        ("drives_stopped_ns", "<i8"),  # when the newest cut after they ran had left for all drives, -1 meanwhile
        ("valves_t_ns", "<i8"),  # when the newest pressures were, or the valves last answered
        ("valves_acknowledged_ns", "<i8"),  # t_ns of the newest command that the valves have confirmed, -1 before
        ("set_speed_radps", "<f8", (wheels,)),  # commanded, by wheel
        ("wheel_speed_radps", "<f8", (wheels,)),  # measured
        ("pressure_Pa", "<f8", (cylinders, 2)),  # measured
        ("force_N", "<f8", (channels,)),  # corrected, newest sample, by channel
        ("force_sum_N", "<f8"),
        ("load_point_m", "<f8", (2,)),  # across, up from the triangle's centroid; NaN while unloaded, of a bumper
        ("normal_force_N", "<f8", (wheels,)),  # from here on predicted by the rover twin
        ("sinkage_m", "<f8", (wheels,)),
        ("slip", "<f8", (wheels,)),
        ("speed_mps", "<f8"),
        ("effective_kinetic_energy_J", "<f8"),
        ("time_to_impact_s", "<f8"),  # infinity while not approaching
    ]
    return compound(fields)


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

# The stages of a tick, in the order in which it passes through them (hil/cycle.py).
PHASES = ("sample", "estimate", "predict", "check", "decide", "control", "limit", "command", "record")
TIMING = np.dtype(
    [
        ("tick", "<i8"),
        ("work_ns", "<i8"),  # from taking the samples to handing off the record
        ("plant_ns", "<i8"),  # the simulated far end's own cost, where it runs in the loop's process
        *((f"{phase}_ns", "<i8") for phase in PHASES),
    ]
)


def block_dtype(layout: Layout) -> np.dtype[Any]:
    """One block of sensor samples as it came from the DAQ."""
    return compound(
        [
            ("sequence", "<i8"),  # counts blocks, without gaps while the link is whole
            ("t_ns", "<i8"),  # of its first sample
            ("samples", "<i8"),  # of each channel
            ("overload", "<u1", (len(layout.channels),)),  # whether the device flagged the channel
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
