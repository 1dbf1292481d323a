"""MacMahon 2016, 7.1: does T_c at first contact tell which posture climbs best? 1,242 climbs of a step, and the answer.

Writes the tables and the picture of docs/reproduce/climb_study.md from docs/reproduce/climb_study.csv. With --workers N
or --cluster ADDRESS the climbs are computed anew first, by Dask, and the file is written.

These climbs are quasi-static: dynamic_climb_study.py has those in time.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import qmc, rankdata

sys.path.append(str(Path(__file__).resolve().parents[1] / "figures"))
import quasi_static_climb
from outputs import Outputs, parser_of
from quasi_static_climb import Climb, Posture

FOLDER = Path(__file__).resolve().parent
PAGE, FILE = "docs/reproduce/climb_study.md", "docs/reproduce/climb_study.csv"
# Acary's step and that of the thesis [m].
HEIGHTS_M = (0.1, 0.25)
# Ranges of a posture: walking angle [rad], place of the load [m], torque on each side bogie [N m].
LOW, HIGH = (-0.25, -0.3, -50.0), (0.5, 0.3, 50.0)
DRAWN, ALONE, SEED = 600, 21, 30
# Frictions at which a climb is judged, and the friction that stands for one that no friction lets succeed.
FRICTIONS, NONE = (0.45, 0.6, 0.8), 2.0
RESAMPLES, FEW = 2000, 20
GROUPS = {"drawn": "all three free", "walking": "walking angle alone"}


class Indicator(NamedTuple):
    """What is known before the climb, and whether the posture with the least or the most of it is chosen."""

    words: str
    field: str
    sign: float


INDICATORS = (
    Indicator("least T_c", "T_c_J", 1.0),
    Indicator("largest T_c", "T_c_J", -1.0),
    Indicator("least friction needed at first contact", "first_friction", 1.0),
)
FIELDS = ("group", "height_m", *Posture._fields, *Climb._fields)


def postures() -> Iterator[tuple[str, Posture]]:
    """Those drawn evenly from all three ranges, and those of the walking angle alone."""
    for drawn in qmc.scale(qmc.Sobol(3, rng=SEED).random(DRAWN), LOW, HIGH):
        yield "drawn", Posture(*(round(float(one), 4) for one in drawn))
    for walking in np.linspace(LOW[0], HIGH[0], ALONE):
        yield "walking", Posture(round(float(walking), 4), 0.0, 0.0)


def on_workers(
    work: Callable[[Posture, Any], Any],
    chosen: Sequence[Posture],
    against: Sequence[Any],
    workers: int,
    address: str | None,
    modules: Sequence[str],
) -> list[Any]:
    """What `work` gives for each posture and its obstacle, on the workers of a Dask scheduler or of a local one.

    Args:
        work: a function of one of `modules`.
        chosen: postures.
        against: obstacle of each.
        workers: of a local scheduler.
        address: of a scheduler elsewhere, or None.
        modules: files of this folder that the workers need, what one imports before it.
    """
    dask: Any = import_module("distributed")  # it has no types
    cluster: Any = address or dask.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with dask.Client(cluster) as client:
        for name in modules:
            client.upload_file(str(FOLDER / name))
        futures = client.map(work, chosen, against, pure=False)
        dask.progress(futures)
        found: list[Any] = client.gather(futures)
    if not address:
        cluster.close()
    return found


def compute(workers: int, address: str | None) -> list[dict[str, Any]]:
    """All climbs, as rows of the file."""
    cases = [(group, height, posture) for height in HEIGHTS_M for group, posture in postures()]
    found = on_workers(
        quasi_static_climb.climb,
        [one[2] for one in cases],
        [one[1] for one in cases],
        workers,
        address,
        ["quasi_static_climb.py"],
    )
    values = [(group, height, *posture, *one) for (group, height, posture), one in zip(cases, found, strict=True)]
    return [dict(zip(FIELDS, row, strict=True)) for row in values]


def computed_file(
    options: argparse.Namespace,
    name: str,
    fields: Sequence[str],
    compute: Callable[[int, str | None], list[dict[str, Any]]],
) -> Path:
    """The file of climbs: the page's, or one that is computed anew if the options say by whom, in six digits."""
    if not (options.workers or options.cluster):
        return FOLDER / Path(name).name
    path: Path = options.out / name
    rows = compute(options.workers, options.cluster)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: f"{one:.6g}" if isinstance(one, float) else one for key, one in row.items()})
    return path


def add_workers(parser: argparse.ArgumentParser) -> None:
    """The options by which climbs are computed anew."""
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="compute all climbs by N local processes")
    parser.add_argument("--cluster", metavar="ADDRESS", help="or on the workers of this Dask scheduler")


def read(path: Path) -> dict[str, NDArray[Any]]:
    """Columns of the file, by name."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    text = ("group", "worst")
    return {name: np.array([row[name] if name in text else float(row[name]) for row in rows]) for name in FIELDS}


def correlation(x: NDArray[Any], y: NDArray[Any]) -> float:
    """Spearman's coefficient; ties share their ranks."""
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])


def regret(chosen_by: NDArray[Any], friction: NDArray[Any]) -> float:
    """Friction that the posture with the least of an indicator needs beyond that of the best posture."""
    return float(friction[chosen_by.argmin()] - friction.min())


def with_interval(rule: Callable[..., float], times: int, *columns: NDArray[Any]) -> tuple[float, float, float]:
    """Its value, and the 95 % interval over resampled postures."""
    random, count = np.random.default_rng(SEED), len(columns[0])
    draws = (random.integers(0, count, count) for _ in range(times))
    again = [rule(*(column[some] for column in columns)) for some in draws]
    low, high = np.nanquantile(again, (0.025, 0.975))
    return rule(*columns), float(low), float(high)


def answers(table: dict[str, NDArray[Any]], times: int = RESAMPLES) -> Iterator[list[str]]:
    """For each step and group: rank correlation and regret of each indicator, with intervals."""
    for height in HEIGHTS_M:
        for group, words in GROUPS.items():
            here = (table["height_m"] == height) & (table["group"] == group)
            friction = np.minimum(table["friction"][here], NONE)
            for indicator in INDICATORS:
                values = indicator.sign * table[indicator.field][here]
                if np.ptp(values) < 1e-9:
                    continue
                rho, lost = (with_interval(rule, times, values, friction) for rule in (correlation, regret))
                cells = [f"{value:.2f} ({low:.2f} to {high:.2f})" for value, low, high in (rho, lost)]
                yield [f"{height:g} m", words, indicator.words, *cells]


def successes(table: dict[str, NDArray[Any]]) -> Iterator[list[str]]:
    """For each step and friction: share of the drawn postures that climb, and whether those that are chosen do."""
    for height in HEIGHTS_M:
        here = (table["height_m"] == height) & (table["group"] == "drawn")
        friction = table["friction"][here]
        picks = [friction[(one.sign * table[one.field][here]).argmin()] for one in INDICATORS[:3]]
        for at in FRICTIONS:
            chosen = ["yes" if pick <= at else "no" for pick in (*picks, friction.min())]
            yield [f"{height:g} m", f"{at:g}", f"{100.0 * np.mean(friction <= at):.0f} %", *chosen]


def frictions(table: dict[str, NDArray[Any]]) -> Iterator[list[str]]:
    """For each step: friction needed by the best, the middle and the worst posture, and the row that asks for it."""
    for height in HEIGHTS_M:
        here = (table["height_m"] == height) & (table["group"] == "drawn")
        friction, best = table["friction"][here], int(table["friction"][here].argmin())
        posture = [float(table[name][here][best]) for name in Posture._fields]
        words = f"{posture[0]:+.2f} rad, {posture[1]:+.2f} m, {posture[2]:+.0f} N m"
        rows = ", ".join(f"{name} {100.0 * np.mean(table['worst'][here] == name):.0f} %" for name in _rows(table))
        three = [f"{value:.2f}" if math.isfinite(value) else "none" for value in np.quantile(friction, (0.0, 0.5, 1.0))]
        yield [f"{height:g} m", *three, words, rows]


def _rows(table: dict[str, NDArray[Any]]) -> Sequence[str]:
    return [name for name in quasi_static_climb.ROWS if name in table["worst"]]


def draw(table: dict[str, NDArray[Any]]) -> Figure:
    """Friction needed over T_c, and over the friction needed at first contact, for each step."""
    figure = Figure(figsize=(9.0, 7.0), layout="constrained")
    panels = figure.subplots(2, len(HEIGHTS_M))
    for column, height in enumerate(HEIGHTS_M):
        for row, (field, words) in enumerate(
            (("T_c_J", "$T_c$ at first contact [J]"), ("first_friction", "friction needed at first contact"))
        ):
            axes = panels[row, column]
            for group, look in (("drawn", {"s": 6, "color": "C0"}), ("walking", {"s": 16, "color": "C1"})):
                here = (table["height_m"] == height) & (table["group"] == group)
                axes.scatter(table[field][here], np.minimum(table["friction"][here], NONE), label=GROUPS[group], **look)
            axes.set(xlabel=words, ylabel="friction needed for the climb", title=f"step of {height:g} m")
            axes.grid(alpha=0.3)
    panels[0, 0].legend()
    return figure


def main() -> None:
    """Compute the climbs if asked, then write tables and picture."""
    parser = parser_of(__doc__)
    add_workers(parser)
    options = parser.parse_args()
    out = Outputs(options.quick, options.out)
    table = read(computed_file(options, FILE, FIELDS, compute))
    words = "step", "best", "middle", "worst", "best posture", "row that asks for it"
    out.table(PAGE, "friction", words, [*frictions(table)])
    columns = "step", "postures", "chosen by", "rank correlation", "regret"
    out.table(PAGE, "answer", columns, [*answers(table, FEW if options.quick else RESAMPLES)])
    chosen = [one.words for one in INDICATORS[:3]]
    out.table(
        PAGE, "success", ["step", "friction", "of all postures climb", *chosen, "best posture"], [*successes(table)]
    )
    out.picture(draw(table), "reproduce_climb_study.png")


if __name__ == "__main__":
    main()
