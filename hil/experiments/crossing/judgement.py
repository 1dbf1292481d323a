"""What came of a crossing: how far the rover got, how long each phase took, loads, tilt and clearance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hil.config import Config
from hil.config.schema.crossing import CrossingConfig
from hil.experiments.base import Summary
from hil.experiments.crossing.course import Course, Floats
from hil.experiments.summary import finite
from hil.experiments.summary_table import SummaryKey
from hil.recording.stored_rows import Recorded, in_blocks, packed
from models.plant.motion_history import PITCH, ROLL, YAW, X, Z

# Numbers of the states while it drives, and their names.
PHASES = {2: "approach", 3: "contact", 9: "cross"}
AFTER = 4  # the drives are cut: wheels that friction held up fall now
_FIELDS = ("t_ns", "state", "pose", "normal_force_N", "slip", "speed_mps")
_EVERY_S = 0.01  # between poses that are looked at

# In the order of the terminal.
RESULTS = (
    SummaryKey("shape", "shape of the profile", "shape"),
    SummaryKey("wheels_across", "axles behind the shape at the end of the drive, of the rover twin",
        "wheels across, twin"),
    SummaryKey("wheels_across_true", "behind the end of the shape alone, as the simulated rig knows",
        "wheels across, simulated rig"),
    SummaryKey("crossed_s", "whether all axles were `crossing.past_m` behind the shape before `crossing.timeout_s`; "
        "time until then, null if not", "crossed in", 1, "s", main="crossed in"),
    SummaryKey("crossed", ""),
    SummaryKey("phases_s", "length of the phases `approach`, until front wheels touch the shape, `contact`, until they "
        "are on it, and `cross`; of all", "phases", 2, "s"),
    SummaryKey("drive_s", ""),
    SummaryKey("way_m, rise_m", "way and rise of the body, of twin and simulated rig", "way, rise of the body, twin", 3,
        "m"),
    SummaryKey("way_true_m, rise_true_m", "", "way, rise of the body, simulated rig", 3, "m"),
    SummaryKey("pitch_max_deg, roll_max_deg", "largest pitch, nose down above 0, and roll, with their signs, of both",
        "largest pitch (nose down above 0), roll", 1, "deg"),
    SummaryKey("pitch_max_true_deg, roll_max_true_deg", ""),
    SummaryKey("load_max_N", "largest upward force on each wheel in any tick from the start until the end of "
        "`settle_s`, and the largest of them; on [nonsmooth "
        "ground](../explanation/nonsmooth-contact.md#what-may-surprise) that of a hit is its impulse over a step of "
        "the twin", "largest upward force on each wheel, twin", 0, "N"),
    SummaryKey("largest_load_N", "", "largest of them", 0, "N", main="largest load"),
    SummaryKey("slip_mean", "mean slip of each wheel", "mean slip of each wheel, twin", 3),
    SummaryKey("clearance_m", "least height of the main body's lower edge over the profile; below 0 the run is not "
        "accepted", "least height of the body over the ground", 3, "m"),
    SummaryKey("wheels", "names of the wheels, which the lists follow", "wheels, in this order"),
)  # fmt: skip


def judged(config: Config, course: Course, ticks: Recorded, motion: Floats | None) -> Summary:
    """The part of a summary that says how the crossing went.

    Args:
        config: of the run.
        course: the profile and the rover.
        ticks: rows of the record.
        motion: true motion of a simulated rig (`models.plant.motion_history.MotionHistory.rows`), or None.
    """
    profile, layout = config.ground.profile, config.layout
    assert profile is not None
    every = max(round(_EVERY_S * config.loop.rate_hz), 1)
    count, largest, poses, seen = dict.fromkeys(PHASES, 0), np.zeros(len(layout.wheels)), list[Any](), 0
    slipped, turning, ended = np.zeros(len(layout.wheels)), 0, False
    for block in in_blocks(ticks):
        rows = packed(block, list(_FIELDS))
        moved = rows[np.isin(rows["state"], [*PHASES, AFTER])]
        if len(moved):
            largest = np.fmax(largest, np.nanmax(moved["normal_force_N"], axis=0))
        after, rows = rows[rows["state"] == AFTER], rows[np.isin(rows["state"], list(PHASES))]
        for phase in PHASES:
            count[phase] += int((rows["state"] == phase).sum())
        if len(rows):
            slipped, turning = slipped + np.nan_to_num(rows["slip"]).sum(axis=0), turning + len(rows)
            poses.append(rows["pose"][-seen % every :: every])
            seen += len(rows)
        if len(after) and not ended:  # where it was when the drive ended, whichever row that is
            poses.append(after["pose"][:1])
            ended = True
    path = np.concatenate(poses).astype(np.float64) if poses else np.zeros((0, 7))
    driven = sum(count.values())
    rate_hz = config.loop.rate_hz
    found: Summary = {
        "wheels": list(layout.wheels),
        "shape": profile.shape,
        "drive_s": driven / rate_hz,
        "phases_s": {name: count[phase] / rate_hz for phase, name in PHASES.items()},
        "load_max_N": [finite(float(one)) for one in largest],
        "largest_load_N": finite(float(largest.max())) if driven else None,
        "slip_mean": [finite(float(one)) for one in slipped / turning] if turning else None,
        "clearance_m": course.clearance_m(path),
        **_where(config.crossing, course, path, ""),
        **_where(config.crossing, course, _poses_of(motion), "_true"),
    }
    found["crossed"] = bool(found["wheels_across"] == len(layout.wheels))
    found["crossed_s"] = found["drive_s"] if found["crossed"] else None
    return found


def _where(crossing: CrossingConfig, course: Course, path: Floats, of: str) -> Summary:
    """How far a path got: wheels behind the shape, way, rise, and largest pitch and roll."""
    keys = [f"wheels_across{of}", f"way{of}_m", f"rise{of}_m", f"pitch_max{of}_deg", f"roll_max{of}_deg"]
    if not len(path):
        return dict.fromkeys(keys)
    across = course.wheels_behind(path[-1], course.ends_m + (crossing.past_m if not of else 0.0) - 1e-3)
    _, pitch, roll = np.degrees(Rotation.from_quat(path[:, 3:]).as_euler("ZYX")).T
    values = path[-1, 0] - path[0, 0], path[-1, 2] - path[0, 2], _extreme(pitch), _extreme(roll)
    return dict(zip(keys, (across, *(finite(float(value)) for value in values)), strict=True))


def _extreme(values: Floats) -> float:
    """The value with the largest size."""
    return float(values[np.abs(values).argmax()])


def _poses_of(motion: Floats | None) -> NDArray[np.float64]:
    if motion is None or not len(motion):
        return np.zeros((0, 7))
    turn = Rotation.from_euler("ZYX", motion[:, [YAW, PITCH, ROLL]])
    return np.column_stack([motion[:, X : Z + 1], turn.as_quat()])
