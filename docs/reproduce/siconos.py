"""Our contacts with friction beside Siconos 4.4: the same problems and the same motion, in one run.

Run: python docs/reproduce/siconos.py [--check]

Writes docs/reproduce/siconos.md. With --check it computes a part, writes nothing, and says what does not hold. Siconos
is that of Debian's python3-siconos with python3-scipy, in the system's own Python; where it is missing the script says
so and ends.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cone_problems import (
    MASS,
    REPEATS,
    TOLERANCE,
    Problem,
    Solved,
    random_problem,
    residual,
    rover_problems,
    solved_here,
)
from falling_body import PASSES, Fall, Ran, fallen_here, falling, left_over
from siconos_side import GLOBAL, SOLVERS
from written_page import write_page

from models.gravity import GRAVITY_MPS2

PAGE, SIDE, PYTHON = Path(__file__).with_suffix(".md"), Path(__file__).with_name("siconos_side.py"), "/usr/bin/python3"
LIMIT = 1e-9  # of the residual [m/s]: above it a problem counts as unsolved
SAME = 1e-7  # [m/s] velocities of one solution
CONTACTS = (6, 12, 18)
FRESH = 20261129  # of the random problems: neither our solver nor a setting of theirs was made with these
ROVER = "ExoMars at the step"
GROUNDS = {"ground that rises outwards": 0.2, "level": 0.0}


class Row(NamedTuple):
    """One solver on one set of problems.

    Attributes:
        by: the solver.
        p50_us: median of a problem.
        p99_us: 99th percentile.
        unsolved: how many.
        residual: largest of those that are solved [m/s].
        problems: how many.
    """

    by: str
    p50_us: float
    p99_us: float
    unsolved: int
    residual: float
    problems: int


class Compared(NamedTuple):
    """Solvers on one set of problems.

    Attributes:
        of: the problems.
        rows: ours, then Siconos's.
        neither: how many no solver of Siconos solves.
        same: pairs of solutions, one ours and one Siconos's, with the same velocities.
        pairs: how many there are.
    """

    of: str
    rows: list[Row]
    neither: int
    same: int
    pairs: int


class Motion(NamedTuple):
    """A body that falls, by one solver.

    Attributes:
        of: the body.
        by: the solver.
        step_us: median.
        slowest_us: 99th percentile.
        unsolved: steps.
        apart: largest difference from ours of place [m, rad], speed [m/s, rad/s] and summed impulses [N s, N m s].
    """

    of: str
    by: str
    step_us: float
    slowest_us: float
    unsolved: int
    apart: tuple[float, float, float]


def missing() -> str | None:
    """Why there is no Siconos; None: there is."""
    if not Path(PYTHON).exists():
        return f"{PYTHON} is not there; Siconos belongs to the system's Python"
    wanted = "import siconos.numerics, scipy.sparse"
    found = subprocess.run([PYTHON, "-I", "-c", wanted], capture_output=True, check=False)
    packages = "Debian: apt install python3-siconos python3-scipy"
    return None if found.returncode == 0 else f"{PYTHON} lacks siconos or scipy ({packages})"


def asked(what: str, **arrays: Any) -> dict[str, Any]:
    """Answer of the process that has Siconos, on one thread. Raises RuntimeError: it failed."""
    sent = io.BytesIO()
    np.savez(sent, **arrays)
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    found = subprocess.run(
        [PYTHON, "-I", str(SIDE), what], input=sent.getvalue(), capture_output=True, env=alone, check=False
    )
    if found.returncode != 0:
        raise RuntimeError(f"Siconos ended with {found.returncode}: {found.stderr.decode()[-300:]}")
    with np.load(io.BytesIO(found.stdout)) as archive:
        return dict(archive)


def solved_by_siconos(problems: list[Problem]) -> dict[str, Solved]:
    """The same by each of its solvers."""
    matrices = [one.half @ one.half.T for one in problems]
    counts = np.array([len(one.friction) for one in problems])
    found = asked(
        "solve", counts=counts, matrices=np.concatenate([one.ravel() for one in matrices]), tolerance=TOLERANCE,
        targets=np.concatenate([one.target for one in problems]), repeats=REPEATS,
        halves=np.concatenate([one.half.ravel() for one in problems]), speeds=problems[0].half.shape[1],
        frictions=np.concatenate([one.friction for one in problems]),
        starts=np.concatenate([one.start for one in problems]),
    )  # fmt: skip
    ends = np.cumsum(3 * counts)[:-1]
    return {name: Solved(found["seconds"][k], np.split(found[name], ends)) for k, name in enumerate(SOLVERS + GLOBAL)}


def fallen_there(fall: Fall, steps: int, solver: int) -> Ran:
    """Siconos's TimeStepping."""
    force = np.zeros(6)
    force[2] = -MASS[2] * GRAVITY_MPS2
    found = asked(
        "integrate", **fall._asdict(), mass=MASS, force=force, steps=steps, solver=solver, tolerance=TOLERANCE,
        repeats=PASSES,
    )  # fmt: skip
    seconds = found["seconds"]
    return Ran(found["states"], found["impulses"], float(np.median(seconds)), float(np.percentile(seconds, 99)))


def compared(of: str, problems: list[Problem]) -> Compared:
    """All solvers on a set of problems."""
    ours, theirs = solved_here(problems), solved_by_siconos(problems)
    rows, right = [], {}
    for by, made in {"ours": ours, **theirs}.items():
        left = np.array([residual(*pair) for pair in zip(problems, made.impulses, strict=True)])
        right[by] = left <= LIMIT
        p50, p99 = np.percentile(made.seconds * 1e6, (50, 99)).tolist()
        rows.append(Row(by, p50, p99, int((left > LIMIT).sum()), float(left[right[by]].max()), left.size))
    same = pairs = 0
    for name in theirs:
        for k in np.flatnonzero(right["ours"] & right[name]):
            apart = problems[k].half.T @ (ours.impulses[k] - theirs[name].impulses[k])
            pairs += 1
            same += bool(np.abs(problems[k].half @ apart).max() <= SAME)
    return Compared(of, rows, int((~np.any([right[name] for name in theirs], axis=0)).sum()), same, pairs)


def motions(of: str, fall: Fall, steps: int) -> list[Motion]:
    """The body that falls: ours, then Siconos by each of its solvers."""
    ours, found = fallen_here(fall, steps), []
    for by, ran in (("ours", ours), *((name, fallen_there(fall, steps, k)) for k, name in enumerate(SOLVERS))):
        states = np.abs(ran.states - ours.states)
        wrench = np.abs((ran.impulses - ours.impulses) @ fall.rows)
        apart = (float(states[:, :6].max()), float(states[:, 6:].max()), float(wrench.max()))
        left = left_over(fall, ran)
        found.append(Motion(of, by, 1e6 * ran.step_s, 1e6 * ran.slowest_s, int((~(left <= LIMIT)).sum()), apart))
    return found


def computed(
    problems: int, rover_steps: int, steps: int, feet: Sequence[int]
) -> tuple[list[Compared], list[list[Motion]]]:
    """All that the page shows, or a part of it."""
    sets = []
    for count in CONTACTS:
        rng = np.random.default_rng((FRESH, count))
        sets.append(compared(f"{count} contacts", [random_problem(count, rng) for _ in range(problems)]))
    rover = list(rover_problems(rover_steps, 15))
    sets.append(compared(ROVER, rover))
    sets.append(compared(f"{ROVER}, from zero", [one._replace(start=0.0 * one.start) for one in rover]))
    falls = [(f"{count} feet, {ground}", falling(count, tilt)) for ground, tilt in GROUNDS.items() for count in feet]
    return sets, [motions(of, fall, steps) for of, fall in falls]


def wrong(sets: list[Compared], moved: list[list[Motion]]) -> list[str]:
    """What the page promises and does not hold: times are no promise."""
    found = [f"{one.of}: ours has {one.rows[0].unsolved} unsolved" for one in sets if one.rows[0].unsolved]
    found += [f"{one.of}: same in {one.same} of {one.pairs}" for one in sets if one.same < 0.9 * one.pairs]
    found += [f"{one[0].of}: ours has {one[0].unsolved} steps unsolved" for one in moved if one[0].unsolved]
    if max(moved[0][1].apart) > SAME:
        found.append(f"{moved[0][1].of}: motions are {moved[0][1].apart} apart")
    return found


def short(us: float) -> str:
    """A time with two digits or in whole microseconds."""
    return f"{us:.1f}" if us < 9.95 else f"{us:.0f}"


def page(sets: list[Compared], moved: list[list[Motion]]) -> str:
    """The page."""
    solvers, agreement, bodies = [], [], []
    for one in sets:
        for row in one.rows:
            faster = "" if row.by == "ours" else f"{row.p50_us / one.rows[0].p50_us:.1f}"
            solvers.append(
                f"| {one.of} | {row.by} | {short(row.p50_us)} | {faster} | {short(row.p99_us)} | "
                f"{row.unsolved} of {row.problems} | {row.residual:.0e} |"
            )
        agreement.append(f"| {one.of} | {one.neither} of {one.rows[0].problems} | {one.same} of {one.pairs} |")
    for motion in moved:
        for part in motion:
            ours = part.by == "ours"
            apart = " | | " if ours else " | ".join(f"{value:.0e}" for value in part.apart)
            faster = "" if ours else f"{part.step_us / motion[0].step_us:.0f}"
            bodies.append(
                f"| {part.of} | {part.by} | {short(part.step_us)} | {faster} | {short(part.slowest_us)} | "
                f"{part.unsolved} | {apart} |"
            )
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, check=True, cwd=PAGE.parent, text=True
    ).stdout.strip()
    places = {
        "solvers": "\n".join(solvers), "agreement": "\n".join(agreement), "bodies": "\n".join(bodies), "commit": commit,
    }  # fmt: skip
    text = PAGE.with_suffix(".txt").read_text(encoding="utf-8")
    for name, value in places.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def main(arguments: list[str] | None = None) -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="a part, written nowhere")
    check = parser.parse_args(arguments).check
    if reason := missing():
        print(f"skipped: {reason}")
        return 0
    sets, moved = computed(10, 900, 100, CONTACTS[:1]) if check else computed(500, 6000, 400, CONTACTS)
    lines = wrong(sets, moved)
    print("\n".join(lines))
    if not check:
        write_page(PAGE, page(sets, moved))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
