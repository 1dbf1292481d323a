"""True motion of a simulated rig over a run, at equal distances of time."""

from __future__ import annotations

import math

import numpy as np

from models.kernels.compiled import FloatArray
from models.vehicle import VehicleState

# Between two rows [ns].
EVERY_NS = 100_000_000
# Columns before those of the wheels: end of the time [s], place [m] and roll, pitch, yaw [rad] of the base in the
# world, its forward speed [m/s] and its yaw rate [rad/s].
TIME, X, Y, Z, ROLL, PITCH, YAW, SPEED, YAW_RATE = range(9)
BY_WHEEL = 9
# Significant digits that are kept, so that a record can hold the same numbers as text.
DIGITS = 6


class MotionHistory:
    """Takes the state after each advance of the plant.

    Attributes:
        rows: (n, BY_WHEEL + 2 wheels): the columns above, then the slip of each wheel, then its normal force [N].

    Args:
        state: of the plant.
    """

    def __init__(self, state: VehicleState) -> None:
        self._state = state
        self._columns = BY_WHEEL + 2 * state.ground.vertical.size
        self._rows: list[FloatArray] = []
        self._due_ns = EVERY_NS

    @property
    def rows(self) -> FloatArray:
        """Rows so far, oldest first."""
        return np.array(self._rows).reshape(-1, self._columns)

    def add(self, t_ns: int) -> None:
        """Take the state at a time [ns]."""
        if t_ns < self._due_ns:
            return
        self._due_ns = (t_ns // EVERY_NS + 1) * EVERY_NS
        state = self._state
        numbers = [*state.q[:3], *turns(state.q), state.v[0], state.v[5], *state.ground.slip, *state.ground.vertical]
        self._rows.append(np.array([t_ns * 1e-9, *(float(f"{number:.{DIGITS}g}") for number in numbers)]))


def turns(q: FloatArray) -> tuple[float, float, float]:
    """Roll, pitch, yaw [rad] of the base of a configuration: turned by yaw about z, pitch about y, roll about x."""
    x, y, z, w = q[3:7].tolist()
    return (
        math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)),
        math.asin(min(max(2.0 * (w * y - z * x), -1.0), 1.0)),
        math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)),
    )
