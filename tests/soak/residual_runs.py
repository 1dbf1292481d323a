"""Thresholds of residuals from good runs, false marks in fresh ones, and the smallest wrong value that is noticed.

Run: python tests/soak/residual_runs.py [--rigs impact,loads] [--calibrate 300] [--good 1000] [--wrong 100] [--write]

Every run is in lockstep, with masses, soil and legs of the plant 5 % off the twin, and a seed of its own; thresholds,
false marks and wrong values have different seeds. A wrong value is put into what a good run has recorded, and its
residuals are worked out again: `tests/soak/wrong_values.py` says where that is exact. With `--write` the thresholds go
into the files of the shipped configs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import beta

from hil.app.run import run
from hil.config import load_config
from hil.config.calibration_sheets import replace_residuals
from hil.residuals.evidence import RunEvidence
from hil.residuals.judgement import judge, marks, thresholds
from hil.residuals.table import measured

sys.path.insert(0, str(Path(__file__).parent))  # also where it is imported
from wrong_values import Recorded, smallest_noticed, wrong_values

FILES = Path("rig_configs") / "calibration"
OFF = ("plant.spread.mass=0.05", "plant.spread.soil=0.05", "plant.spread.legs=0.05", "telemetry.endpoint=''")
WATCHED = ("limits.motor_current_A={warn_above: 1000}",)
# Both modes, and no longer than they need.
SHORTER = "normal_force.steps=[{for_s: 2, mode: passive}, {for_s: 4, mode: uniform}]"
# First seed of the runs of each purpose.
CALIBRATE, GOOD = 1_000_000, 2_000_000
SURE = 0.95


class Rig(NamedTuple):
    """A config, what replaces values of it, and whether its thresholds are shipped."""

    config: str
    settings: tuple[str, ...] = ()
    shipped: bool = True


RIGS = {
    "impact": Rig("sim_impact", WATCHED),
    "juno": Rig("sim_juno", WATCHED),
    "slope": Rig("sim_slope", WATCHED),
    "drawbar": Rig("sim_drawbar", WATCHED),
    "normal_force": Rig("sim_normal_force", WATCHED),
    "loads": Rig("sim_normal_force", (*WATCHED, "loads={leg_sensors: {}}", SHORTER), shipped=False),
}


class Result(NamedTuple):
    """One run: its seed, reasons against it but for residuals, values of its residuals, marks, wrong values noticed."""

    seed: int
    reasons: list[str]
    values: dict[str, dict[str, float]]
    marks: list[str]
    noticed: dict[str, tuple[float | None, str]]


def one_run(rig: Rig, sheet: str, wrong: int, seed: int) -> Result:
    """Make a run, judge it, and put wrong values into it if its seed is one of the first of the good ones.

    Args:
        rig: of it.
        sheet: thresholds as YAML; null: none.
        wrong: how many runs get wrong values.
        seed: of the run.
    """
    config = load_config(rig.config, [*OFF, *rig.settings, "residuals.calibration=null"], seed)
    result = run(config)
    reasons = [*result.summary["reasons"], *(["aborted"] if result.exit_code else [])]
    values = measured(RunEvidence(config, result.ticks, result.summary))
    if sheet == "null":
        return Result(seed, reasons, values, [], {})
    judged = load_config(rig.config, [*OFF, *rig.settings, f"residuals.calibration={sheet}"], seed)
    found = [one.short() for one in marks(judge(judged, values))]
    noticed = {}
    if GOOD <= seed < GOOD + wrong:
        recorded = Recorded(judged, result.ticks, result.summary, result.samples, result.events)
        noticed = {one.name: smallest_noticed(recorded, one) for one in wrong_values(judged)}
    return Result(seed, reasons, values, found, noticed)


def runs(rig: Rig, sheet: str, wrong: int, seeds: range, workers: int) -> Iterator[Result]:
    """All these runs, in order; a line of progress a minute."""
    began = shown_s = time.monotonic()
    with ProcessPoolExecutor(workers) as pool:
        for count, result in enumerate(pool.map(partial(one_run, rig, sheet, wrong), seeds), 1):
            yield result
            if time.monotonic() - shown_s > 60.0:
                shown_s = time.monotonic()
                print(
                    f"{rig.config}: {count} of {len(seeds)} runs, {shown_s - began:.0f} s", file=sys.stderr, flush=True
                )


def calibrated(rig: Rig, count: int, workers: int) -> dict[str, Any]:
    """Thresholds from so many good runs."""
    seeds = range(CALIBRATE, CALIBRATE + count)
    good = [result.values for result in runs(rig, "null", 0, seeds, workers) if not result.reasons]
    config = load_config(rig.config, [*OFF, *rig.settings, "residuals.calibration=null"])
    return thresholds([config] * len(good), good)


def shipped(rig: Rig) -> dict[str, Any]:
    """Thresholds of the shipped config."""
    sheet = load_config(rig.config).residuals.calibration
    assert sheet is not None
    return sheet.model_dump(mode="json")


def most(found: int, of: int) -> float:
    """Upper bound of a share with a probability of 95 % (Clopper and Pearson)."""
    return 1.0 if found >= of else float(beta.ppf(SURE, found + 1, of - found))


def report(name: str, sheet: dict[str, Any], results: Sequence[Result]) -> dict[str, Any]:
    """What came of the fresh runs of a rig."""
    good = [one for one in results if not one.reasons]
    marked = [one for one in good if one.marks]
    wrong: dict[str, Any] = {}
    tried = [one for one in good if one.noticed]
    for key in tried[0].noticed if tried else ():
        found = sorted((one.noticed[key][0] is None, one.noticed[key][0] or 0.0) for one in tried)
        lost, value = found[min(-(-len(found) * 95 // 100), len(found)) - 1]
        by = Counter(one.noticed[key][1] for one in tried if one.noticed[key][0] is not None)
        wrong[key] = {"smallest": None if lost else value, "by": by.most_common(1)[0][0] if by else ""}
    return {
        "rig": name,
        "calibrated_with": sheet["runs"],
        "good": len(good),
        "refused": len(results) - len(good),
        "marked": len(marked),
        "most": most(len(marked), len(good)) if good else None,
        "marks": [(one.seed, one.marks) for one in marked],
        "wrong_in": len(tried),
        "wrong": wrong,
    }


def in_words(found: dict[str, Any]) -> str:
    """The figures of a rig, as docs/explanation/residuals.md has them."""
    of = f"{found['marked']} of {found['good']} fresh good runs marked"
    lines = [f"**{found['rig']}**: {of}, with 95 % at most {100.0 * (found['most'] or 1.0):.2g} %."]
    lines += [f"Thresholds of {found['calibrated_with']} runs, wrong values in {found['wrong_in']}.", ""]
    if found["wrong"]:
        lines += ["| wrong value | smallest noticed | by |", "|---|---|---|"]
    for name, one in found["wrong"].items():
        size = "not noticed" if one["smallest"] is None else _size(name, one["smallest"])
        by = f"`{one['by']}`" if one["by"] else "-"
        lines.append(f"| {name.partition(' [')[0]} | {size} | {by} |")
    return "\n".join(lines)


def _size(name: str, size: float) -> str:
    """A size with its unit; of a gain in percent, of two that are swapped none."""
    if "swapped" in name:
        return "yes"
    unit = name.partition(" [")[2].rstrip("]")
    return f"{size:g} {unit}" if unit else f"{100.0 * size:g} %"


def main(arguments: Sequence[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rigs", default=",".join(RIGS), help=f"of {', '.join(RIGS)}")
    parser.add_argument("--calibrate", type=int, default=300, help="good runs for the thresholds; 0: as in the files")
    parser.add_argument("--good", type=int, default=1000, help="fresh good runs")
    parser.add_argument("--wrong", type=int, default=100, help="how many of them get wrong values")
    parser.add_argument("--quick", action="store_true", help="8 runs, 4 and 2 of the rig impact")
    parser.add_argument("--write", action="store_true", help="write the thresholds of the shipped configs")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args(arguments)
    if given.quick:
        given.rigs, given.calibrate, given.good, given.wrong = "impact", 8, 4, 2
    figures = list[dict[str, Any]]()
    for name in given.rigs.split(","):
        rig = RIGS[name]
        sheet = calibrated(rig, given.calibrate, given.workers) if given.calibrate else shipped(rig)
        if given.write and rig.shipped:
            file = FILES / f"{rig.config}_residuals.yaml"
            replace_residuals(file, sheet)
            file.with_name(f"{file.name}.former").unlink(missing_ok=True)
        results, seeds = list[Result](), range(GOOD, GOOD + given.good)
        figures.append({})
        for result in runs(rig, json.dumps(sheet), given.wrong, seeds, given.workers):
            results.append(result)
            figures[-1] = report(name, sheet, results)
            if given.json:  # what there is so far, of a series that takes hours
                given.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
        print(in_words(figures[-1]), flush=True)
    return int(any(one["refused"] for one in figures))


if __name__ == "__main__":
    sys.exit(main())
