"""Acary and others 2013, section 3.1: ExoMars on a slope and at a step, by nonsmooth contact. Writes its page, picture.

With --check it compares the page with what it would write, and writes nothing. Takes seconds.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from written_page import write_or_compare

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

PAGE = Path(__file__).with_suffix(".md")
PICTURE = PAGE.parent.parent / "images" / "reproduce_acary.png"
SLOPE, TIMES = 0.02, (0.0, 50.0, 100.0, 138.61, 180.0, 200.0, 201.0)  # [rad], [s]; the last one is ours
FRICTION, RESTITUTION, STEP_M = 0.35, 0.1, 0.1
DT = 0.002
HOLD = 20  # steps for which a torque is held
HIGH_NM = 40.0  # torque of a wheel in the last phase
TOLERANCE = 1e-10
ROVER = exomars(locks={"steering": 0.0})
WHEELS = [5 + int(body) for body in ROVER.chain.wheel_body]
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
    return Ran(*np.array(rows).T, at, slip, float(drive.hard.residual[0]), int(drive.hard.residual[1]))


class Climb(NamedTuple):
    """The rover at the step.

    Attributes:
        time: (steps,) [s].
        speed: (steps, 3) of the main body, forwards, to port and up [m/s].
        high: (steps,) [m] by which the main body is higher than at the start.
        fall: largest change of speed in a step of the first 0.3 s, forwards, to port and up [m/s].
        hit: the same of the time after it.
        residual: largest [m/s].
        unsolved: steps.
    """

    time: FloatArray
    speed: FloatArray
    high: FloatArray
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
    change, first = np.abs(np.diff(speed, axis=0)), round(0.3 / dt)
    return Climb(
        dt * np.arange(1, steps + 1), speed, high, change[:first].max(0), change[first:].max(0),
        float(drive.hard.residual[0]), int(drive.hard.residual[1]),
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
    cones, after = make_cones(1, 4), make_rebound(law, 1)
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


def slope_rows(ran: Ran) -> list[str]:
    """The six phases, each by its closed form and as it came out."""
    mass, turning = masses()
    pull = GRAVITY_MPS2 * math.sin(SLOPE) * mass / (mass + turning)
    first, third = pull * TIMES[1], TIMES[3] - TIMES[2]
    fifth = first * ((TIMES[5] - TIMES[4]) / third) ** 2
    spin = GRAVITY_MPS2 * (FRICTION * math.cos(SLOPE) - math.sin(SLOPE))
    gained = (ran.at[5] - ran.at[4]) / (TIMES[6] - TIMES[5])
    needed = (2.0 * first / third / GRAVITY_MPS2 + math.sin(SLOPE)) / math.cos(SLOPE)
    late, rim = ran.time > TIMES[5], ran.rim[-1]
    steady = np.ptp(np.diff(ran.speed[late])) / np.diff(ran.speed[late]).mean()
    return [
        f"| 1, 0-50 s | no torque: it rolls without sliding under gravity | {-first:.4f} m/s at the end | "
        f"{ran.at[0]:.4f} m/s | rolls backwards; with massless wheels {-GRAVITY_MPS2 * math.sin(SLOPE) * 50:.2f} |",
        f"| 2, 50-100 s | balancing torque: the speed is constant | {-first:.4f} m/s | {ran.at[1]:.4f} m/s | - |",
        "| 3, 100-138.61 s | torque rises linearly: the speed falls as a square, to a stop | 0, with a ramp of "
        f"{2.0 * first / third**2:.4f} m/s^3 | {_small(ran.at[2])} m/s | the ramp is not printed, it follows from the "
        "stop |",
        f"| 4, 138.61-180 s | balancing torque: at rest | 0 | {_small(ran.at[3])} m/s | - |",
        '| 5, 180-200 s | torque rises linearly "to stop the rover", "similar to the third" | '
        f"{fifth:.3f} m/s with the same ramp | {ran.at[4]:.3f} m/s | it stands already, so it drives off; torque is "
        f"set every {1e3 * HOLD * DT:.0f} ms |",
        '| 6, from 200 s | high torque: wheels spin up, the trunk "does not accelerate anymore" | '
        f"{spin:.3f} m/s^2, g (mu cos - sin) | {gained:.3f} m/s^2, which varies by a share "
        f"{_small(steady)}; rims at {rim:.0f} m/s | the acceleration no longer grows. It would be zero with "
        f"mu = tan 0.02 only, but phase 3 needs mu above {needed:.3f} |",
    ]


def _small(value: float) -> str:
    """A power of ten that it is below; the digits of what rounding leaves depend on the processor."""
    return f"below 1e{math.ceil(math.log10(max(abs(value), 1e-16)))}"


def step_rows(climbs: dict[tuple[float, float], Climb]) -> list[str]:
    """Acary's case straight ahead and at an angle, and with more friction."""
    rows = []
    for (friction, yaw), climb in climbs.items():
        fall, hit = (", ".join(f"{one + 0.0:.2f}" for one in part) for part in (climb.fall, climb.hit))
        end = "on the step" if climb.high[-1] > 0.9 * STEP_M else "before the step"
        rows.append(f"| {friction} | {yaw} | {fall} | {hit} | {end} | {climb.unsolved} of {climb.time.size} |")
    return rows


def page(ran: Ran, climbs: dict[tuple[float, float], Climb]) -> str:
    """The page."""
    slid, used = squeezed()
    worst = max(ran.residual, *(one.residual for one in climbs.values()))
    unsolved = ran.unsolved + sum(one.unsolved for one in climbs.values())
    laws = [
        f"| {law} | {count} of 300 | {f'{100.0 * share:.0f} %' if count else '-'} |"
        for law, (count, share) in ((law, energy_made(law)) for law in ("newton", "poisson", "stronge"))
    ]
    halves = [f"| {1e3 * dt:g} | {1e3 * error:.2f} |" for dt, error in errors()]
    numbers = {
        "phases": slope_rows(ran), "climbs": step_rows(climbs), "laws": laws, "halves": halves,
        "slip": [_small(ran.slip)], "squeezed": [_small(slid)], "used": [f"{100.0 * used:.0f} %"],
        "residual": [_small(worst)], "unsolved": [str(unsolved)], "mass": [f"{masses()[0]:.0f}"],
    }  # fmt: skip
    text = PAGE.with_suffix(".txt").read_text(encoding="utf-8")
    for name, lines in numbers.items():
        text = text.replace(f"{{{name}}}", "\n".join(lines))
    return text


def draw(ran: Ran, climb: Climb, path: Path) -> None:
    """Speeds of both cases; matplotlib is loaded here only."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    left.plot(ran.time, ran.rim, color="tab:orange", label="rims of the wheels")
    left.plot(ran.time, ran.speed, color="tab:blue", label="rover")
    for time in TIMES[1:-1]:
        left.axvline(time, color="0.8", lw=0.8, zorder=0)
    left.set(
        xlabel="time [s]", ylabel="speed up the slope [m/s]", ylim=(-11, 16), title="Slope of 0.02 rad, six phases"
    )
    left.legend(loc="upper left")
    for axis, name in enumerate(("forwards", "to port", "upwards")):
        right.plot(climb.time, climb.speed[:, axis], lw=0.9, label=name)
    high = right.twinx()
    high.plot(climb.time, climb.high, color="0.6", lw=2.0, zorder=0)
    high.set(ylabel="height of the body over its start [m] (grey)", ylim=(-0.12, 0.12))
    right.set(xlabel="time [s]", ylabel="speed of the main body [m/s]", title="Step of 0.1 m, friction 0.8, at 0.1 rad")
    right.legend(loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


CLIMBS: tuple[tuple[float, float, float], ...] = (
    (FRICTION, 0.0, 2.0), (FRICTION, 0.1, 2.0), (0.6, 0.0, 6.0), (0.8, 0.1, 6.0),
)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(arguments).check
    ran = slope()
    climbs = {(friction, yaw): step(friction, seconds, yaw=yaw) for friction, yaw, seconds in CLIMBS}
    if not check:
        draw(ran, climbs[0.8, 0.1], PICTURE)
    return write_or_compare(PAGE, page(ran, climbs), check=check)


if __name__ == "__main__":
    sys.exit(main())
