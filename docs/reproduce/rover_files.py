"""A rover of one's own: what comes back of an export, what other engines read in it, and a rover unstable on slopes.

Run: python docs/reproduce/rover_files.py [--check]

Writes docs/reproduce/rover_files.md. With --check it writes nothing, and prints the lines that differ.
"""

from __future__ import annotations

import math
import runpy
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from other_engines import FloatArray, Forces, difference, in_mujoco, in_pinocchio, of_ours, random_state
from written_page import page_script

from hil.analysis.own_rover.read import read_rover
from models.rover import PRESETS, juno_exact, parametric
from models.rover.from_links import rover_of
from models.rover.mjcf import to_mjcf
from models.rover.rover import Rover
from models.rover.tree import Tree
from models.rover.urdf import to_urdf
from models.rover.urdf_reader import read_urdf

PAGE = Path(__file__).with_suffix(".md")
ROOT = PAGE.parents[2]
OF_SOMEBODY, DECK = (ROOT / "rig_configs" / "rovers" / f"{n}.urdf" for n in ("four_wheel_rocker", "lifting_deck"))
SEEDS = range(3)
SLOPES_DEG = (10, 5, 0, -2, -4, -6)
Engine = Callable[[str, Rover, FloatArray, FloatArray], Forces]


def trees() -> dict[str, Tree]:
    """Every rover without closed loops, locked as on a rig; some with other locks."""
    presets = {name: one for name, one in PRESETS.items() if not one.tree().closures}
    rig = {name: one.tree().with_locks(dict.fromkeys(one.rig_locks(), 0.0)) for name, one in presets.items()}
    return {
        **rig,
        "rcp, 27 speeds": PRESETS["rcp"].tree().with_locks({"walking": None, "steering": None}),
        "parametric, legs at 20 deg": parametric(walking_angle=math.radians(20.0)).tree,
        "juno, tilted": PRESETS["juno"].tree().with_locks({"tilt": 0.2}),
        "a deck that slides": rover_of(read_urdf(DECK.read_text(encoding="utf-8"))).tree,
    }


def worst(found: Iterable[Forces]) -> Forces:
    """The largest of each."""
    return Forces(*(max(column) for column in zip(*found, strict=True)))


def came_back(tree: Tree) -> Iterator[Forces]:
    """How far a rover that was written and read again is from what it was, in random states."""
    before, after = Rover(tree), Rover(rover_of(read_urdf(to_urdf(tree, whole=True))).tree)
    assert after.joint_names == before.joint_names
    for seed in SEEDS:
        q, v = random_state(before, seed)
        yield difference(of_ours(after, q, v), of_ours(before, q, v))


def loops_came_back(write: Callable[[Tree], str]) -> Iterator[Forces]:
    """The same of Juno with its rods and a tilt that turns, whose two loops the file tells."""
    before = juno_exact(locks={"tilt": None})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "juno.xml"
        path.write_text(write(before.tree), encoding="utf-8")
        after = Rover(read_rover(path).tree)
    assert after.joint_names == before.joint_names
    for seed in SEEDS:
        q, v = random_state(before, seed)
        q[7:] *= 0.1  # the rods do not reach farther
        yield difference(of_ours(after, q, v), of_ours(before, q, v))


def as_read(tree: Tree, engine: Engine) -> Iterator[Forces]:
    """How far the rover that another engine reads is from ours, in random states."""
    rover, text = Rover(tree), to_urdf(tree, whole=True)
    for seed in SEEDS:
        q, v = random_state(rover, seed)
        yield difference(of_ours(rover, q, v), engine(text, rover, q, v))


def of_somebody_else() -> tuple[Forces, Forces]:
    """A file that is not ours, as read here, against MuJoCo's and Pinocchio's reading of the file itself."""
    text = OF_SOMEBODY.read_text(encoding="utf-8")
    rover, turned = Rover(rover_of(read_urdf(text)).tree), {"fr_axle": -1.0, "rr_axle": -1.0}
    # 1.5708 is a right angle here and none to them; its mesh is not there
    text = text.replace("1.5708", repr(0.5 * math.pi))
    text = text.replace('<mesh filename="package://four_wheel_rocker/rocker.dae"/>', '<sphere radius="0.1"/>')
    states = [random_state(rover, seed) for seed in SEEDS]
    ours = [of_ours(rover, *state) for state in states]
    theirs = [in_mujoco(text, rover, *state, turned, "base_footprint") for state in states]
    others = [in_pinocchio(text, rover, *state, turned) for state in states]
    return worst(map(difference, ours, theirs)), worst(map(difference, ours, others))


def below(found: Forces, limit: float) -> str:
    """Three cells; a difference over the limit is shown."""
    most = f"{limit:.0e}".replace("e-0", "e-")
    return " | ".join(f"{value:.1e}" if value > limit else f"below {most}" for value in found)


def pantograph(example: dict[str, Any]) -> tuple[list[str], dict[tuple[float, float], float]]:
    """Rows over the slope, and the steepest way down by length and angle of the levers [deg]."""
    rover, rows = example["Pantograph"]().build(), []
    for slope_deg in SLOPES_DEG:
        slope = example["Slope"](rover, math.radians(slope_deg))
        lever, held = slope.stable(), _loads(slope.loads(0.0))
        linked = (
            "fall to their stop | -" if lever is None else f"{math.degrees(lever):.1f} | {_loads(slope.loads(lever))}"
        )
        rows.append(f"{slope_deg} | {linked} | {held}")
    limits = {
        (length, rise): example["limit_deg"](
            example["Pantograph"](lever_length=length, rise_angle=math.radians(rise)).build()
        )
        for length, rise in ((0.2, 70.0), (0.15, 70.0), (0.2, 65.0), (0.2, 75.0))
    }
    return rows, limits


def _loads(loads: FloatArray) -> str:
    return " / ".join(f"{load:.0f}" for load in loads)


def page() -> str:
    """The text of the page: rover_files.txt with its numbers."""
    found = trees()
    back = worst(one for tree in found.values() if not tree.guided for one in came_back(tree))
    mujoco, pinocchio = (worst(one for tree in found.values() for one in as_read(tree, e)) for e in ENGINES)
    somebody = of_somebody_else()
    rows, limits = pantograph(runpy.run_path(str(ROOT / "examples" / "pantograph_rover.py")))
    values = {
        "rovers": len(found),
        "states": len(SEEDS),
        "back": below(back, 1e-12),
        "loops_urdf": below(worst(loops_came_back(lambda tree: to_urdf(tree, whole=True))), 1e-12),
        "loops_mjcf": below(worst(loops_came_back(to_mjcf)), 1e-12),
        "mujoco": below(mujoco, 1e-9),
        "pinocchio": below(pinocchio, 1e-9),
        "somebody_mujoco": below(somebody[0], 1e-9),
        "somebody_pinocchio": below(somebody[1], 1e-9),
        "limit": f"{-limits[0.2, 70.0]:.1f}",
        "least": f"{-max(limits.values()):.1f}",
        "most": f"{-min(limits.values()):.1f}",
        "limits": _table(f"{length} | {rise:.0f} | {-limit:.1f}" for (length, rise), limit in limits.items()),
        "slopes": _table(rows),
    }
    return PAGE.with_suffix(".txt").read_text(encoding="utf-8").format(**values)


ENGINES: tuple[Engine, Engine] = (in_mujoco, in_pinocchio)


def _table(rows: Iterable[str]) -> str:
    return "\n".join(f"| {row} |" for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or check it."""
    return page_script(__doc__, PAGE, page, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
