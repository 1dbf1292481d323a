"""Problems of contact with friction for siconos.py: random bodies, ExoMars at a step, and one body that falls.

A problem is W = half half^T, the velocity `target` without impulses and the friction of each contact
(models.contact.cones).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from models.contact.cone_solver import Search, search, solve_cones
from models.contact.cones import AXES, Cones, make_cones
from models.contact.nonsmooth import make_hard_contacts
from models.gravity import GRAVITY_MPS2
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, kernel
from models.plant.parameters import OFF
from models.rover import exomars
from models.terrain.profile import FACE, make_profile
from models.vehicle import VehicleModel, make_vehicle_state
from models.vehicle.step import Scene, run_bound

TOLERANCE = 1e-10  # of our residual [m/s], and of Siconos's, which is relative
REPEATS = 5
PASSES = 3  # of a motion
MOST = 18  # contacts
MASS = np.array([120.0, 120.0, 120.0, 20.0, 25.0, 15.0])  # of a body, [kg] and [kg m^2]


class Problem(NamedTuple):
    """Contacts of one step; see above.

    Attributes:
        half: (3 contacts, speeds).
        target: (3 contacts,) [m/s].
        friction: (contacts,).
        start: (3 contacts,) impulses where the search begins [N s].
    """

    half: FloatArray
    target: FloatArray
    friction: FloatArray
    start: FloatArray


class Solved(NamedTuple):
    """What a solver made of problems.

    Attributes:
        seconds: (problems,) of each.
        impulses: of each, [N s].
    """

    seconds: FloatArray
    impulses: list[FloatArray]


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


def rows_at(place: FloatArray, normal: FloatArray) -> FloatArray:
    """(3, 6) rows of a contact of a body: normal, then two tangents."""
    along = np.cross(normal, (1.0, 0.0, 0.0))
    along /= np.linalg.norm(along)
    return np.array([np.r_[axis, np.cross(place, axis)] for axis in (normal, along, np.cross(normal, along))])


def random_problem(contacts: int, rng: np.random.Generator) -> Problem:
    """A rigid body that falls onto contacts below it; upwards is a way out for all, so that a solution exists."""
    alike = rng.random() < 0.5
    friction = np.full(contacts, rng.uniform(0.05, 1.0)) if alike else rng.uniform(0.05, 1.2, contacts)
    rows = np.zeros((AXES * contacts, 6))
    for c in range(contacts):
        place, normal = rng.uniform((-1.0, -1.0, -0.6), (1.0, 1.0, -0.3)), np.zeros(3)
        while not normal[2] > friction[c] * math.hypot(normal[0], normal[1]) + 0.02:
            normal = rng.normal((0.0, 0.0, 1.5))
            normal /= np.linalg.norm(normal)
        rows[AXES * c : AXES * c + AXES] = rows_at(place, normal)
    speed = rng.normal(size=6) * (0.3, 0.3, 0.3, 0.5, 0.5, 0.5) - (0.0, 0.0, 0.1, 0.0, 0.0, 0.0)
    return Problem(rows / np.sqrt(MASS), rows @ speed, friction, np.zeros(AXES * contacts))


def rover_problems(steps: int, every: int) -> Iterator[Problem]:
    """Steps of ExoMars that is driven against a step of 0.1 m with friction 0.6, after a fall of 20 mm."""
    rover = exomars(locks={"steering": 0.0})
    profile = make_profile([(-5.0, 0.0), (0.85, 0.0), (0.85, 0.1), (6.0, 0.1)], 0.6, 0.1)
    hard = make_hard_contacts(rover, profile)
    vehicle = VehicleModel(rover.chain, None, OFF, None, np.array((0.0, 0.0, -GRAVITY_MPS2)), hard=hard)
    state = make_vehicle_state(rover)
    state.q[2] = 0.02
    wheels = [5 + int(body) for body in rover.chain.wheel_body]
    scene = BoundArguments(Scene(vehicle, state))
    for k in range(steps):
        slow = state.v[wheels] * rover.chain.wheel_radius[0] < 0.3
        state.torque[wheels] = np.where(slow, 40.0, 0.0)
        kept = hard.kept.copy()
        hard.cones.friction[:] = math.nan  # a step fills as many as it has contacts
        run_bound(scene, 1, 1e-3)
        count = int(np.isfinite(hard.cones.friction).sum())
        if k % every == 0 and count > 0:
            n, face = AXES * count, hard.place[:count, FACE].astype(np.int64)
            start = kept[hard.wheel[:count], face].ravel()
            yield Problem(
                hard.cones.half[:n].copy(), hard.cones.target[:n].copy(), hard.cones.friction[:count].copy(), start
            )


def residual(problem: Problem, impulse: FloatArray) -> float:
    """Largest natural map [m/s] of a contact, of anybody's impulses: see models.contact.cones.residual_of.

    Written without that kernel, so that it is a check of both solvers.
    """
    matrix, mu, r = problem.half @ problem.half.T, problem.friction, impulse.reshape(-1, AXES)
    u = (matrix @ impulse + problem.target).reshape(-1, AXES)
    weight = np.diag(matrix).reshape(-1, AXES).mean(1)
    u[:, 0] += mu * np.hypot(u[:, 1], u[:, 2])
    aim = r - u / weight[:, np.newaxis]
    slide = np.hypot(aim[:, 1], aim[:, 2])
    onto = np.maximum(aim[:, 0] + mu * slide, 0.0) / (1.0 + mu * mu)
    share = np.divide(mu * onto, slide, out=np.zeros_like(mu), where=slide > 0.0)
    nearest = np.column_stack((onto, share * aim[:, 1], share * aim[:, 2]))
    nearest[slide <= mu * aim[:, 0]] = aim[slide <= mu * aim[:, 0]]
    nearest[aim[:, 0] <= -mu * slide] = 0.0
    worst = float((np.linalg.norm(r - nearest, axis=1) * weight).max())
    return worst if math.isfinite(worst) else math.inf


def solved_here(problems: list[Problem]) -> Solved:
    """Our solver, called from Python as Siconos's is, with the problem made before; seconds, the shortest of some."""
    seconds, impulses = np.full(len(problems), math.inf), []
    for i, one in enumerate(problems):
        count, (n, speeds) = len(one.friction), one.half.shape
        cones = make_cones(MOST, speeds)
        cones.half[:n], cones.target[:n], cones.friction[:count] = one.half, one.target, one.friction
        made = BoundArguments(Search(cones, np.zeros(1)))
        search(made, 0, TOLERANCE)  # compiles
        for turn in range(REPEATS):
            cones.impulse[:n] = one.start
            began = time.perf_counter()
            search(made, count, TOLERANCE)
            seconds[i] = min(seconds[i], time.perf_counter() - began)
            if turn > 0 and seconds[i] > 2e-3:
                break
        impulses.append(cones.impulse[:n].copy())
    return Solved(seconds, impulses)


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
