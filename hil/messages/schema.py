"""The fixed-size rows of a record: one tick, one event and the timing of one tick, as they are on disk.

Fixed-size fields only: variable-length ones cannot be read back from a file whose writer was killed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from drivers.messages import PowerSample, SensorName
from hil.messages.layout import Layout

SENSORS: dict[str, tuple[SensorName, ...]] = {  # by layout, in the order of the channels
    "triangle": ("top", "lower_left", "lower_right"),
    "bumper": ("front_left", "front_right"),
    "rear": ("link_left", "link_right"),
    "bottom": ("link_left", "link_right"),
}
Field = tuple[str, str] | tuple[str, str, tuple[int, ...]]
IMPACT = "impact"  # name of the event that records an impact
# Field of a tick with the number of the newest block read, by the group of samples.
SEQUENCE = {"daq": "daq_sequence", "loads": "load_sequence"}
# Fields of a tick that hold a number for each wheel.
BY_WHEEL = ("set_speed_radps", "wheel_speed_radps", "normal_force_N", "sinkage_m", "slip")
BURST_SLACK_S = 0.25  # an event may be recorded this long after its sample, and still no sample of its burst is lost


def compound(fields: Sequence[Field]) -> np.dtype[Any]:
    """A row of these fields. A field whose shape has a 0 is left out, because HDF5 has no empty arrays."""
    return np.dtype([field for field in fields if len(field) == 2 or 0 not in field[2]])


# The meaning of each field is in hil/recording/fields.py, and is stored in the record.
@cache
def tick_dtype(layout: Layout) -> np.dtype[Any]:
    """One tick of a rig with that layout; a device that the rig does not have has no field.

    One object for each layout: to compare two equal ones field by field takes 3 us.
    """
    wheels, cylinders, channels = len(layout.wheels), len(layout.cylinders), len(layout.channels)
    fields: list[Field] = [
        ("tick", "<i8"),
        ("t_ns", "<i8"),
        ("state", "<u1"),
        ("safe", "<u1"),
        ("cut", "<u1"),
        ("impact", "<u1"),
        ("clamped", "<u4"),
        ("valves", "<u1", (cylinders, 2)),
        ("daq_age_ns", "<i8"),
        ("daq_sequence", "<i8"),
        ("drives_t_ns", "<i8"),
        ("drives_acknowledged_ns", "<i8"),
        ("drives_stopped_ns", "<i8"),
        ("valves_t_ns", "<i8"),
        ("valves_acknowledged_ns", "<i8"),
        ("set_speed_radps", "<f8", (wheels,)),
        ("wheel_speed_radps", "<f8", (wheels,)),
        ("pressure_Pa", "<f8", (cylinders, 2)),
        ("force_N", "<f8", (channels,)),
        ("force_sum_N", "<f8"),
        ("load_point_m", "<f8", (2,)),
        ("normal_force_N", "<f8", (wheels,)),
        ("sinkage_m", "<f8", (wheels,)),
        ("slip", "<f8", (wheels,)),
        ("speed_mps", "<f8"),
        ("effective_kinetic_energy_J", "<f8"),
        ("time_to_impact_s", "<f8"),
        ("regulator_Pa", "<f8", (len(layout.regulators),)),
        ("duty", "<f8", (wheels * layout.open_loop,)),
        *power_fields(layout),
        *([("load_age_ns", "<i8"), ("load_sequence", "<i8")] if layout.loads else ()),
        ("wheel_load_N", "<f8", (wheels * layout.leg_sensors,)),
        *([("pull_N", "<f8")] if layout.load_cell else ()),
        *(_load_control(wheels, cylinders) if layout.controls_loads else ()),
    ]
    return compound(fields)


def power_fields(layout: Layout) -> list[Field]:
    """Of a rig whose motor currents and supply are watched, in the order of `PowerSample`."""
    if not layout.supplies:
        return []
    wheels, supplies = (len(layout.wheels),), (len(layout.supplies),)
    return [("power_t_ns", "<i8"), ("current_A", "<f8", wheels), ("supply_V", "<f8", supplies)]


def power_numbers(power: PowerSample | None) -> tuple[float, ...]:
    """The same as numbers of a row."""
    return () if power is None else (power.t_ns, *power.current_A, *power.supply_V)


def power_of(layout: Layout, numbers: Sequence[Any]) -> PowerSample | None:
    """The sample of these numbers."""
    if not layout.supplies:
        return None
    wheels = len(layout.wheels) + 1
    return PowerSample(int(numbers[0]), tuple(numbers[1:wheels]), tuple(numbers[wheels:]))


def _load_control(wheels: int, cylinders: int) -> list[Field]:
    """Of a rig whose loads are controlled, in the order of `LoadSetPoints.numbers`, then of the twin."""
    return [
        ("load_mode", "<u1"),
        ("load_wanted_N", "<f8", (wheels,)),
        ("torque_wanted_Nm", "<f8", (cylinders,)),
        ("pressure_wanted_Pa", "<f8", (cylinders, 2)),
        ("load_limits", "<u4"),
        ("cylinder_torque_Nm", "<f8", (cylinders,)),
        ("cylinder_angle_rad", "<f8", (cylinders,)),
    ]


EVENT = np.dtype(
    [
        ("id", "<u2"),
        ("name", "S32"),
        ("tick", "<i8"),
        ("t_ns", "<i8"),
        ("value", "<f8"),
        ("limit", "<f8"),
        ("reaction_tick", "<i8"),
        ("detail", "S128"),
    ]
)

# The stages of a tick, in the order in which they run (hil/runtime/cycle.py).
PHASES = ("sample", "estimate", "predict", "check", "decide", "control", "limit", "command", "record")
TIMING = np.dtype(
    [
        ("tick", "<i8"),
        ("work_ns", "<i8"),
        ("plant_ns", "<i8"),
        *((f"{phase}_ns", "<i8") for phase in PHASES),
    ]
)


def block_dtype(layout: Layout, group: str = "daq") -> np.dtype[Any]:
    """One block of samples as it came from the DAQ of the force sensors, or of the `loads`; one object for each."""
    return _block_dtype(len(layout.of_group(group)))


@cache
def _block_dtype(channels: int) -> np.dtype[Any]:
    return compound(
        [
            ("sequence", "<i8"),
            ("t_ns", "<i8"),
            ("samples", "<i8"),
            ("overload", "<u1", (channels,)),
            ("arrived_ns", "<i8"),
        ]
    )


class Row:
    """One row, allocated once and reused, so that a tick allocates nothing for it.

    Args:
        dtype: of packed numbers, arrays of numbers included.

    Attributes:
        array: the row, an array of length 1.
        set: sets all numbers, each an argument, those of arrays one by one.
    """

    _CODES: ClassVar = {"i8": "q", "f8": "d", "u1": "B", "u4": "I"}

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.array = np.zeros(1, dtype)
        self._bytes = self.array.view(np.uint8).data
        codes = (self._CODES[kind.base.str[1:]] * math.prod(kind.shape) for kind, *_ in (dtype.fields or {}).values())
        self._struct = struct.Struct("<" + "".join(codes))
        self.set: Callable[..., None] = partial(self._struct.pack_into, self._bytes, 0)

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
    """One event as it is recorded and published: an array with one row of `EVENT`.

    Args:
        id: Fault number; 0 for an event that is not a fault.
        name: Its name, cut off after 32 bytes.
        tick: Tick of detection.
        t_ns: Its time [ns].
        value: The value found.
        limit: The value allowed.
        reaction_tick: Tick whose command reacted, -1 if none did.
        detail: Text, cut off after 128 bytes.
    """
    row = (id, _fitting(name, "name"), tick, t_ns, value, limit, reaction_tick, _fitting(detail, "detail"))
    return np.array([row], EVENT)


def triggers_capture(event: np.void) -> bool:
    """Whether an event, a row of `EVENT`, triggers a burst of sensor samples: an impact and a fault do."""
    return bool(event["id"]) or event["name"] == IMPACT.encode()


def recorded_detail(text: str) -> str:
    """What the detail of an event holds of a text."""
    return _fitting(text, "detail").decode()


def _fitting(text: str, field: str) -> bytes:
    """Returns the text as UTF-8, cut between two characters where the field of `EVENT` is too short for it."""
    return text.encode()[: EVENT[field].itemsize].decode(errors="ignore").encode()
