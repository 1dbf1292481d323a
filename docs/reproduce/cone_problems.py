"""Problems of contact with friction for siconos.py: random bodies, and ExoMars at a step.

A problem is W = half half^T, the velocity `target` without impulses and the friction of each contact
(models.contact.cones).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from models.contact.cone_solver import Search, search
from models.contact.cones import AXES, make_cones
from models.contact.nonsmooth import make_hard_contacts
from models.gravity import GRAVITY_MPS2
from models.kernels.bound import BoundArguments
from models.kernels.compiled import FloatArray
from models.plant.parameters import OFF
from models.rover import exomars
from models.terrain.profile import FACE, make_profile
from models.vehicle import VehicleModel, make_vehicle_state
from models.vehicle.step import Scene, run_bound

TOLERANCE = 1e-10  # of our residual [m/s], and of Siconos's, which is relative
REPEATS = 5
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
        for _ in range(REPEATS):
            cones.impulse[:n] = one.start
            began = time.perf_counter(), time.thread_time()
            search(made, count, TOLERANCE)
            seconds[i] = min(seconds[i], time.perf_counter() - began[0], time.thread_time() - began[1])
            if seconds[i] > 2e-3:
                break
        impulses.append(cones.impulse[:n].copy())
    return Solved(seconds, impulses)
