"""Acary and others 2013, section 3.1: ExoMars on a slope and at a step, by nonsmooth contact. Writes its page, picture.

With --check it compares the page with what it would write, and writes nothing. Takes seconds.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np
from acary_runs import (
    DT,
    FRICTION,
    HOLD,
    SLOPE,
    STEP_M,
    TIMES,
    Climb,
    Ran,
    energy_made,
    errors,
    masses,
    slope,
    squeezed,
    step,
)
from written_page import write_or_compare

from models.gravity import GRAVITY_MPS2

PAGE = Path(__file__).with_suffix(".md")
PICTURE = PAGE.parent.parent / "images" / "reproduce_acary.png"


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
    """Below the accuracy that is wanted, rounding depends on the processor."""
    return "below 1e-9" if abs(value) < 1e-9 else f"{value:.0e}"


def step_rows(climbs: dict[tuple[float, float], Climb]) -> list[str]:
    """Acary's case straight ahead and at an angle, and with more friction."""
    rows = []
    for (friction, yaw), climb in climbs.items():
        fall, hit = (", ".join(f"{one + 0.0:.2f}" for one in part) for part in (climb.fall, climb.hit))
        ends = climb.high[-1] > 0.9 * STEP_M, climb.bogie > 0.5 * math.pi
        end = "on the step" if ends[0] else "before the step"
        if (friction, yaw) == BY_LAST_DIGITS and any(ends):
            end = "on the step, or a bogie turns over"
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
    right.set(xlabel="time [s]", ylabel="speed of the main body [m/s]", title="Step of 0.1 m, friction 0.6, at 0.1 rad")
    right.legend(loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


BY_LAST_DIGITS = 0.8, 0.1  # friction and angle of a climb whose end depends on them
CLIMBS: tuple[tuple[float, float, float], ...] = (
    (FRICTION, 0.0, 2.0), (FRICTION, 0.1, 2.0), (0.6, 0.0, 6.0), (0.6, 0.1, 6.0), (*BY_LAST_DIGITS, 6.0),
)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(arguments).check
    ran = slope()
    climbs = {(friction, yaw): step(friction, seconds, yaw=yaw) for friction, yaw, seconds in CLIMBS}
    if not check:
        draw(ran, climbs[0.6, 0.1], PICTURE)
    return write_or_compare(PAGE, page(ran, climbs), check=check)


if __name__ == "__main__":
    sys.exit(main())
