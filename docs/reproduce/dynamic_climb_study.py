"""MacMahon 2016, 7.1, by climbs in time: does T_c at first contact tell which posture climbs best?

Writes tables and a picture of docs/reproduce/climb_study.md from docs/reproduce/dynamic_climb_study.csv. With
--workers N or --cluster ADDRESS the climbs are simulated anew first, by Dask, and the file is written.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import climb_study
import numpy as np
from climb_study import (
    FEW,
    FOLDER,
    NONE,
    correlation,
    on_workers,
    postures,
    regret,
    with_interval,
)
from dynamic_climb import REFERENCE, Found, Obstacle, climbs_of
from matplotlib.figure import Figure
from numpy.typing import NDArray
from outputs import Outputs, parser_of
from quasi_static_climb import Posture

Table = dict[str, NDArray[Any]]

PAGE, FILE = "docs/reproduce/climb_study.md", "docs/reproduce/dynamic_climb_study.csv"
UPRIGHT = 0.5 * math.pi


class Block(NamedTuple):
    """An obstacle, and how many of the drawn postures climb it; those of the walking angle alone all do."""

    obstacle: Obstacle
    drawn: int
    walking: bool


# Acary's step, the thesis's mobility criterion, both again four times as fast, and plates of its slopes.
BLOCKS = {
    "step_0.1": Block(Obstacle(0.1, UPRIGHT, 0.07), 160, True),
    "step_0.25": Block(Obstacle(0.25, UPRIGHT, 0.07), 128, True),
    "step_0.1_fast": Block(Obstacle(0.1, UPRIGHT, 0.3), 64, False),
    "step_0.25_fast": Block(Obstacle(0.25, UPRIGHT, 0.3), 64, False),
    "plate_16": Block(Obstacle(0.25, math.radians(16.0), 0.3), 32, False),
    "plate_30": Block(Obstacle(0.25, math.radians(30.0), 0.3), 32, False),
}
MODULES = ("quasi_static_climb.py", "dynamic_climb.py")
RESAMPLES, FEWEST = 500, 8  # for an interval; climbs that are correlated
TEXT = ("block", "group")
FIELDS = ("block", "group", *Posture._fields, *Found._fields)


def cases() -> Iterator[tuple[str, str, Posture]]:
    """All postures over all obstacles."""
    all_postures = [*postures()]
    drawn = [one for group, one in all_postures if group == "drawn"]
    walking = [one for group, one in all_postures if group == "walking"]
    for name, block in BLOCKS.items():
        yield from ((name, "drawn", one) for one in drawn[: block.drawn])
        if block.walking:
            yield from ((name, "walking", one) for one in walking)


def compute(workers: int, address: str | None) -> list[dict[str, Any]]:
    """Simulate all climbs on the workers of a Dask scheduler, or of a local one; rows of the file."""
    wanted = [*cases()]
    found = on_workers(
        climbs_of, [one[2] for one in wanted], [BLOCKS[one[0]].obstacle for one in wanted], workers, address, MODULES
    )
    values = [(block, group, *posture, *one) for (block, group, posture), one in zip(wanted, found, strict=True)]
    return [dict(zip(FIELDS, row, strict=True)) for row in values]


def read(path: Path) -> Table:
    """Columns of the file by name, and of each climb of a step the friction that it needs where it is slow."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = {name: np.array([row[name] if name in TEXT else float(row[name]) for row in rows]) for name in FIELDS}
    table["friction"] = np.minimum(table["friction"], NONE)
    slow = climb_study.read(FOLDER / Path(climb_study.FILE).name)
    keys = zip(slow["height_m"], *(slow[name] for name in Posture._fields), strict=True)
    needed = dict(zip(keys, np.minimum(slow["friction"], NONE), strict=True))
    upright = {name: one.obstacle.angle_rad == UPRIGHT for name, one in BLOCKS.items()}
    here = zip(table["block"].tolist(), *(table[name] for name in Posture._fields), strict=True)
    table["slow_friction"] = np.array(
        [needed[BLOCKS[block].obstacle.height_m, *one] if upright[block] else math.nan for block, *one in here]
    )
    return table


def some(table: Table, block: str, group: str = "drawn") -> Table:
    """Rows of one block and group."""
    here = (table["block"] == block) & (table["group"] == group)
    return {name: column[here] for name, column in table.items()}


def needs(table: Table) -> Iterator[list[str]]:
    """For each obstacle: what the climbs need, and how many succeed with a friction of 0.8."""
    for block, one in BLOCKS.items():
        here = some(table, block)
        low, middle, high = np.quantile(here["friction"], (0.0, 0.5, 1.0))
        best = int(here["friction"].argmin())
        posture = [float(here[name][best]) for name in Posture._fields]
        yield [
            words_of(one.obstacle),
            f"{int(table['climbs'][table['block'] == block].sum())}",
            f"{low:.2f}, {middle:.2f}, {high:.2f}" if high < NONE else f"{low:.2f}, {middle:.2f}, above 1.6",
            f"{posture[0]:+.2f} rad, {posture[1]:+.2f} m, {posture[2]:+.0f} N m",
            f"{100.0 * here['climbed'].mean():.0f} %",
        ]


def answers(table: Table, times: int = RESAMPLES) -> Iterator[list[str]]:
    """For each obstacle and group: rank correlation of T_c with what the climb takes, and regret of least T_c."""
    for block, one in BLOCKS.items():
        for group, words in climb_study.GROUPS.items():
            here = some(table, block, group)
            if not len(here["friction"]):
                continue
            climbed = here["climbed"] == 1
            cells = [
                spread(correlation, times, here["T_c_J"], here["friction"]),
                spread(regret, times, here["T_c_J"], here["friction"]),
                spread(correlation, times, here["T_c_J"][climbed], here["energy_J"][climbed]),
                spread(excess, times, here["T_c_J"][climbed], here["energy_J"][climbed]),
                spread(correlation, times, here["T_c_J"], here["hit_N"]),
                spread(correlation, times, here["T_c_J"], here["peak_N"]),
            ]
            yield [words_of(one.obstacle), words, *cells]


def agreement(table: Table, times: int = RESAMPLES) -> Iterator[list[str]]:
    """For each step: the friction that a climb in time needs beside that of the slow one."""
    for block, one in BLOCKS.items():
        if one.obstacle.angle_rad != UPRIGHT:
            continue
        here = some(table, block)
        more = here["friction"] - here["slow_friction"]
        alike = (here["slow_friction"] <= REFERENCE) == (here["climbed"] == 1)
        best = int(here["slow_friction"].argmin())
        yield [
            words_of(one.obstacle),
            f"{len(more)}",
            spread(correlation, times, here["slow_friction"], here["friction"]),
            "{:+.2f} ({:+.2f} to {:+.2f})".format(*np.quantile(more, (0.5, 0.05, 0.95))),
            f"{100.0 * alike.mean():.0f} %",
            f"{here['friction'][best] - here['friction'].min():.2f}",
        ]


def excess(chosen_by: NDArray[Any], energy: NDArray[Any]) -> float:
    """Energy of the posture with the least of an indicator beyond that of the best posture, in % of the latter."""
    return 100.0 * (regret(chosen_by, energy) / float(energy.min()))


def spread(rule: Any, times: int, x: NDArray[Any], y: NDArray[Any]) -> str:
    """A value and its interval; a dash where there is nothing to compare."""
    if len(x) < FEWEST or np.ptp(y) == 0.0:
        return "-"
    digits = 0 if rule is excess else 2
    return "{0:.{3}f} ({1:.{3}f} to {2:.{3}f})".format(*with_interval(rule, times, x, y), digits)


def words_of(obstacle: Obstacle) -> str:
    """An obstacle in a few words."""
    kind = "step" if obstacle.angle_rad == UPRIGHT else f"plate at {math.degrees(obstacle.angle_rad):.0f} deg"
    return f"{kind}, {obstacle.height_m:g} m, {obstacle.speed_mps:g} m/s"


def draw(table: Table) -> Figure:
    """For both slow steps: friction and energy over T_c, and the friction in time over that of the slow climb."""
    figure = Figure(figsize=(12.0, 7.0), layout="constrained")
    panels = figure.subplots(2, 3)
    for row, block in zip(panels, ("step_0.1", "step_0.25"), strict=True):
        for group, look in (("drawn", {"s": 8, "color": "C0"}), ("walking", {"s": 18, "color": "C1"})):
            here = some(table, block, group)
            climbed = here["climbed"] == 1
            row[0].scatter(here["T_c_J"], here["friction"], label=climb_study.GROUPS[group], **look)
            row[1].scatter(here["T_c_J"][climbed], here["energy_J"][climbed], **look)
            row[2].scatter(here["slow_friction"], here["friction"], **look)
        fast = some(table, f"{block}_fast")
        row[2].scatter(fast["slow_friction"], fast["friction"], s=14, color="C2", marker="x", label="at 0.3 m/s")
        ends = [float(rule(some(table, block)["slow_friction"])) for rule in (np.min, np.max)]
        row[2].plot(ends, ends, color="black", lw=0.8)
        needed, height = "least friction with which it climbs", BLOCKS[block].obstacle.height_m
        row[0].set(xlabel="$T_c$ at first contact [J]", ylabel=needed)
        row[1].set(xlabel="$T_c$ at first contact [J]", ylabel="work of the drives [J]")
        row[2].set(xlabel="friction needed, quasi-static", ylabel=needed)
        for axes in row:
            axes.set_title(f"step of {height:g} m")
            axes.grid(alpha=0.3)
    panels[1, 0].legend()
    panels[0, 2].legend()
    return figure


def main() -> None:
    """Simulate the climbs if asked, then write tables and picture."""
    parser = parser_of(__doc__)
    climb_study.add_workers(parser)
    options = parser.parse_args()
    out = Outputs(options.quick, options.out)
    table, times = read(climb_study.computed_file(options, FILE, FIELDS, compute)), FEW if options.quick else RESAMPLES
    head = ["obstacle, speed", "climbs", "friction: best, middle, worst", "best posture", "climb with 0.8"]
    out.table(PAGE, "dynamic_friction", head, [*needs(table)])
    head = ["obstacle, speed", "postures", "T_c and friction", "regret in friction", "T_c and energy"]
    head += ["regret in energy [%]", "T_c and hit", "T_c and largest force"]
    out.table(PAGE, "dynamic_answer", head, [*answers(table, times)])
    head = ["step, speed", "postures", "rank correlation", "more than quasi-static", "same verdict at 0.8", "regret"]
    out.table(PAGE, "dynamic_agreement", head, [*agreement(table, times)])
    out.picture(draw(table), "reproduce_dynamic_climb_study.png")


if __name__ == "__main__":
    main()
