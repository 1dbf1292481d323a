"""Wheel loads and sinkages of a standing rover, from its bodies, joints and wheels alone: numpy, scipy, quadrature.

Nothing here comes from the models but the rover as data (`models.rover.tree`): positions by rotation matrices, the
balance by virtual work with numerical derivatives, the soil by quadrature of Petersen 2012 (4.25)-(4.26).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import brentq, least_squares
from scipy.spatial.transform import Rotation

from hil.config import Config
from models.rover.tree import Tree

_ROUNDS, _STEP = 30, 1e-6
Array = NDArray[np.float64]


class StandingEquations(NamedTuple):
    """A rover at rest: load [N] and sinkage [m] of each wheel."""

    load_N: Array
    sinkage_m: Array


def tree_of(config: Config) -> Tree:
    """The rover with its payload, steering locked as a rig locks it."""
    parameters = config.rover.parameters()
    tree = parameters.tree().with_locks(dict.fromkeys(parameters.rig_locks(), 0.0))
    load = config.rover.payload
    if load.mass_kg:
        tree = tree.with_load("payload", load.mass_kg, (1.0, 1.0, 1.0), (load.x_m, load.y_m, load.z_m))
    return tree


def weight_N(config: Config) -> float:
    """Weight along the ground's normal, less what a constant drawbar lifts: it pulls straight back, so nothing."""
    cosine = math.cos(math.radians(config.ground.pitch_deg)) * math.cos(math.radians(config.ground.roll_deg))
    return sum(body.mass for body in tree_of(config).bodies) * config.ground.gravity_mps2 * cosine


def at_rest(config: Config) -> StandingEquations | None:
    """The rover on level ground with free joints; None where its loads depend on more than its weight.

    That is on a slope, where wheels that are held share the downhill force as they came to rest; with friction in the
    cylinders, or a drawbar; and with a wheel that bears nothing.
    """
    if config.ground.pitch_deg or config.ground.roll_deg or config.rover.drawbar.pull_N:
        return None
    if config.cylinders.friction is not None and config.layout.cylinders:
        return None
    if config.ground.kind == "soil" and config.wheel.variant not in ("exact", "tire_3"):
        return None
    tree = tree_of(config)
    free = _free_joints(tree)
    if len(free) + 3 != len(tree.wheels):
        return None
    heights = np.array(config.ground.wheel_height_m or (0.0,) * len(tree.wheels))
    pose, sinkage = np.zeros(3 + len(free)), np.zeros(len(tree.wheels))
    load = sinkage
    for _ in range(_ROUNDS):
        before, load = load, config.ground.gravity_mps2 * _balance(tree, free, pose)
        if load.min() <= 0.0:
            return None
        sinkage = np.array(
            [_sinkage_m(config, wheel.width, force) for wheel, force in zip(tree.wheels, load, strict=True)]
        )
        lowest = config.wheel_radius_m - sinkage + heights
        pose = least_squares(lambda one, z=lowest: _wheel_heights(tree, free, one) - z, pose, xtol=1e-14).x
        if np.abs(load - before).max() < 1e-6:
            break
    return StandingEquations(load, sinkage)


def _free_joints(tree: Tree) -> list[str]:
    """Joints that move a wheel and are not its axle, are not locked, and do not depend on another."""
    axles = {joint.name for joint in tree.joints if joint.child in {wheel.body for wheel in tree.wheels}}
    coupled = {coupling.joint for coupling in tree.couplings}
    return [one.name for one in tree.joints if one.locked_at is None and one.name not in axles | coupled]


def _centres(tree: Tree, free: list[str], pose: Array) -> dict[str, tuple[Array, Array]]:
    """Origin and rotation of each body; `pose`: height, roll and pitch of the base, then the free joints."""
    angles = dict(zip(free, pose[3:], strict=True))
    for coupling in tree.couplings:
        angles[coupling.joint] = coupling.offset + sum(
            ratio * angles.get(name, 0.0) for name, ratio in coupling.sources
        )
    base = Rotation.from_euler("yx", [pose[2], pose[1]]).as_matrix()
    found = {tree.bodies[0].name: (np.array([0.0, 0.0, pose[0]]), base)}
    waiting = list(tree.joints)
    while waiting:
        joint = waiting.pop(0)
        if joint.parent not in found:
            waiting.append(joint)
            continue
        origin, turned = found[joint.parent]
        angle = angles.get(joint.name, 0.0) if joint.locked_at is None else joint.locked_at
        own = Rotation.from_rotvec(angle * np.array(joint.axis)).as_matrix()
        found[joint.child] = (origin + turned @ np.array(joint.origin), turned @ own)
    return found


def _wheel_heights(tree: Tree, free: list[str], pose: Array) -> Array:
    centres = _centres(tree, free, pose)
    return np.array([centres[wheel.body][0][2] for wheel in tree.wheels])


def _moment_of_heights(tree: Tree, free: list[str], pose: Array) -> float:
    """Mass times height, of all bodies [kg m]: potential energy over gravity."""
    centres = _centres(tree, free, pose)
    total = 0.0
    for body in tree.bodies:
        origin, turned = centres[body.name]
        total += body.mass * float((origin + turned @ np.array(body.com))[2])
    return total


def _balance(tree: Tree, free: list[str], pose: Array) -> Array:
    """Loads over gravity [kg] whose virtual work is that of the weight, for each motion of base and joints."""
    rows, right = [], []
    for motion in np.eye(len(pose)) * _STEP:
        rows.append(
            (_wheel_heights(tree, free, pose + motion) - _wheel_heights(tree, free, pose - motion)) / (2 * _STEP)
        )
        right.append(
            (_moment_of_heights(tree, free, pose + motion) - _moment_of_heights(tree, free, pose - motion))
            / (2 * _STEP)
        )
    return np.linalg.solve(np.array(rows), np.array(right))


def _sinkage_m(config: Config, width_m: float, load_N: float) -> float:
    if config.ground.kind == "soil":
        return float(
            brentq(lambda z: _soil_N(config, width_m, z) - load_N, 1e-12, 0.99 * config.wheel_radius_m, xtol=1e-13)
        )
    if config.ground.kind == "firm":
        return float((load_N / config.ground.stiffness) ** (1.0 / config.ground.exponent))
    return 0.0


def _soil_N(config: Config, width_m: float, z: float) -> float:
    """Vertical force of the soil at a sinkage [N].

    p = k f^n of every column before the lowest point, where the column is f deep; behind it the soil springs back by
    gamma, and p = k z^(n-1)/gamma (f - (1 - gamma) z) where it still touches.
    """
    soil, radius = config.soil, config.wheel_radius_m

    def depth(x: float) -> float:
        return math.sqrt(max(radius * radius - x * x, 0.0)) - (radius - z)

    ahead = math.sqrt(z * (2.0 * radius - z))
    behind = math.sqrt(soil.rebound * z * (2.0 * radius - soil.rebound * z))
    # x = reach sin(w): the branch point at the end of the contact
    front = quad(
        lambda w: max(depth(ahead * math.sin(w)), 0.0) ** soil.exponent * ahead * math.cos(w), 0.0, math.pi / 2,
        epsrel=1e-9, limit=200,
    )[0]  # fmt: skip
    rear = quad(
        lambda x: max(depth(x) - (1.0 - soil.rebound) * z, 0.0), 0.0, behind, epsrel=1e-9, limit=200
    )[0]  # fmt: skip
    return soil.stiffness * width_m * (front + z ** (soil.exponent - 1.0) / soil.rebound * rear)
