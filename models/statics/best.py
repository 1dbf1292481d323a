"""The torques that make the best of the wheels' loads while a rover drives steadily.

What an experiment measures its controller against: optimum and states are solved for anew, by scipy, with the
tractions that the wheels have at each state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from models.kernels.compiled import FloatArray
from models.statics.steady import NoSteadyStateError, SteadyRover, SteadyState

# Of a state: what is to be least, and its change with the torque (joints,) of each joint.
Cost = Callable[[SteadyState], tuple[float, FloatArray]]
# Cost, in units of a first step, where there is no steady state.
_NOWHERE = 1e3
# Loads in the constraints are in this unit [N].
_LOAD = 100.0


def spread_of(load: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
    """Standard deviation of the wheels' loads over their mean; loads (..., wheels) [N], result (...)."""
    return np.asarray(load.std(axis=-1) / load.mean(axis=-1))


def unevenness(state: SteadyState) -> tuple[float, FloatArray]:
    """Square of the loads' spread, and its change with each joint's torque."""
    apart, mean = state.load / state.load.mean() - 1.0, state.load.mean()
    by_load = 2.0 * (apart - (apart * (1.0 + apart)).mean()) / (mean * apart.size)
    return float((apart**2).mean()), by_load @ state.influence


def traction_loss(state: SteadyState) -> tuple[float, FloatArray]:
    """Slip, or lost pull over the weight where the slip is given, and its change with each joint's torque."""
    weight = state.load.sum()
    return state.slip - state.pull / weight, state.slip_influence - state.pull_influence / weight


def best_torques(
    cost: Cost,
    drive: SteadyRover,
    joints: Sequence[str],
    low: Sequence[float] | FloatArray,
    high: Sequence[float] | FloatArray,
    loads: tuple[float, float] = (0.0, np.inf),
) -> tuple[FloatArray, SteadyState]:
    """Torques (joints of the rover,) of the cylinders that make a cost least, and the state with them.

    Args:
        cost: such as `unevenness` or `traction_loss`.
        drive: the rover on its ground.
        joints: those with a cylinder; the others have no torque.
        low: (cylinders,) least torques [N m].
        high: (cylinders,) largest.
        loads: least and largest of each wheel [N].

    Raises:
        NoSteadyStateError: there is no steady state without torques.
        RuntimeError: no optimum was found.
    """
    column = [drive.joint_names.index(name) for name in joints]
    unit = float(max(np.abs(low).max(), np.abs(high).max(), 1e-9))
    wheels, cylinders = len(drive.wheel_names), len(column)
    known: dict[bytes, SteadyState | None] = {}  # cost and constraint are asked at the same places

    def torque_of(part: FloatArray) -> FloatArray:
        torque = np.zeros(len(drive.joint_names))
        torque[column] = part * unit
        return torque

    def state_at(part: FloatArray) -> SteadyState | None:
        key = part.tobytes()
        if key not in known:
            try:
                known[key] = drive.at(torque_of(part))
            except NoSteadyStateError:
                known[key] = None
        return known[key]

    start = np.clip(np.zeros(cylinders), np.divide(low, unit), np.divide(high, unit))
    first, slope = cost(drive.at(torque_of(start)))
    scale = max(unit * float(np.abs(slope).max()), 1e-9)

    def scaled_cost(part: FloatArray) -> tuple[float, FloatArray]:
        state = state_at(part)
        if state is None:
            return _NOWHERE, np.zeros(cylinders)
        value, by_torque = cost(state)
        return (value - first) / scale, by_torque[column] * unit / scale

    def scaled_loads(part: FloatArray) -> FloatArray:
        state = state_at(part)
        return np.full(wheels, -1.0) if state is None else state.load / _LOAD

    def load_slopes(part: FloatArray) -> FloatArray:
        state = state_at(part)
        return np.zeros((wheels, cylinders)) if state is None else state.influence[:, column] * unit / _LOAD

    found = minimize(
        scaled_cost,
        start,
        jac=True,
        method="SLSQP",
        bounds=Bounds(np.divide(low, unit), np.divide(high, unit)),
        constraints=NonlinearConstraint(scaled_loads, loads[0] / _LOAD, loads[1] / _LOAD, jac=load_slopes),
        options={"ftol": 1e-7},
    )
    state = state_at(found.x)
    if not found.success or state is None:
        raise RuntimeError(f"no best distribution of the loads: {found.message}")
    return torque_of(found.x), state
