"""Data types in the memory that the loop shares with its workers."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.messages.fault import Alarm, Fault
from hil.messages.layout import Layout
from hil.messages.operator_input import MOST_BYTES

RINGS = ("ticks", "timings", "events", "watchdog_events", "blocks", "load_blocks")  # their rows make up the record
START = np.dtype(
    [
        ("start_ns", "<i8"),  # t_ns = 0 of the run on CLOCK_MONOTONIC
        ("wall_start_s", "<f8"),  # and in Unix time
        ("over", "<i8"),  # 1: the run is over, and the next has not begun
        *((f"first_{name}", "<i8") for name in RINGS),  # rows written to each ring before the run
    ]
)
NO_FAULT = 0
GROUND_TRUTH = np.dtype(  # values known only to a simulated rig, and the timing of its process
    [
        ("content", "S2048"),  # JSON of hil.simulator.ground_truth
        ("ticks", "<i8"),
        ("late", "<i8"),
        ("skipped", "<i8"),
        ("cost_us", "<f8", (4,)),  # of one of its ticks: p50, p99, p99.9, longest
    ]
)
# Rows that a simulated rig keeps of each history of the truth, the newest: two minutes.
MOST_ROWS = 1200
FAULT_MESSAGE = np.dtype(  # of a worker: why the loop has to go Safe; fault NO_FAULT: the cause is gone
    [("t_ns", "<i8"), ("fault", "<i8"), ("value", "<f8"), ("limit", "<f8"), ("detail", "S128")]
)
LATE = np.dtype(  # late action of a simulated rig
    [("due_ns", "<i8"), ("late_ns", "<i8"), ("device", "S32")]  # due time of CLOCK_MONOTONIC, delay, device
)
OPERATOR_COMMAND = np.dtype([("content", f"S{MOST_BYTES}")])  # JSON, as in the event that records it


def history_dtypes(layout: Layout) -> dict[str, np.dtype[Any]]:
    """Histories of the truth that a simulated rig keeps, by name: their rows, and how many there are.

    `loads`: of a rig that controls the wheels' loads, rows of `models.plant.load_history`; `motion`: of every
    one, rows of `models.plant.motion_history`.
    """
    wheels = len(layout.wheels)
    columns = {"loads": (1 + wheels + len(layout.cylinders)) * layout.controls_loads}
    columns["motion"] = 9 + 2 * wheels
    return {
        name: np.dtype([("count", "<i8"), ("rows", "<f8", (MOST_ROWS, count))])
        for name, count in columns.items()
        if count
    }


def fault_message(fault: int, detail: str, value: float = math.nan, limit: float = math.nan) -> NDArray[np.void]:
    """Why the loop has to go Safe: number of the fault, description, value found, and limit."""
    words = detail.encode()[: FAULT_MESSAGE["detail"].itemsize]
    return np.array([(time.monotonic_ns(), fault, value, limit, words)], FAULT_MESSAGE)


def alarm_of(row: NDArray[np.void]) -> Alarm | None:
    """The fault of a row of `FAULT_MESSAGE`; None: there is none any more."""
    _, fault, value, limit, detail = row[0].tolist()
    return None if fault == NO_FAULT else Alarm(Fault(fault), value, limit, detail.decode(errors="replace"))
