"""What lies in the memory that the loop shares with its workers."""

from __future__ import annotations

from typing import Any

import numpy as np

START = np.dtype(
    [
        ("start_ns", "<i8"),  # t_ns = 0 of the run on CLOCK_MONOTONIC
        ("wall_start_s", "<f8"),  # and in Unix time
    ]
)
DRIVE_COMMAND = np.dtype([("t_ns", "<i8"), ("cut", "<u1"), ("speed_radps", "<f8", (6,))])
VALVE_COMMAND = np.dtype([("t_ns", "<i8"), ("powered", "<u1", (2, 2))])
DRIVE_SAMPLE = np.dtype(
    [("sequence", "<i8"), ("t_ns", "<i8"), ("speed_radps", "<f8", (6,)), ("acknowledged_ns", "<i8")]
)
VALVE_SAMPLE = np.dtype(
    [("sequence", "<i8"), ("t_ns", "<i8"), ("pressure_Pa", "<f8", (2, 2)), ("acknowledged_ns", "<i8")]
)
TRUTH = np.dtype(  # what only a simulated rig can tell, and how its process keeps up
    [
        ("contact_force_peak", "<f8"),  # [N]
        ("hit_speed", "<f8"),  # [m/s]
        ("hit_ns", "<i8"),  # -1: nothing hit yet
        ("hit_energy", "<f8"),  # effective kinetic energy then [J]
        ("cut_ns", "<i8"),  # when the plant obeyed the first cut after that; -1: not yet
        ("ticks", "<i8"),
        ("late", "<i8"),
        ("skipped", "<i8"),
        ("cost_us", "<f8", (4,)),  # of one of its ticks: p50, p99, p99.9, longest
    ]
)
TROUBLE = np.dtype([("t_ns", "<i8"), ("detail", "S128")])  # of the recorder: why it cannot write


def block_row(samples: int, channels: int) -> np.dtype[Any]:
    """One block of sensor samples, all of it."""
    return np.dtype(
        [
            ("sequence", "<i8"),
            ("t_ns", "<i8", (samples,)),
            ("volts", "<f8", (samples, channels)),
            ("overload", "<u1", (channels,)),
        ]
    )
