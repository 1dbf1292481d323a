"""How a programme went: where the rover went in each of its parts, and how far wheels slid that should stand.

A wheel slides by the path of its centre less what it rolled: along its heading R times its turning over the ground,
which is that of its drive, its leg and the body; across it, nothing. The way is that of the pose, of the rover twin or
of a simulated rig, and the joints' measured angles. Suspension joints count as being at rest: a wheel's place is right
to second order in their angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from hil.control.motions.geometry import Floats, Geometry
from hil.control.motions.steering import headings
from hil.control.motions.timeline import STEP_S, Timeline
from hil.experiments.base import Summary
from hil.experiments.summary import finite
from hil.experiments.summary_table import SummaryKey, inner
from hil.recording.content import per_part
from models.plant.motion_history import PITCH, ROLL, TIME, YAW, X, Z

# Shorter wanted ways [m] and turns [rad] are no measure of an advance.
LEAST_WAY_M = 0.02

# In the order of the terminal.
RESULTS = (
    SummaryKey("motions", "the steps, in words", "motions"),
    SummaryKey("played_s, length_s", "how much of the motions was played; how long they last", "played, of", 1, "s"),
    SummaryKey("advance_m", "distance along the motions, summed over the steps: by the twin; as it follows from the "
        "motions; of the simulated rig, null on a real one", "advance, twin", 3, "m", main="advance"),
    SummaryKey("advance_wanted_m", "", "advance as the motions say", 3, "m"),
    SummaryKey("advance_true_m", "", "advance, simulated rig", 3, "m"),
    SummaryKey("slide_m", "farthest that a wheel slid over the ground while it had to stand, by the twin: of all, "
        "of each; and of the simulated rig", "slide of standing wheels, twin", 1, "mm", 1e3, main="largest slide"),
    SummaryKey("slide_by_wheel_m", "", "of each wheel", 1, "mm", 1e3),
    SummaryKey("slide_true_by_wheel_m", "", "of each wheel, simulated rig", 1, "mm", 1e3),
    SummaryKey("servo_error_deg", "largest difference between angle set and angle measured, of all joints and of each; "
        "it has the delay of the link", "angle set less measured, largest", 2, "deg"),
    SummaryKey("servo_error_by_joint_deg", "", "of each joint", 2, "deg"),
    SummaryKey("servo_torque_by_joint_Nm", "largest torque that each joint's measured motion took, by the twin, "
        "without its gear's friction", "largest torque of each joint's motion, twin", 1, "N m"),
    SummaryKey("at_limit_by_joint_s", "how long that was at least the torque limit of the joint's servo"),
    SummaryKey("energy_J", "that the drives took from their supplies; null: currents are not measured",
        "electrical energy of the drives", 0, "J"),
    SummaryKey("wheels", "names of wheels and driven joints, in the order of the lists", "wheels, in this order"),
    SummaryKey("joints", "", "joints, in this order"),
    SummaryKey("parts", "a row a step: `motion`, `from_s`, `to_s` from the begin of the motions, and ahead [m], to "
        "port [m], turn [deg] and up [m] as `wanted`, of the `twin` and `true`; `path_error_twin_m`, largest distance "
        "from the path of the step, which begins where the rover is; `position_error_twin_m`, largest distance from "
        "where the motions say that it is at that moment; both also of `true`",
        rows=inner(SummaryKey("motion", "", "motion"),
        SummaryKey("wanted, twin, true", "", "ahead, to port (m), turn (deg), up (m)", 3),
        SummaryKey("path_error_twin_m, path_error_true_m", "", "distance from the path, largest", 1, "mm", 1e3))),
)  # fmt: skip


class WalkRecord(NamedTuple):
    """What a record has of a run, from the first tick of the programme on."""

    t_s: Floats  #: (n,) since then [s]
    pose: Floats  #: (n, 7) of the base, from the rover twin: place [m], quaternion
    angles: Floats  #: (n, driven) measured [rad]
    turned: Floats  #: (n, wheels) of the drives, measured speeds summed up [rad]


class BodyPoses(NamedTuple):
    """Poses over time: place (n, 3) [m], and rotations, world from base."""

    place: Floats
    turn: Rotation


def measured_from(ticks: Sequence[NDArray[Any]], rate_hz: float) -> WalkRecord:
    """From blocks of ticks of the state in which the programme runs."""
    rows = np.concatenate(list(ticks))
    t_s = (rows["t_ns"] - rows["t_ns"][0]) * 1e-9
    steps = np.diff(t_s, prepend=t_s[0] - 1.0 / rate_hz)
    turned = np.cumsum(rows["wheel_speed_radps"] * steps[:, None], axis=0)
    every = max(round(STEP_S * rate_hz), 1)
    wheels = turned.shape[1]
    angles = per_part(rows, "servo_angle_rad")
    return WalkRecord(
        t_s[::every], rows["pose"][::every].astype(np.float64), angles[::every], turned[::every].reshape(-1, wheels)
    )


def joint_torques(ticks: Sequence[NDArray[Any]], limits: Floats, rate_hz: float) -> tuple[Floats, Floats]:
    """Torques that the motions of the driven joints took, by the rover twin.

    Returns:
        Largest torque (driven,) [N m], and how long it was at least the limit of the servo [s]; two empty arrays: no
        joint is driven, or the record has no torques.
    """
    name = "servo_torque_Nm"
    if not limits.size or name not in (ticks[0].dtype.names or ()):
        return np.zeros(0), np.zeros(0)
    torque = np.concatenate([np.abs(block[name]).reshape(len(block), -1) for block in ticks])
    return torque.max(axis=0), (torque >= limits).sum(axis=0) / rate_hz


def twin_places(measured: WalkRecord) -> BodyPoses:
    """The rover twin's."""
    quaternion = measured.pose[:, 3:]
    return BodyPoses(measured.pose[:, :3], Rotation.from_quat(quaternion / np.linalg.norm(quaternion, axis=1)[:, None]))


def true_places(measured: WalkRecord, motion: Floats, began_s: float) -> BodyPoses:
    """Those of a simulated rig (`models.plant.motion_history.MotionHistory.rows`), at the same times."""
    t_s = measured.t_s + began_s
    place = np.stack([np.interp(t_s, motion[:, TIME], motion[:, i]) for i in range(X, Z + 1)], axis=1)
    angles = np.unwrap(motion[:, [YAW, PITCH, ROLL]], axis=0)
    turns = np.stack([np.interp(t_s, motion[:, TIME], angle) for angle in angles.T], axis=1)
    return BodyPoses(place, Rotation.from_euler("ZYX", turns))


def moved(places: BodyPoses, first: int, last: int) -> tuple[float, float, float, float]:
    """Way ahead, to port and up [m] in the base frame of the first sample, and turn to port [rad], to the last one."""
    begin = places.turn[first]
    ahead, left, up = begin.inv().apply(places.place[last] - places.place[first])
    yaw = float((begin.inv() * places.turn[last]).as_euler("ZYX")[0])
    return float(ahead), float(left), float(up), yaw


def wanted_places(geometry: Geometry, timeline: Timeline) -> BodyPoses:
    """Where the base is as the motions say: its height as far as the legs lift it, in the mean over the wheels."""
    path = timeline.path
    height = -geometry.frames(timeline.angles).centre[:, :, 2].mean(axis=1)
    return BodyPoses(np.column_stack([path[:, :2], height - height[0]]), Rotation.from_euler("z", path[:, 2:]))


def path_errors(wanted: BodyPoses, places: BodyPoses, at: NDArray[np.int64]) -> tuple[float, float]:
    """How far the rover was from a path in the plane; both begin at one place with one heading.

    Args:
        wanted: as the motions say.
        places: of the rover.
        at: (n,) sample of `wanted` at the time of each of its places.

    Returns:
        Largest distance from the path, and from where the motions say that the rover is at that moment [m].
    """
    ways = [
        one.turn[first].inv().apply(one.place - one.place[first])[:, :2]
        for one, first in ((wanted, int(at[0])), (places, 0))
    ]
    line, found = ways[0][at[0] : at[-1] + 1], ways[1]
    nearest = np.asarray(cKDTree(line).query(found)[0])
    return float(nearest.max()), float(np.hypot(*(found - ways[0][at]).T).max())


def slides(geometry: Geometry, measured: WalkRecord, places: BodyPoses, timeline: Timeline) -> Floats:
    """Farthest way (wheels,) that each wheel slid over the ground while it had to stand [m]; NaN: it never had to."""
    frames = geometry.frames(measured.angles)
    world = places.place[:, None] + np.stack(
        [places.turn.apply(frames.centre[:, wheel]) for wheel in range(len(geometry.wheels))], axis=1
    )
    pitch = _pitches(places)
    leaning = _leaning(geometry, measured.angles)
    rolled = geometry.radius * (measured.turned + leaning + pitch[:, None])
    sample = np.clip(np.round(measured.t_s / STEP_S).astype(int), 0, len(timeline.part) - 1)
    standing = timeline.standing[sample] > 0.0
    ahead = headings(frames)
    result: Floats = np.full(len(geometry.wheels), np.nan)
    for wheel in range(len(geometry.wheels)):
        for first, last in _stretches(standing[:, wheel]):
            turn = places.turn[first]
            way = turn.inv().apply(world[last, wheel] - world[first, wheel])
            way[2] = 0.0  # it sinks
            slid = np.linalg.norm(way - (rolled[last, wheel] - rolled[first, wheel]) * ahead[first, wheel])
            result[wheel] = np.fmax(result[wheel], slid)
    return result


def _pitches(places: BodyPoses) -> Floats:
    """Turning of the base about its axis to port since the first sample [rad]."""
    about = (places.turn[0].inv() * places.turn).as_rotvec()
    pitch: Floats = about[:, 1]
    return pitch


def _leaning(geometry: Geometry, angles: Floats) -> Floats:
    """Turning of what carries each wheel about its axle (n, wheels) [rad], from the walking joints."""
    result: Floats = np.zeros((len(angles), len(geometry.wheels)))
    for wheel, joint in enumerate(geometry.walking):
        if joint is not None:
            result[:, wheel] = geometry.sense(joint) * angles[:, geometry.index(joint)]
    return result


def _stretches(standing: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last sample of each stretch."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], standing, [False]]).astype(int)))
    return [(first, end - 1) for first, end in zip(edges[::2], edges[1::2], strict=True) if end - 1 > first]


def parts_summary(
    geometry: Geometry, timeline: Timeline, motions: Sequence[str], measured: WalkRecord, each: dict[str, BodyPoses]
) -> list[Summary]:
    """Of each part: the motion, and how the rover moved: as it follows from the motion, and by each source of poses."""
    wanted = wanted_places(geometry, timeline)
    result = []
    for part, motion in enumerate(motions, start=1):
        inside = np.flatnonzero(timeline.part == part)
        if not inside.size:
            continue
        first, last = int(inside[0]) - 1, int(inside[-1])
        times = np.array([first, last]) * STEP_S
        found: Summary = {"motion": motion, "from_s": float(times[0]), "to_s": float(times[1])}
        found["wanted"] = _numbers(moved(wanted, first, last))
        ends = np.searchsorted(measured.t_s, times - 1e-9).clip(max=len(measured.t_s) - 1)
        for name, places in each.items():
            done = measured.t_s[-1] >= times[1] - 2.0 * STEP_S
            found[name] = _numbers(moved(places, int(ends[0]), int(ends[1]))) if done else None
            found[f"path_error_{name}_m"] = found[f"position_error_{name}_m"] = None
            if done:
                went = slice(int(ends[0]), int(ends[1]) + 1)
                at = np.clip(np.round(measured.t_s[went] / STEP_S).astype(int), first, last)
                errors = path_errors(wanted, BodyPoses(places.place[went], places.turn[went]), at)
                found[f"path_error_{name}_m"], found[f"position_error_{name}_m"] = map(finite, errors)
        result.append(found)
    return result


def _numbers(values: tuple[float, float, float, float]) -> list[float | None]:
    ahead, left, up, yaw = values
    return [finite(ahead), finite(left), finite(float(np.degrees(yaw))), finite(up)]
