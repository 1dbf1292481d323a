"""The rows of a record as they are on disk: a reusable row of numbers, and events.

Fixed-size fields only: variable-length ones cannot be read back from a file whose writer was killed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hil.messages.layout import Layout
from hil.messages.signals import EVENTS, TIMES, row_dtype

IMPACT = "impact"  # name of the event that records an impact
BURST_SLACK_S = 0.25  # an event may be recorded this long after its sample, and still no sample of its burst is lost
# Rows that are the same for any rig.
_ANY = Layout((), (), ())
EVENT, TIMING = row_dtype(EVENTS, _ANY), row_dtype(TIMES, _ANY)


class Row:
    """One row, allocated once and reused, so that a tick allocates nothing for it.

    Attributes:
        array: the row, an array of length 1.
        set: sets all numbers, each an argument, those of arrays one by one.
    """

    _CODES: ClassVar = {"i8": "q", "f8": "d", "f4": "f", "u1": "B", "u4": "I"}

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
