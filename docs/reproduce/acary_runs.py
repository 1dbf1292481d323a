"""What acary.py runs: ExoMars on a slope and at a step, wheels that push against one another, impacts.

Speeds are those of the main body in its own axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from models.contact.cone_solver import solve_cones
from models.contact.cones import AXES, make_cones
from models.contact.nonsmooth import make_hard_contacts
from models.contact.rebound import NEWTON, make_rebound, rebound
from models.gravity import GRAVITY_MPS2
from models.kernels.bound import BoundArguments
from models.kernels.compiled import FloatArray
from models.plant.parameters import OFF
from models.rover import exomars
from models.rover.dynamics import fill_mass_matrix, make_work, place_bodies
from models.terrain.profile import make_profile
from models.vehicle import VehicleModel, make_vehicle_state
from models.vehicle.step import Scene, run_bound

SLOPE, TIMES = 0.02, (0.0, 50.0, 100.0, 138.61, 180.0, 200.0, 201.0)  # [rad], [s]; the last one is ours
FRICTION, RESTITUTION, STEP_M = 0.35, 0.1, 0.1
DT = 0.002
HOLD = 20  # steps for which a torque is held
HIGH_NM = 40.0  # torque of a wheel in the last phase
TOLERANCE = 1e-10
ROVER = exomars(locks={"steering": 0.0})
WHEELS = [5 + int(body) for body in ROVER.chain.wheel_body]
BOGIES = [7 + k for k, name in enumerate(ROVER.joint_names) if name.endswith("bogie")]
RADIUS = float(ROVER.chain.wheel_radius[0])
LEVEL = ((-1500.0, 0.0), (1500.0, 0.0))
FACE = ((-5.0, 0.0), (0.85, 0.0), (0.85, STEP_M), (6.0, STEP_M))


class Drive:
    """The rover on a profile; a slope is gravity that is tilted back. Speeds are those of the main body's frame."""

    def __init__(self, points: Sequence[tuple[float, float]], friction: float, *, slope: float = 0.0) -> None:
        self.hard = make_hard_contacts(ROVER, make_profile(list(points), friction, RESTITUTION))
        gravity = np.array((-GRAVITY_MPS2 * math.sin(slope), 0.0, -GRAVITY_MPS2 * math.cos(slope)))
        self.vehicle = VehicleModel(ROVER.chain, None, OFF, None, gravity, hard=self.hard)
        self.state = make_vehicle_state(ROVER)
        self.scene = BoundArguments(Scene(self.vehicle, self.state))

    def run(self, steps: int, dt: float, torque: float | FloatArray) -> None:
        """Take steps with a torque of each wheel."""
        self.state.torque[WHEELS] = torque
        run_bound(self.scene, steps, dt)

    @property
    def speed(self) -> float:
        """Along the slope [m/s]."""
        return float(self.state.v[0])

    @property
    def slip(self) -> float:
        """Largest sliding speed of a wheel along the slope [m/s]."""
        return float(np.abs(self.state.v[WHEELS] * RADIUS - self.state.v[0]).max())


class Ran(NamedTuple):
    """The six phases.

    Attributes:
        time: (samples,) [s].
        speed: of the rover [m/s].
        rim: mean of the wheels' rims [m/s].
        torque: of a wheel [N m].
        at: speed at the end of each phase.
        slip: largest sliding speed within the phases without sliding.
        residual: largest [m/s].
        unsolved: steps.
    """

    time: FloatArray
    speed: FloatArray
    rim: FloatArray
    torque: FloatArray
    at: list[float]
    slip: float
    residual: float
    unsolved: int


def masses() -> tuple[float, float]:
    """Mass of the rover, and what the wheels' turning adds to it [kg]."""
    work = make_work(ROVER.chain)
    place_bodies(ROVER.chain, make_vehicle_state(ROVER).q, work)
    fill_mass_matrix(ROVER.chain, work)
    return float(work.mass_matrix[0, 0]), sum(float(work.mass_matrix[one, one]) for one in WHEELS) / RADIUS**2


def slope() -> Ran:
    """All phases. The ramp of the third is the one that stops the rover; the fifth has the same."""
    mass, turning = masses()
    drive, balance = Drive(LEVEL, FRICTION, slope=SLOPE), mass * GRAVITY_MPS2 * math.sin(SLOPE) * RADIUS / len(WHEELS)
    rows, at, slip, ramp = [], [], 0.0, 0.0
    hold = HOLD * DT
    for phase, (begin, end) in enumerate(pairwise(TIMES)):
        count = round((end - begin) / hold)
        if phase == 2:
            summed = hold * hold * count * (count - 1) / 2.0  # of the times at which the torque is set
            ramp = -drive.speed * (mass + turning) * RADIUS / len(WHEELS) / summed
        for k in range(count):
            torque = (0.0, balance, balance + ramp * k * hold, balance, balance + ramp * k * hold, HIGH_NM)[phase]
            drive.run(HOLD, DT, torque)
            if k % 5 == 4:
                rim = float(drive.state.v[WHEELS].mean()) * RADIUS
                rows.append((begin + (k + 1) * hold, drive.speed, rim, torque))
                slip = max(slip, drive.slip if phase < 5 else 0.0)
        at.append(drive.speed)
    time, speed, rims, torques = np.array(rows).T
    return Ran(time, speed, rims, torques, at, slip, float(drive.hard.residual[0]), int(drive.hard.residual[1]))


class Climb(NamedTuple):
    """The rover at the step.

    Attributes:
        time: (steps,) [s].
        speed: (steps, 3) of the main body, forwards, to port and up [m/s].
        high: (steps,) [m] by which the main body is higher than at the start.
        bogie: largest angle of a bogie at the end [rad].
        fall: largest change of speed in a step of the first 0.3 s, forwards, to port and up [m/s].
        hit: the same of the time after it, to 1 s: which impacts follow depends on the last digits.
        residual: largest [m/s].
        unsolved: steps.
    """

    time: FloatArray
    speed: FloatArray
    high: FloatArray
    bogie: float
    fall: FloatArray
    hit: FloatArray
    residual: float
    unsolved: int


def step(friction: float, seconds: float, *, yaw: float = 0.0, fall: float = 0.02, dt: float = 1e-3) -> Climb:
    """It falls, then drives against the step at 0.3 m/s."""
    drive, steps = Drive(FACE, friction), round(seconds / dt)
    q, v = drive.state.q, drive.state.v
    q[2], q[5], q[6] = fall, math.sin(0.5 * yaw), math.cos(0.5 * yaw)
    speed, high = np.zeros((steps, 3)), np.zeros(steps)
    for k in range(steps):
        slow = v[WHEELS] * RADIUS < 0.3
        drive.run(1, dt, np.where(slow & (k * dt > 0.3), 40.0, 0.0))
        speed[k], high[k] = v[:3], q[2]
    change, first, last = np.abs(np.diff(speed, axis=0)), round(0.3 / dt), round(1.0 / dt)
    return Climb(
        dt * np.arange(1, steps + 1, dtype=np.float64), speed, high, float(np.abs(q[BOGIES]).max()),
        change[:first].max(0), change[first:last].max(0), float(drive.hard.residual[0]),
        int(drive.hard.residual[1]),
    )  # fmt: skip


def errors() -> list[tuple[float, float]]:
    """Step [s], and how far place and height are from those of a step of 0.125 ms, after a drive against the step."""

    def place(dt: float) -> FloatArray:
        drive = Drive(FACE, 0.6)
        drive.state.q[2] = 0.02
        drive.run(round(0.4 / dt), dt, 0.0)
        drive.run(round(0.3 / dt), dt, 25.0)
        return drive.state.q[:3].copy()

    best = place(1.25e-4)
    return [(dt, float(np.linalg.norm(place(dt) - best))) for dt in (4e-3, 2e-3, 1e-3, 5e-4)]


def squeezed() -> tuple[float, float]:
    """Front and rear wheels push against one another with 4 N m for 2 s: sliding speed [m/s], and share of mu used."""
    drive, torque = Drive(LEVEL, FRICTION), np.zeros(len(WHEELS))
    for k, name in enumerate(ROVER.wheel_names):
        torque[k] = {"front": 4.0, "rear": -4.0}.get(name.split("_")[0], 0.0)
    drive.run(1000, 2e-3, torque)
    pull, load = np.abs(drive.state.ground.pull), drive.state.ground.vertical
    return drive.slip, float((pull / load).max() / FRICTION)


def energy_made(law: str, impacts: int = 300) -> tuple[int, float]:
    """In how many random impacts with friction a law makes energy, and the median share that these make.

    Of a mechanism with four speeds, e = 0.8 and mu from 0.1 to 1.5, whose normal impulse also turns the sliding round.
    """
    rng, shares = np.random.default_rng(1), []
    cones = make_cones(1, 4)
    after = make_rebound(law, cones)
    for _ in range(impacts):
        rows, v = rng.normal(size=(AXES, 4)), rng.normal(size=4)
        rows[1] += 1.5 * rows[0]
        v *= -math.copysign(1.0, float(rows[0] @ v))
        closing = -float(rows[0] @ v)
        cones.half[:], cones.target[:], cones.friction[:] = rows, rows @ v, rng.uniform(0.1, 1.5)
        cones.impulse[:] = 0.0
        if after.law == NEWTON:
            cones.target[0] -= 0.8 * closing
        solve_cones(cones, 1, TOLERANCE)
        if after.law != NEWTON:
            after.closing[:], after.restitution[:] = closing, 0.8
            rebound(cones, 1, after, TOLERANCE)
        ended = v + rows.T @ cones.impulse
        made = float(ended @ ended) / float(v @ v) - 1.0
        shares.extend([made] if made > 1e-9 else [])
    return len(shares), float(np.median(shares)) if shares else 0.0
