"""How well the rover stood during a run: shares of its weight, margin to tipping over, and friction needed.

These are the metrics of MacMahon 2016, 2.1. They follow from what every record has: pose, joint angles and normal
forces by the rover twin. So a run is not slower for them, and a replay comes to the same.

Which ticks of a run tell how the rover stands: those at which nothing hits it, and it neither falls nor bounces.

A force of a tick in which a wheel hits is an impulse over the length of a step on hard ground, and the force of a
contact that is pressed in elsewhere. Neither is a load that a rover at rest would have. What tells them from loads on
every ground is that the wheels together then bear more or less than the weight.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hil.config.rig import Rig
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.summary import finite
from hil.recording.content import Recorded, between, in_blocks, per_part
from models.kernels.compiled import FloatArray
from models.rover.rover import Rover
from models.statics import least_friction, stability_margin, stand
from models.terrain.mesh import TriangleMesh
from models.terrain.mesh_contacts import touches
from models.terrain.profile import COLUMNS, MOST_TOUCHED, NORMAL_X, NORMAL_Z, Profile, touched
from models.terrain.surface import Terrain, contact_plane

# The wheels' forces together may differ from what they have to bear by this share of the weight: by more, the rover is
# accelerated by more than that share of gravity.
UNBALANCED = 0.2
# Ticks so near to such a one are left out as well [ns]: a wheel that rebounds with 0.25 m/s is in flight for that time.
NEAR_NS = 50_000_000


class _LoadBalance(NamedTuple):
    """What the wheels together have to bear, and when they did not."""

    weight_N: float  #: along the ground's normal
    normal: FloatArray  #: (3,) of the ground, world axes; on a height map or a profile upright
    pull_N: FloatArray  #: (3,) on the base, in its axes, where no row has a measured one
    lost_ns: NDArray[np.int64]  #: times of the ticks at which the wheels bore too much or too little, in order

    def kept(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Where the loads are known and there is no such tick near; of rows with the rover's motion."""
        there = known(rows)
        if not len(self.lost_ns):
            return there
        t_ns = rows["t_ns"].astype(np.int64)
        after = np.searchsorted(self.lost_ns, t_ns)
        last = self.lost_ns[np.maximum(after - 1, 0)]
        following = self.lost_ns[np.minimum(after, len(self.lost_ns) - 1)]
        away = np.minimum(np.abs(t_ns - last), np.abs(following - t_ns)) > NEAR_NS
        out: NDArray[Any] = there & away
        return out

    def lost(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Times of those rows at which the wheels bear too much or too little [ns]."""
        rows = rows[known(rows)]
        borne = rows["normal_force_N"].sum(axis=1)
        missing = np.abs(borne + self._pulled_N(rows) - self.weight_N)
        out: NDArray[np.int64] = rows["t_ns"][(borne <= 0.0) | (missing > UNBALANCED * self.weight_N)].astype(np.int64)
        return out

    def _pulled_N(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Part of the pull along the normal (rows,)."""
        pull = np.tile(self.pull_N, (len(rows), 1))
        if "pull_N" in (rows.dtype.names or ()):
            measured = np.isfinite(rows["pull_N"])
            pull[measured] = np.outer(rows["pull_N"][measured], (-1.0, 0.0, 0.0))
        if not pull.any():
            return np.zeros(len(rows))
        out: NDArray[Any] = Rotation.from_quat(rows["pose"][:, 3:]).apply(pull) @ self.normal
        return out


def balance_of(rig: Rig, rover: Rover, ticks: Recorded) -> _LoadBalance:
    """The balance of a run."""
    nominal = rig.nominal
    terrain = nominal.ground.terrain
    normal = np.array((0.0, 0.0, 1.0) if terrain is None else terrain.normal)
    weight_N = rover.mass * nominal.ground.gravity * float(normal[2])
    found = _LoadBalance(weight_N, normal, nominal.drawbar.wrench()[:3], np.zeros(0, np.int64))
    return found._replace(lost_ns=np.concatenate([found.lost(block) for block in in_blocks(ticks)]))


def known(rows: NDArray[Any]) -> NDArray[Any]:
    """Where loads and motion of the twin are known, and no wheel touches the obstacle."""
    motion = rows["normal_force_N"], rows["pose"], per_part(rows, "joint_angle_rad")
    finite = [np.isfinite(values).all(axis=1) for values in motion]
    out: NDArray[Any] = np.all(finite, axis=0) & ~(rows["gap_m"] <= 0.0)  # NaN: there is no obstacle
    return out


# Statics are solved for so many ticks of a run at most, evenly spread, the first and the last among them.
MOST_INSTANTS = 20
# Fewer wheels than this are not held by statics: a carriage holds a single wheel.
_FEWEST = 3
# The summary's key of the time that is left out (`balance_of`); a version that left out none has no such.
LEFT_OUT = "disturbed_s"


class Mobility(NamedTuple):
    """The metrics at some ticks of a run."""

    t_s: NDArray[Any]  #: (ticks,) times from the start of the run
    load_share: NDArray[Any]  #: (ticks, wheels) of each wheel's normal force in their sum
    stability_deg: NDArray[Any]  #: (ticks,) `models.statics.stability_margin`; NaN: the contacts span no polygon
    #: (ticks,) `models.statics.least_friction`; infinite where no friction holds the rover still
    friction_needed: NDArray[Any]


def mobility(rig: Rig, ticks: Recorded, most: int = MOST_INSTANTS) -> Mobility | None:
    """The metrics at ticks at which the rover stands or drives on its ground and does not touch the obstacle.

    Ticks near to one at which it is hit, falls or bounces are left out (`balance_of`). A wheel counts as
    support if it bears at the tick, or does so as near to it: on hard ground wheels chatter.

    On a profile each wheel has the normal of the face or edge that it touches. Ticks at which a wheel touches two are
    left out: statics have one force a wheel.

    The contact points lie on the rims, sinkage left out. Only weight, drawbar pull and the recorded torques of
    cylinders act: what accelerates the rover does not count. Driven joints bear whatever torque it takes.

    Returns None: the rover has no ground, is held by a carriage, or its record has no motion.
    """
    rover = _standing_rover(rig, ticks)
    return None if rover is None else _metrics(rig, rover, balance_of(rig, rover, ticks), ticks, most)


def mobility_summary(run: FinishedRun) -> Summary:
    """Key `mobility` as docs/reference/summary.md has it."""
    rig, ticks = run.rig, run.ticks
    rover = _standing_rover(rig, ticks)
    if rover is None:
        return {"mobility": None}
    balance = balance_of(rig, rover, ticks)
    found = _metrics(rig, rover, balance, ticks, MOST_INSTANTS)
    if not len(found.t_s):
        return {"mobility": None}
    *shares, left_out = _extreme_shares(balance, ticks)
    return {
        "mobility": {
            "instants": len(found.t_s),
            LEFT_OUT: left_out / rig.rate_hz,
            "load_share": {
                name: {"start": float(found.load_share[0, wheel]), "least": float(low), "largest": float(high)}
                for wheel, (name, low, high) in enumerate(zip(rig.layout.wheels, *shares, strict=True))
            },
            "stability_deg": _over_time(found.t_s, found.stability_deg, "least"),
            "friction_needed": _over_time(found.t_s, found.friction_needed, "largest"),
        }
    }


def _standing_rover(rig: Rig, ticks: Recorded) -> Rover | None:
    """The rover, if it stands on ground and the rows have its motion."""
    nominal, layout = rig.nominal, rig.layout
    if nominal.ground.kind == "none" or not layout.motion or len(layout.wheels) < _FEWEST or not len(ticks):
        return None
    if "pose" not in (ticks[0].dtype.names or ()):  # of an earlier version
        return None
    rover = nominal.make_rover()
    return None if rover.tree.guided else rover


def _metrics(rig: Rig, rover: Rover, balance: _LoadBalance, ticks: Recorded, most: int) -> Mobility:
    there = np.unique(np.linspace(0, len(ticks) - 1, min(most, len(ticks))).round().astype(np.int64))
    rows = np.array([ticks[int(one)] for one in there])
    rows = rows[balance.kept(rows)]
    profile = rig.nominal.placed_profile(rover)
    metrics = [_at(rig, rover, profile, row, _bearing(ticks, row)) for row in rows]
    rows = rows[[one is not None for one in metrics]]
    found = [one for one in metrics if one is not None]
    loads = rows["normal_force_N"].astype(np.float64)
    return Mobility(
        rows["t_ns"] * 1e-9,
        loads / loads.sum(axis=1, keepdims=True),
        np.array([margin for margin, _ in found]),
        np.array([friction for _, friction in found]),
    )


def _bearing(ticks: Recorded, row: np.void) -> NDArray[Any]:
    """Which wheels bear at a tick, or have done so near to it: on hard ground wheels chatter (wheels,)."""
    bears: NDArray[Any] = np.asarray(row["normal_force_N"] > 0.0)
    if not bears.all():
        near = between(ticks, row["t_ns"] - NEAR_NS, row["t_ns"] + NEAR_NS, "t_ns")
        bears = np.any(ticks[near]["normal_force_N"] > 0.0, axis=0)
    return bears


def _at(
    rig: Rig, rover: Rover, profile: Profile | None, row: np.void, bears: NDArray[Any]
) -> tuple[float, float] | None:
    """Margin to tipping over [deg] and friction needed at one tick; None: a wheel touches two faces."""
    nominal, layout, names = rig.nominal, rig.layout, row.dtype.names or ()
    tree_q = np.zeros(1 + rover.chain.speed_parent.size)
    tree_q[:7] = row["pose"]
    tree_q[3:7] /= np.linalg.norm(tree_q[3:7])
    for name, angle in zip(layout.turning, per_part(row, "joint_angle_rad"), strict=True):
        tree_q[7 + rover.tree_joint_names.index(name)] = angle
    q = rover.own_configuration(tree_q)
    if nominal.ground.mesh is not None:
        normals = _mesh_normals(nominal.ground.mesh, rover, q)
    else:
        normals = _normals(nominal.ground.terrain, rover, q)
        if profile is not None:
            normals = _face_normals(profile, normals, rover, q)
    if normals is None:
        return None
    pull = nominal.drawbar.wrench()
    if "pull_N" in names and math.isfinite(row["pull_N"]):
        pull = nominal.drawbar.backwards() * float(row["pull_N"])
    torque = {}
    if "cylinder_torque_Nm" in names:
        torque = dict(zip(layout.joints, row["cylinder_torque_Nm"].tolist(), strict=True))
    held = [*(servo.joint for servo in nominal.servos), *rover.sprung]
    standing = stand(
        rover,
        q,
        normals,
        gravity=(0.0, 0.0, -nominal.ground.gravity),
        pull=pull,
        held=held,
        torque={name: value for name, value in torque.items() if name not in held},
    ).only(bears)
    try:
        margin = math.degrees(stability_margin(standing))
    except ValueError:  # too few wheels bear
        margin = math.nan
    return margin, least_friction(standing).coefficient


def _normals(terrain: Terrain, rover: Rover, q: FloatArray) -> FloatArray:
    """Of the ground, for all wheels (3,), or (wheels, 3) where each stands on its own."""
    if terrain is None or terrain.relief is None:
        return np.array((0.0, 0.0, 1.0) if terrain is None else terrain.normal)
    places = enumerate(rover.wheel_positions(q).tolist())
    return np.array([contact_plane(terrain, tuple(place), wheel)[1] for wheel, place in places])


def _face_normals(profile: Profile, around: FloatArray, rover: Rover, q: FloatArray) -> FloatArray | None:
    """Normals (wheels, 3) of what each wheel touches, of the ground around where that is nothing; None: it is two."""
    normals, place = np.tile((0.0, 0.0, 1.0), (len(rover.wheel_names), 1)), np.zeros((MOST_TOUCHED, COLUMNS))
    normals[:] = around
    wheels = zip(rover.wheel_positions(q).tolist(), rover.chain.wheel_radius.tolist(), strict=True)
    for wheel, ((x, _, z), radius) in enumerate(wheels):
        count = touched(profile, x, z, radius, 0.0, place)
        if count > 1:
            return None
        if count:
            normals[wheel] = place[0, NORMAL_X], 0.0, place[0, NORMAL_Z]
    return normals


def _mesh_normals(mesh: TriangleMesh, rover: Rover, q: FloatArray) -> FloatArray | None:
    """The same of a mesh."""
    normals, found = np.tile((0.0, 0.0, 1.0), (len(rover.wheel_names), 1)), set[int]()
    for one in touches(mesh, rover.wheel_positions(q), rover.chain.wheel_radius.tolist()):
        if one.wheel in found:
            return None
        found.add(one.wheel)
        normals[one.wheel] = one.normal
    return normals


def _extreme_shares(balance: _LoadBalance, ticks: Recorded) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Least and largest share (wheels,) of each wheel over all ticks that are kept, and how many others are known."""
    low, high, left_out = [], [], 0
    for rows in in_blocks(ticks):
        kept = balance.kept(rows)
        left_out += int(np.count_nonzero(known(rows))) - int(np.count_nonzero(kept))
        loads = rows["normal_force_N"][kept].astype(np.float64)
        if len(loads):
            shares = loads / loads.sum(axis=1, keepdims=True)
            low.append(shares.min(axis=0))
            high.append(shares.max(axis=0))
    return np.min(low, axis=0), np.max(high, axis=0), left_out


def _over_time(t_s: NDArray[Any], values: NDArray[Any], which: str) -> dict[str, float | None]:
    """At the start, at its worst, and when that was; null: no polygon, or no friction holds the rover."""
    ordered = np.where(np.isnan(values), -math.inf, values if which == "largest" else -values)
    worst = int(ordered.argmax())
    return {
        "start": finite(float(values[0])),
        which: finite(float(values[worst])),
        f"{which}_at_s": float(t_s[worst]),
    }
