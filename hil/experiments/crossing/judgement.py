"""What came of a crossing: how far the rover got, how long each phase took, loads, tilt and clearance.

Suspension joints count as being at rest, so an axle's place is right to second order in their angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hil.config import Config
from hil.config.model_parameters import profile_line
from hil.config.schema.experiments import CrossingConfig
from hil.experiments.base import Summary
from hil.experiments.summary import finite
from hil.experiments.summary_table import WHEELS, SummaryKey
from hil.recording.content import Recorded, in_blocks, packed
from models.contact.body_ground import body_corners
from models.plant import RigParameters
from models.plant.motion_history import PITCH, ROLL, YAW, X, Z
from models.terrain.profile import COLUMNS, MOST_TOUCHED, Profile, touched
from models.vehicle.model import start_configuration

Floats = NDArray[np.floating[Any]]
# Along the lower edge of the main body [m].
_SPACING_M = 0.01
# Steps with which the first touch is looked for [m].
_LOOK_M = 0.001


class Course:
    """The profile, and the parts of the rover that pass it. Raises ValueError: its ground has no profile.

    Attributes:
        rover: that passes.
        line: (n, 2) corners of the profile, x and z [m].
        begins_m: where the level ground before the shape ends, world x.
        ends_m: where its last corner is.
        touches_m: of the front axle, when its wheels first touch the shape, or stand on its edge.
        on_m: of the front axle, when its wheels are on the shape; down a ledge a radius behind the edge.
        rise_m: height of the last corner.
    """

    def __init__(self, nominal: RigParameters) -> None:
        rover = self.rover = nominal.make_rover()
        profile = nominal.placed_profile(rover)
        if profile is None:
            raise ValueError("crossing: the ground has no profile, needed: one (ground.profile)")
        places = rover.wheel_positions(start_configuration(rover, nominal.servos))
        self._wheels = [(float(x), float(y), float(z)) for x, y, z in places]
        self.line = np.asarray(profile_line(nominal))
        self.begins_m = float(profile.point[1, 0])
        ends = profile.point[-2] if len(profile.point) > 3 else profile.point[-1]
        self.ends_m, self.rise_m = float(ends[0]), float(self.line[-1, 1])
        radius = float(rover.chain.wheel_radius[places[:, 0].argmax()])
        falls = profile.along[1, 1] < 0.0
        self.on_m = self.begins_m + (radius if falls else 0.0)
        self.touches_m = _first_touch(profile, self.begins_m, radius, 0 if nominal.ground.kind == "soil" else 1)
        corners = body_corners(rover.tree)
        known = len(corners) > 0 and nominal.ground.relief is None  # of a scan the line has one height only
        self._edge = _lower_edge(corners) if known else np.zeros((0, 3))

    def axles_m(self, pose: Sequence[float]) -> tuple[float, float]:
        """World x of the foremost and of the rearmost axle, with the base in this pose: place [m], quaternion."""
        found = self.each_axle_m(pose)
        return max(found), min(found)

    def each_axle_m(self, pose: Sequence[float]) -> list[float]:
        """World x of each axle, with the base in this pose."""
        ahead, _, _, x, y, z, w = pose
        row = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
        return [ahead + row[0] * a + row[1] * b + row[2] * c for a, b, c in self._wheels]

    def paths(self, poses: Floats, joints: Sequence[str], angles: Floats) -> Floats:
        """Places (wheels, n, 3) of the axles in the world.

        Args:
            poses: (n, 7) of the base.
            joints: names of the joints whose angles are given.
            angles: (n, joints) [rad].
        """
        found = [
            self.rover.wheel_positions(self.configuration(pose, joints, turned))
            for pose, turned in zip(poses, angles, strict=True)
        ]
        return np.stack(found, axis=1)

    def configuration(self, pose: Floats, joints: Sequence[str], angles: Floats) -> NDArray[np.float64]:
        """Configuration (nq,) of the rover in one pose (7,), with the angles (joints,) of these joints [rad]."""
        q = self.rover.neutral()
        q[:7] = pose
        for name, angle in zip(joints, angles, strict=True):
            if name in self.rover.joint_names:
                q[7 + self.rover.joint_names.index(name)] = angle
        return q

    def wheels_behind(self, pose: Floats, x_m: float) -> int:
        """How many axles are behind a place, world x, with the base in this pose (7,)."""
        places = pose[0] + Rotation.from_quat(pose[3:]).apply(self._wheels)[:, 0]
        return int((places >= x_m).sum())

    def clearance_m(self, poses: Floats) -> float | None:
        """Least height of the main body over the profile in these poses (n, 7) [m]; None: no size, or a scan."""
        if not len(self._edge) or not len(poses):
            return None
        turn, least = Rotation.from_quat(poses[:, 3:]), np.inf
        for place in self._edge:
            world = poses[:, :3] + turn.apply(place)
            ground = np.interp(world[:, 0], self.line[:, 0], self.line[:, 1])
            least = min(least, float((world[:, 2] - ground).min()))
        return least


def _first_touch(profile: Profile, begins: float, radius: float, stands_on: int) -> float:
    """World x of an axle when its wheel, rolling on level ground, first touches more faces than it stands on."""
    place = np.zeros((MOST_TOUCHED, COLUMNS))
    for x in np.arange(begins - 2.0 * radius, begins, _LOOK_M).tolist():
        if touched(profile, x, profile.point[1, 1] + radius, radius, 1e-6, place) > stands_on:
            return float(x)
    return begins


def _lower_edge(corners: Floats) -> Floats:
    """Points (n, 3) along the lower edges of the box around these corners, base frame."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    along = np.append(np.arange(low[0], high[0], _SPACING_M), high[0])
    return np.array([(x, y, low[2]) for y in (low[1], high[1]) for x in along])


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
    SummaryKey("way_m, rise_m", "distance and rise of the body, of twin and simulated rig",
        "distance, rise of the body, twin", 3, "m"),
    SummaryKey("way_true_m, rise_true_m", "", "distance, rise of the body, simulated rig", 3, "m"),
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
    WHEELS,
)  # fmt: skip


def judged(config: Config, course: Course, ticks: Recorded, motion: Floats | None) -> Summary:
    """The part of a summary that says how the crossing went."""
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
    """How far a path got: wheels behind the shape, distance, rise, and largest pitch and roll."""
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
