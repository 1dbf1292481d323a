"""A body that falls onto feet, for siconos.py: the motion by our scheme and solver, and what is left over in each step.

It is linear, so that both integrators have the same equations.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
from cone_problems import MASS, TOLERANCE, Problem, residual, rows_at

from models.contact.cone_solver import solve_cones
from models.contact.cones import AXES, Cones, make_cones
from models.gravity import GRAVITY_MPS2
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, kernel

PASSES = 3  # of a motion


class Fall(NamedTuple):
    """A body of `MASS` above level ground: linear motion, so that both integrators have the same equations.

    Attributes:
        rows: (3 contacts, 6) Jacobian.
        speed: (6,) at the beginning.
        gap: [m] of all contacts.
        friction: Coulomb's.
        restitution: Newton's.
        dt: [s].
        theta: of Moreau's and Jean's scheme.
    """

    rows: FloatArray
    speed: FloatArray
    gap: float = 0.01
    friction: float = 0.35
    restitution: float = 0.1
    dt: float = 1e-3
    theta: float = 0.5


class Ran(NamedTuple):
    """Motion of a fall.

    Attributes:
        states: (steps, 12) place and speed.
        impulses: (steps, 3 contacts) [N s].
        step_s: median of a step [s].
        slowest_s: the 99th percentile [s].
    """

    states: FloatArray
    impulses: FloatArray
    step_s: float
    slowest_s: float


def falling(contacts: int, tilt: float) -> Fall:
    """A body that falls 10 mm while it slides and turns, on feet in one plane.

    Args:
        contacts: feet.
        tilt: of the ground below each foot [rad, of a foot at 1 m]: it rises outwards; 0: level.
    """
    rng = np.random.default_rng(contacts)
    feet = np.column_stack((rng.uniform(-1.0, 1.0, (contacts, 2)), np.full(contacts, -0.4)))
    uneven = 0.5 * tilt * rng.normal(size=(contacts, 2))
    normals = np.column_stack((uneven - tilt * feet[:, :2], np.ones(contacts)))
    normals /= np.linalg.norm(normals, axis=1)[:, np.newaxis]
    rows = np.concatenate([rows_at(foot, normal) for foot, normal in zip(feet, normals, strict=True)])
    return Fall(rows, np.array([0.3, 0.1, -0.5, 0.2, -0.1, 0.3]))


class Falling(NamedTuple):
    """A body that falls, for the kernel that takes its steps.

    Attributes:
        cones: for its contacts.
        rows: (3 contacts, 6) Jacobian.
        root: (6,) of its masses.
        state: (12,) place and speed.
        impulse: (3 contacts,) of the newest step [N s].
        active: (contacts,) number in the problem of that step, or -1.
        gap, friction, restitution, theta: as of Fall.
    """

    cones: Cones
    rows: FloatArray
    root: FloatArray
    state: FloatArray
    impulse: FloatArray
    active: FloatArray
    gap: float
    friction: float
    restitution: float
    theta: float


@kernel
def _step(bound: BoundArguments[Falling], steps: int, dt: float) -> None:
    """Steps of Moreau's and Jean's scheme."""
    body = unpack(bound)
    for _ in range(steps):
        count = _aim(body, dt)
        if count > 0:
            solve_cones(body.cones, count, TOLERANCE)
        _move(body, count, dt)


@kernel
def _aim(body: Falling, dt: float) -> int:
    """Contacts that close within half of the step, as Siconos chooses them; returns how many."""
    cones, rows, state, count = body.cones, body.rows, body.state, 0
    for c in range(body.active.size):
        place = speed = 0.0
        for a in range(6):
            place += rows[AXES * c, a] * state[a]
            speed += rows[AXES * c, a] * state[6 + a]
        body.active[c] = -1.0
        if body.gap + place + 0.5 * dt * speed <= 0.0:
            body.active[c] = count
            cones.friction[count] = body.friction
            for k in range(AXES):
                i, j, free = AXES * count + k, AXES * c + k, 0.0
                for a in range(6):
                    cones.half[i, a] = rows[j, a] / body.root[a]
                    free += rows[j, a] * state[6 + a]
                free -= rows[j, 2] * dt * GRAVITY_MPS2
                cones.target[i] = free + body.restitution * speed if k == 0 else free
                cones.impulse[i] = body.impulse[j]
            count += 1
    return count


@kernel
def _move(body: Falling, count: int, dt: float) -> None:
    cones, state, theta = body.cones, body.state, body.theta
    for a in range(6):
        before, change = state[6 + a], -dt * GRAVITY_MPS2 if a == 2 else 0.0
        for i in range(AXES * count):
            change += cones.half[i, a] / body.root[a] * cones.impulse[i]
        state[6 + a] = before + change
        state[a] += dt * (theta * state[6 + a] + (1.0 - theta) * before)
    for c in range(body.active.size):
        for k in range(AXES):
            number = int(body.active[c])
            body.impulse[AXES * c + k] = cones.impulse[AXES * number + k] if number >= 0 else 0.0


def left_over(fall: Fall, ran: Ran) -> FloatArray:
    """Residual [m/s] of each step of anybody's motion, from its states and impulses alone."""
    half = fall.rows / np.sqrt(MASS)
    before, left = np.r_[np.zeros(6), fall.speed], np.zeros(len(ran.states))
    for k, (after, impulse) in enumerate(zip(ran.states, ran.impulses, strict=True)):
        speed = (fall.rows @ before[6:])[::AXES]
        closed = fall.gap + (fall.rows @ before[:6])[::AXES] + 0.5 * fall.dt * speed <= 0.0
        if closed.any():
            used = np.repeat(closed, AXES)
            rows, r, velocity = half[used], impulse[used], fall.rows[used] @ after[6:]
            velocity[::AXES] += fall.restitution * speed[closed]
            friction = np.full(int(closed.sum()), fall.friction)
            left[k] = residual(Problem(rows, velocity - rows @ (rows.T @ r), friction, r), r)
        before = after
    return left


def fallen_here(fall: Fall, steps: int) -> Ran:
    """Our scheme and solver, as one kernel that Python calls in each step."""
    n = len(fall.rows)
    states, impulses, seconds = np.zeros((steps, 12)), np.zeros((steps, n)), np.full(steps, math.inf)
    for _ in range(PASSES):  # the first compiles
        body = Falling(
            make_cones(n // AXES, 6), fall.rows, np.sqrt(MASS), np.r_[np.zeros(6), fall.speed], np.zeros(n),
            np.zeros(n // AXES), fall.gap, fall.friction, fall.restitution, fall.theta,
        )  # fmt: skip
        bound = BoundArguments(body)
        for k in range(steps):
            began = time.perf_counter()
            _step(bound, 1, fall.dt)
            seconds[k] = min(seconds[k], time.perf_counter() - began)
            states[k], impulses[k] = body.state, body.impulse
    return Ran(states, impulses, float(np.median(seconds)), float(np.percentile(seconds, 99)))
