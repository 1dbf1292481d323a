"""The results of a drive: its part of summary.json, and the table in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from hil.experiments.base import Finished, Summary
from hil.experiments.drive.experiment import DriveExperiment, State
from hil.experiments.summary import common_reasons, finite, loop_rows, quantity, summary_table, verdict_rows

# The part of each step that is averaged: the end, after the ramp.
STEADY = 0.5


def drive_summary(run: Finished) -> Summary:
    """Keys as docs/reference/summary.md lists them: distance, and means over the second half of each step."""
    drive = run.experiment
    assert isinstance(drive, DriveExperiment)
    ticks = run.ticks[run.ticks["state"] == State.DRIVE]
    period_s = 1.0 / run.config.loop.rate_hz
    reasons = common_reasons(drive, run.cycle.safety, run.beside)
    steps, began_s = [], 0.0
    for step in run.config.drive.steps:
        t_s = (ticks["t_ns"] - ticks["t_ns"][:1].sum()) * 1e-9
        steady = ticks[(t_s >= began_s + STEADY * step.for_s) & (t_s < began_s + step.for_s)]
        steps.append({"speed_set_mps": step.speed_mps, "turn_set_mps": step.turn_mps, **_means(steady)})
        began_s += step.for_s
    return {
        "wheels": list(run.config.layout.wheels),
        "way_m": finite(float(ticks["speed_mps"].sum() * period_s)),
        "steps": steps,
        "accepted": drive.done and not reasons,
        "reasons": reasons,
    }


def drive_table(summary: Mapping[str, Any]) -> Table:
    """The table of a drive for the terminal, the verdict first."""
    rows = [("way, twin", quantity(summary.get("way_m"), "m", 3))]
    for number, step in enumerate(summary.get("steps") or [], start=1):
        speeds = f"{quantity(step['speed_set_mps'], '', 3)}, {quantity(step['speed_mps'], 'm/s', 3)}"
        rows.append((f"step {number}: speed set, twin", speeds))
        for key, name, unit, digits, scale in (
            ("slip", "slip", "", 3, 1.0),
            ("sinkage_m", "sinkage", "mm", 1, 1e3),
            ("normal_force_N", "normal forces", "N", 0, 1.0),
        ):
            rows.append((f"step {number}: {name}", quantity(step[key], unit, digits, scale)))
    rows.append(("wheels, in this order", ", ".join(name.replace("_", " ") for name in summary.get("wheels") or [])))
    return summary_table("Drive", [*verdict_rows(summary), *rows, *loop_rows(summary)])


def _means(ticks: NDArray[np.void]) -> dict[str, Any]:
    if not ticks.size:
        return {"speed_mps": None, "slip": None, "sinkage_m": None, "normal_force_N": None}
    by_wheel = {
        key: [finite(float(value)) for value in ticks[key].mean(axis=0)]
        for key in ("slip", "sinkage_m", "normal_force_N")
    }
    return {"speed_mps": finite(float(ticks["speed_mps"].mean())), **by_wheel}
