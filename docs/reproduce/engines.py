"""Whole simulations of ExoMars on a slope and at a step by MuJoCo and Bullet beside ours, as Acary 2013 announces.

Run: python docs/reproduce/engines.py [--check]

Writes docs/reproduce/engines.md. With --check it writes nothing, and prints the lines that differ.
Without pybullet (no part of this project: python -m pip install pybullet) the rows of Bullet stay as they are.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from acary_runs import FRICTION, HIGH_NM, RADIUS, SLOPE, STEP_M, masses
from engine_rovers import LEVEL, STEP, Bullet, Engine, MuJoCo, Ours, Scene
from written_page import page_script

from models.gravity import GRAVITY_MPS2

PAGE = Path(__file__).with_suffix(".md")
FALL_M, STEP_DT = 0.02, 0.001
# Torque of a wheel at which all wheels slide [N m]; a body that has risen by so much rears up [m].
SPIN_NM, REARS_M = 24.0, 0.02
# What a row is named, and what makes its engine.
ENGINES: dict[str, Callable[[Scene], Engine]] = {
    "ours, nonsmooth": Ours,
    "MuJoCo, as it is": partial(MuJoCo, hard=False),
    "MuJoCo, hard": partial(MuJoCo, hard=True),
    "MuJoCo, hard, spheres": partial(MuJoCo, hard=True, spheres=True),
    "Bullet, as it is": partial(Bullet, hard=False),
    "Bullet, hard": partial(Bullet, hard=True),
    "Bullet, hard, spheres": partial(Bullet, hard=True, spheres=True),
}


def on_the_slope(make: Callable[[Scene], Engine]) -> list[str]:
    """How far an engine is from the closed forms.

    Speed after 5 s without torque [mm/s]; sliding of its wheels then [mm/s]; movement in 10 s under the torque that
    holds it [mm]; acceleration while its wheels spin [m/s^2].
    """
    scene, (mass, turning) = Scene(LEVEL, slope=SLOPE), masses()
    rolls = make(scene)
    rolls.run(round(5.0 / scene.dt), np.zeros(6))
    speed = rolls.body[3]
    expected = -GRAVITY_MPS2 * math.sin(SLOPE) * mass / (mass + turning) * 5.0
    stands, holds = make(scene), np.full(6, mass * GRAVITY_MPS2 * math.sin(SLOPE) * RADIUS / 6.0)
    stands.run(round(1.0 / scene.dt), holds)
    before = stands.body[0]
    stands.run(round(10.0 / scene.dt), holds)
    spins = make(scene)
    spins.run(round(0.5 / scene.dt), np.zeros(6))
    begin, rearing = spins.body, 0.0
    for _ in range(50):
        spins.run(round(0.02 / scene.dt), np.full(6, SPIN_NM))
        rearing = max(rearing, spins.body[2] - begin[2])
    gained = f"{spins.body[3] - begin[3]:.3f}" if rearing < REARS_M else "rears up"
    errors = 1e3 * abs(speed - expected), 1e3 * np.abs(rolls.rims - speed).max(), 1e3 * abs(stands.body[0] - before)
    return [*map(_small, errors), gained]


def at_the_step(make: Callable[[Scene], Engine], friction: float) -> tuple[float, str]:
    """Speed [m/s] that a fall of 20 mm leaves, upwards over that before it; and where the rover ends after 6 s."""
    rover = make(Scene(STEP, friction, dt=STEP_DT))
    start = rover.body[2]
    rover.lift(FALL_M)
    heights, speeds, none = [], [], np.zeros(6)
    for k in range(round(6.0 / STEP_DT)):
        driven = k * STEP_DT > 0.3
        rover.run(1, np.where((rover.rims < 0.3) & driven, HIGH_NM, none))
        heights.append(rover.body[2] - start)
        if not driven:
            speeds.append(rover.body[5])
    rebound = max(speeds) / -min(speeds)
    return rebound, "on the step" if heights[-1] > 0.9 * STEP_M else "before the step"


def _small(value: float) -> str:
    """Below 1e-4 rounding decides, which other processors round otherwise."""
    return "below 1e-4" if value < 1e-4 else f"{value:.2g}"


def rows(names: Sequence[str], measure: Callable[[str], str], kept: Sequence[str]) -> Iterator[str]:
    """A line for each engine; without pybullet those of Bullet as the page has them."""
    for name in names:
        if name.startswith("Bullet") and find_spec("pybullet") is None:
            yield next(line for line in kept if line.startswith(f"| {name} |"))
        else:
            print(name, file=sys.stderr)
            yield f"| {name} | {measure(name)} |"


def slope_row(name: str) -> str:
    """Cells of the first table."""
    return " | ".join(on_the_slope(ENGINES[name]))


def step_row(name: str) -> str:
    """Cells of the second table."""
    (rebound, low), (_, high) = (at_the_step(ENGINES[name], friction) for friction in (FRICTION, 0.6))
    return f"{_small(rebound)} | {low} | {high}"


def page(names: Sequence[str] = tuple(ENGINES)) -> str:
    """The page."""
    lines = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    middle = next((k for k, line in enumerate(lines) if line.startswith("## Step")), 0)
    text = PAGE.with_suffix(".txt").read_text(encoding="utf-8")
    slope = "\n".join(rows(names, slope_row, lines[:middle]))
    step = "\n".join(rows(names, step_row, lines[middle:]))
    return text.replace("{slope}", slope).replace("{step}", step)


if __name__ == "__main__":
    sys.exit(page_script(__doc__, PAGE, page, None))
