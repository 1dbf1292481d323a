"""Loads of a rover that drives steadily over soil: equilibrium with the tractions that its wheels have at those loads.

What an experiment measures its controller against, so it shares no code with the controller's program: the forces of
the wheels are solved for anew, and the optimum is found by scipy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, NonlinearConstraint, brentq, minimize

from models.contact.ground import Ground
from models.contact.ruts import NOBODY
from models.kernels.compiled import FloatArray
from models.rover import Rover
from models.rover.rover import EARTH_GRAVITY
from models.statics.pull import wheel_on_soil
from models.statics.statics import RoverStatics, traction_wrenches
from models.terrain import Slope, Terrain
from models.wheel import rut
from models.wheel.kernels import RADIUS

_LEVEL = Slope((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# Loads and tractions settle by a factor of 5 or more each round; so many rounds at most, to this change [N].
_ROUNDS, _SETTLED_N = 20, 1e-6


class Driving(NamedTuple):
    """Steady state of the wheels (wheels,): load, net pull [N], and the sum of the pulls [N]."""

    load: FloatArray
    pull: FloatArray
    drawbar: float


class SteadyDrive:
    """Equilibrium of a rover at constant speed on soil.

    Args:
        rover: as it stands, with payload and grousers.
        q: its configuration (nq,), settled.
        ground: soil; its ruts count as those of the wheels ahead under their present loads.
        terrain: None is level.
        gravity: [m/s^2], world axes.
        drawbar_place: (3,) of the pull backwards that balances the wheels' [m], base axes.
    """

    def __init__(
        self,
        rover: Rover,
        q: FloatArray,
        ground: Ground,
        terrain: Terrain = None,
        gravity: Sequence[float] = EARTH_GRAVITY,
        drawbar_place: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        self._rover, self._q, self._ground, self._gravity = rover, q, ground, np.array(gravity)
        self._slope, self._place = terrain or _LEVEL, np.array(drawbar_place)
        self._statics = RoverStatics(rover)
        wheels = len(rover.wheel_names)
        self._ahead = [NOBODY] * wheels if ground.ruts is None else ground.ruts.ahead.tolist()
        self._mass = float(rover.mass_matrix(rover.neutral())[0, 0])

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints, in the order of every vector by joint."""
        return self._statics.joint_names

    def at(self, torque: FloatArray, slip: float) -> Driving:
        """The state with torques (joints,) [N m] on the joints and one slip of all wheels.

        Across the slope the wheels hold the rover in proportion to their loads. The drawbar takes what the wheels pull
        beyond the slope.
        """
        wheels = len(self._ahead)
        normal, weight = np.array(self._slope.normal), self._mass * self._gravity
        across, along = -float(weight @ self._slope.left), -float(weight @ self._slope.ahead)
        load = np.full(wheels, -(weight @ normal) / wheels)
        for _ in range(_ROUNDS):
            _, pull, tractive = np.array(self._wheels(load, slip)).T
            force = np.array([along - pull.sum(), 0.0, 0.0])
            wrenches = traction_wrenches(
                self._rover, normal, pull, tractive * self._rover.chain.wheel_radius, across * load / load.sum(),
                self._slope.ahead,
            )  # fmt: skip
            drawbar = np.concatenate([force, np.cross(self._place, force)])
            before, load = load, self._statics.loads(self._q, torque, normal, self._gravity.tolist(), wrenches, drawbar)
            if load.min() <= 0.0 or np.abs(load - before).max() < _SETTLED_N:
                break  # settled, or a wheel lifts off: then there is no steady state with all on the ground
        return Driving(load, pull, float(pull.sum()))

    def _wheels(self, load: FloatArray, slip: float) -> list[tuple[float, float, float]]:
        """Sinkage, net pull and tractive force of each wheel under its load."""
        found: list[tuple[float, float, float]] = []
        left: list[float] = []
        for wheel, ahead in enumerate(self._ahead):
            before = 0.0 if ahead == NOBODY else left[ahead]
            found.append(wheel_under_load(self._ground.wheel, float(load[wheel]), before, slip))
            left.append(max(before, found[-1][0]))
        return found


def wheel_under_load(p: FloatArray, load: float, rut_depth: float, slip: float) -> tuple[float, float, float]:
    """Sinkage [m], net pull and tractive force [N] of a wheel under a load [N], in a rut of that depth [m], 0: none."""
    sinkage = brentq(
        lambda z: wheel_on_soil(p, z, rut_depth, slip)[0] - load, rut.ground(p, rut_depth), 0.9 * p[RADIUS], xtol=1e-12
    )
    return (sinkage, *wheel_on_soil(p, sinkage, rut_depth, slip)[1:])


def spread_of(load: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
    """Standard deviation of the wheels' loads over their mean; loads (..., wheels) [N], result (...)."""
    return np.asarray(load.std(axis=-1) / load.mean(axis=-1))


def best_torques(
    cost: Callable[[Driving], float],
    drive: SteadyDrive,
    slip: float,
    joints: Sequence[str],
    most_torque: float,
    least_load: float = 0.0,
) -> tuple[FloatArray, Driving]:
    """Torques (joints of the rover,) of the cylinders that make a cost least, and the state with them.

    Args:
        cost: such as `lambda state: float(spread_of(state.load))`, or `lambda state: -state.drawbar`.
        drive: the rover and its ground.
        slip: of all wheels.
        joints: those with a cylinder; the others have no torque.
        most_torque: either way [N m].
        least_load: of each wheel [N].

    Raises:
        RuntimeError: no optimum was found.
    """
    column = [drive.joint_names.index(name) for name in joints]
    known: dict[bytes, Driving] = {}  # cost and constraint are asked at the same places

    def torque_of(part: FloatArray) -> FloatArray:
        torque = np.zeros(len(drive.joint_names))
        torque[column] = part * most_torque
        return torque

    def state_at(part: FloatArray) -> Driving:
        key = part.tobytes()
        if key not in known:
            known[key] = drive.at(torque_of(part), slip)
        return known[key]

    passive = np.zeros(len(column))
    scale = max(abs(cost(state_at(passive))), 1e-3)

    def scaled_cost(part: FloatArray) -> float:
        return cost(state_at(part)) / scale

    def scaled_loads(part: FloatArray) -> FloatArray:
        return state_at(part).load / 100.0

    found = minimize(
        scaled_cost,
        passive,
        method="SLSQP",
        bounds=Bounds(-1.0, 1.0),
        constraints=NonlinearConstraint(scaled_loads, least_load / 100.0, np.inf),
        options={"ftol": 1e-9, "eps": 1e-4},
    )
    if not found.success:
        raise RuntimeError(f"no best distribution of the loads: {found.message}")
    return torque_of(found.x), state_at(found.x)
