"""Late actions of a simulated rig that did not get CPU time, logged in shared memory.

Such a rig answers late, like a device with a fault. This log distinguishes the two causes.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

import numpy as np

from hil.ipc.shared_types import LATE
from hil.ipc.shm import Ring

# A longer delay than this is logged [ns]: real hardware would not have been so late.
LATE_NS = 3_000_000
_BATCH = 2**16


class Late(NamedTuple):
    """A late action.

    Attributes:
        due_ns: when it was due [ns of CLOCK_MONOTONIC]; line time and injected delays are included.
        late_ns: how much later it was done [ns].
        device: which device was late.
    """

    due_ns: int
    late_ns: int
    device: str


class LatenessLog:
    """Logs the late actions of one process of a simulated rig.

    Args:
        ring: of rows `LATE`; no other process writes to it.
    """

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._lock = Lock()  # a device server has several threads

    def of(self, device: str) -> Callable[[int, int], None]:
        """A function to call after each action of a device with its due and actual time [ns of CLOCK_MONOTONIC]."""
        row = np.zeros(1, LATE)
        row["device"] = device.encode()

        def done(due_ns: int, done_ns: int) -> None:
            if done_ns - due_ns > LATE_NS:
                with self._lock:
                    row["due_ns"], row["late_ns"] = due_ns, done_ns - due_ns
                    self._ring.append(row)

        return done


def late_since(ring: Ring, since_ns: int) -> list[Late]:
    """The entries still in a ring that were done since a time [ns of CLOCK_MONOTONIC], oldest first."""
    rows = ring.reader("late").read(_BATCH)
    late_steps = [Late(due_ns, late_ns, device.decode(errors="replace")) for due_ns, late_ns, device in rows.tolist()]
    return [late for late in late_steps if late.due_ns + late.late_ns >= since_ns]
