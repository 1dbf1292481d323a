"""Which ticks of a run tell how the rover stands: those at which nothing hits it, and it neither falls nor bounces.

A force of a tick in which a wheel hits is an impulse over the length of a step on hard ground, and the force of a
contact that is pressed in elsewhere. Neither is a load that a rover at rest would have. What tells them from loads on
every ground is that the wheels together then bear more or less than the weight.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hil.config.rig import Rig
from hil.recording.stored_rows import Recorded, in_blocks, per_part
from models.kernels.compiled import FloatArray
from models.rover.rover import Rover

# The wheels' forces together may differ from what they have to bear by this share of the weight: by more, the rover is
# accelerated by more than that share of gravity.
UNBALANCED = 0.2
# Ticks so near to such a one are left out as well [ns]: a wheel that rebounds with 0.25 m/s is in flight for that time.
NEAR_NS = 50_000_000


class LoadBalance(NamedTuple):
    """What the wheels together have to bear, and when they did not.

    Attributes:
        weight_N: along the ground's normal.
        normal: (3,) of the ground, world axes; on a height map or a profile upright.
        pull_N: (3,) on the base, in its axes, where no row has a measured one.
        lost_ns: times of the ticks at which the wheels bore too much or too little, in order.
    """

    weight_N: float
    normal: FloatArray
    pull_N: FloatArray
    lost_ns: NDArray[np.int64]

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


def balance_of(rig: Rig, rover: Rover, ticks: Recorded) -> LoadBalance:
    """The balance of a run.

    Args:
        rig: that ran.
        rover: of its nominal model.
        ticks: rows of its record, which have the rover's motion.
    """
    nominal = rig.nominal
    terrain = nominal.ground.terrain
    normal = np.array((0.0, 0.0, 1.0) if terrain is None else terrain.normal)
    weight_N = rover.mass * nominal.ground.gravity * float(normal[2])
    found = LoadBalance(weight_N, normal, nominal.drawbar.wrench()[:3], np.zeros(0, np.int64))
    return found._replace(lost_ns=np.concatenate([found.lost(block) for block in in_blocks(ticks)]))


def known(rows: NDArray[Any]) -> NDArray[Any]:
    """Where loads and motion of the twin are known, and no wheel touches the obstacle."""
    motion = rows["normal_force_N"], rows["pose"], per_part(rows, "joint_angle_rad")
    finite = [np.isfinite(values).all(axis=1) for values in motion]
    out: NDArray[Any] = np.all(finite, axis=0) & ~(rows["gap_m"] <= 0.0)  # NaN: there is no obstacle
    return out
