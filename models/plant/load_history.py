"""True wheel loads and cylinder torques of a simulated rig over a run, as means over equal stretches of time."""

from __future__ import annotations

import numpy as np

from models.actuators.linkage import piston
from models.actuators.pneumatic import CylinderMounts
from models.kernels.compiled import FloatArray
from models.vehicle import VehicleState

# Length of a stretch [ns].
STRETCH_NS = 100_000_000
# Loads and torques are kept to this many decimals, so that a record can hold the same numbers as text.
_DECIMALS = 3


class LoadHistory:
    """Takes the values after each advance of the plant, and weights them with its length.

    Attributes:
        rows: (n, 1 + wheels + cylinders): end of the stretch [s], mean loads [N], mean torques [N m] with friction; a
            stretch that has not ended is not there.

    Args:
        wheels: number of loads.
        cylinders: number of torques.
    """

    def __init__(self, wheels: int, cylinders: int) -> None:
        self._sum, self._weight_ns = np.zeros(wheels + cylinders), 0
        self._wheels = wheels
        self._rows: list[FloatArray] = []
        self._end_ns = STRETCH_NS

    @property
    def rows(self) -> FloatArray:
        """Rows so far, one a stretch of time."""
        return np.array(self._rows).reshape(-1, 1 + self._sum.size)

    def add(self, t_ns: int, span_ns: int, load_N: FloatArray, torque_Nm: FloatArray) -> None:
        """Take the values of an advance that ended at t_ns and took span_ns [ns]."""
        self._sum[: self._wheels] += span_ns * load_N
        self._sum[self._wheels :] += span_ns * torque_Nm
        self._weight_ns += span_ns
        if t_ns >= self._end_ns:
            mean = np.round(self._sum / self._weight_ns, _DECIMALS)
            self._rows.append(np.concatenate([[self._end_ns * 1e-9], mean]))
            self._sum[:], self._weight_ns = 0.0, 0
            self._end_ns = (t_ns // STRETCH_NS + 1) * STRETCH_NS


def torque_with_friction(mounts: CylinderMounts, state: VehicleState) -> FloatArray:
    """Of pressure and friction together on each joint (cylinders,) [N m]; what friction damps is left out."""
    cylinders = state.cylinders
    if (linkage := mounts.linkage) is None or linkage.static == 0.0:
        return cylinders.torque
    arms = [piston(linkage, state.q[speed + 1])[1] for speed in mounts.speed]
    friction: FloatArray = -linkage.static / linkage.presliding * cylinders.bristle * arms
    return cylinders.torque + friction
