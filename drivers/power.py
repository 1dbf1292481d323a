"""What several motor controllers measure of their power, as one sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from drivers.messages import PowerSample


class ControllerPower(NamedTuple):
    """Newest readings of one controller.

    Attributes:
        t_ns: when the oldest was taken [ns]; -1 before all have been.
        readings: by field of `PowerSample`: of its motors by wheel, or one number of the controller.
    """

    t_ns: int
    readings: Mapping[str, float | Mapping[int, float]]


def power_sample(controllers: Iterable[ControllerPower]) -> PowerSample:
    """The readings of all controllers, which are of one kind and together have every wheel."""
    each = tuple(controllers)
    fields: dict[str, Any] = {}
    for field in each[0].readings:
        values = [state.readings[field] for state in each]
        by_wheel = {wheel: value for item in values if isinstance(item, Mapping) for wheel, value in item.items()}
        fields[field] = tuple(by_wheel[wheel] for wheel in sorted(by_wheel)) if by_wheel else tuple(values)
    unread = PowerSample.unread(len(fields["current_A"]), len(each))
    return msgspec.structs.replace(unread, t_ns=min(state.t_ns for state in each), **fields)
