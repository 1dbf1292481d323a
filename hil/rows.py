"""The fixed-size rows of a record: what one tick, one event and one tick's timing look like on disk.

Fixed-size fields only: variable-length ones cannot be read back from a file whose writer was killed.
"""

from __future__ import annotations

import numpy as np

WHEELS = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")
CHANNELS = ("top", "lower_left", "lower_right")

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
        ("set_speed_radps", "<f8", (6,)),  # commanded, by wheel
        ("wheel_speed_radps", "<f8", (6,)),  # measured
        ("pressure_Pa", "<f8", (2, 2)),  # measured
        ("force_N", "<f8", (3,)),  # corrected, newest sample, by channel
        ("force_sum_N", "<f8"),
        ("load_point_m", "<f8", (2,)),  # across, up from the triangle's centroid; NaN while unloaded
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

TIMING = np.dtype([("tick", "<i8"), ("work_ns", "<i8"), ("plant_ns", "<i8")])
