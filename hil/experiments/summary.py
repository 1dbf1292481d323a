"""summary.json: the part that every run has, whatever its experiment, and how its numbers are shown."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape
from rich.table import Table

import hil
from hil.config import Config
from hil.config.model import fingerprint
from hil.experiments.base import Experiment, Finished, Summary
from hil.experiments.disturbance_summary import (
    disturbance_lines,
    long_tick_lines,
    long_ticks_summary,
    machine_summary,
    simulated_rig_summary,
)
from hil.messages.fault import Fault
from hil.messages.schema import recorded_detail
from hil.messages.signals import PHASES
from hil.recording.file_layout import RECOVERED
from hil.recording.reader import read_digests
from hil.recording.run_folder import replacing
from hil.safety.monitor import SafetyMonitor
from hil.simulator.ground_truth import GroundTruth

FILE_NAME = "summary.json"


def run_summary(run: Finished) -> Summary:
    """What every run's summary holds: keys as docs/reference/summary.md lists them, numbers finite or None."""
    config, cycle, clock, plant_loop = run.config, run.cycle, run.clock, run.plant_loop
    experiment, ticks = run.experiment, cycle.tick_logger.ticks
    return {
        "experiment": experiment.name,
        "aborted": not experiment.done or cycle.safety.safe,
        "clock": config.clock,
        "seed": config.seed,
        "loop": {
            "rate_hz": config.loop.rate_hz,
            "ticks": ticks,
            "late": clock.late,
            "skipped": clock.skipped,
            "long_ticks": long_ticks_summary(run.events) if config.clock == "realtime" else None,
            "work_us": _quantiles(run.timing["work_ns"]),
            "wake_us": clock.wake_us,
            "plant_us": plant_loop["cost_us"] if plant_loop else _quantiles(run.timing["plant_ns"]),
            "phases_us": {phase: _quantiles(run.timing[f"{phase}_ns"]) for phase in PHASES},
            "far_end": {key: plant_loop[key] for key in ("ticks", "late", "skipped")} if plant_loop else None,
        },
        "links": run.links,
        **disturbances(config, run.events),
        "real_time_factor": (ticks + clock.skipped) / config.loop.rate_hz / run.wall_s if run.wall_s > 0.0 else None,
        "config_sha256": config.sha256(),
        "version": hil.__version__,
    }


def disturbances(config: Config, events: NDArray[np.void]) -> Summary:
    """Keys `machine` and `simulated_rig`; None in virtual time, and None of a rig that is not simulated."""
    real_time = config.clock == "realtime"
    return {
        "machine": machine_summary(events) if real_time else None,
        "simulated_rig": simulated_rig_summary(events) if real_time and config.rig != "real" else None,
    }


def common_reasons(
    experiment: Experiment, safety: SafetyMonitor, beside: Callable[[int], str] = lambda _: ""
) -> list[str]:
    """Why no run of any experiment would count: not armed, faults, ended by the operator.

    Args:
        experiment: that ran.
        safety: of the run.
        beside: what disturbed a fault of a time [ns], in words.
    """
    reasons = [f"not armed: {check}" for check in experiment.checks if not check.ok]
    reasons += fault_reasons(safety, beside)
    reasons += [event.detail for event in safety.warnings if event.fault is Fault.MEASURED_NEAR_LIMIT]
    if experiment.stopped:
        reasons.append("ended by the operator")
    return reasons


def fault_reasons(safety: SafetyMonitor, beside: Callable[[int], str]) -> list[str]:
    """Each latched fault in the words of its record, and what stands beside it."""
    return [f"fault {one.fault.value}: {recorded_detail(one.detail)}{beside(one.t_ns)}" for one in safety.events]


def truth_reasons(ground_truth: GroundTruth) -> list[str]:
    """Why no run of any experiment would count that only a simulated rig knows; none of a real one."""
    if (left := ground_truth.outside) is None:
        return []
    return [f"the simulated rig left what its models hold for: {left.words}, from {left.t_ns * 1e-9:.3f} s on"]


def with_digests(summary: Summary, folder: Path, meta: Mapping[str, Any], *, trusted: bool = False) -> Summary:
    """The summary with the digests of the record that it is of, and of itself; see docs/reference/summary.md.

    Args:
        summary: of a run, without them.
        folder: of the run, its record closed.
        meta: what `/meta` of the record holds.
        trusted: see `hil.recording.reader.read_trial`.

    Raises:
        RecordError: there is no record, or it cannot be read.
    """
    found = read_digests(folder, trusted=trusted)
    digests = {
        "content": found.content,
        "file": found.file,
        "made_by": "recovery" if RECOVERED in meta else "run",
    }
    complete = {**summary, "digests": digests}
    return {**complete, "digests": {**digests, "summary": summary_sha256(complete)}}


def summary_sha256(summary: Mapping[str, Any]) -> str:
    """SHA-256 of a summary without this very digest: of its JSON with sorted keys and no spaces."""
    digests = {key: value for key, value in summary["digests"].items() if key != "summary"}
    return fingerprint({**summary, "digests": digests})


def write_summary(folder: Path, summary: Summary) -> None:
    """Write summary.json, strict JSON; it is there as a whole or not at all."""
    text = json.dumps(summary, indent=2, allow_nan=False)
    with replacing(folder / FILE_NAME) as unfinished:
        unfinished.write_text(text + "\n", encoding="utf-8")


def summary_table(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    """A table of names and values for the terminal; values may hold rich's markup."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column("quantity")
    table.add_column("value", overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table


def verdict_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Accepted or not, and why."""
    verdict = "[bold green]yes[/]" if summary.get("accepted") else "[bold red]no[/]"
    reasons = "".join(f"\n- {escape(str(reason))}" for reason in summary.get("reasons") or [])
    rows = [("accepted", verdict + reasons)]
    if summary.get("aborted"):
        rows.append(("aborted", f"[bold red]{escape(str(summary['aborted']))}[/]"))
    if (summary.get("digests") or {}).get("made_by") == "recovery":
        rows.append(("record", "made whole by hil recover"))
    return rows


def loop_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How the loop ran."""
    loop = summary.get("loop") or {}
    return [
        ("loop", f"{quantity(loop.get('rate_hz'), 'Hz', 0)}, {quantity(loop.get('ticks'), 'ticks', 0)}"),
        ("late, skipped", f"{quantity(loop.get('late'), '', 0)}, {quantity(loop.get('skipped'), '', 0)}"),
        *long_tick_lines(loop),
        ("work p50, p99, p99.9, max", _spread(loop.get("work_us"))),
        ("wake p50, p99, p99.9, max", _spread(loop.get("wake_us"))),
        *disturbance_lines(summary),
        ("clock, seed", f"{summary.get('clock', '-')}, {summary.get('seed', '-')}"),
    ]


def quantity(value: Any, unit: str, digits: int, scale: float = 1.0) -> str:
    """A number, or a list of numbers, with its unit; a dash where there is none."""
    if value is None or value == []:
        return "-"
    items = value if isinstance(value, list | tuple) else [value]
    text = ", ".join("-" if item is None else f"{item * scale:.{digits}f}" for item in items)
    return f"{text} {unit}".rstrip()


def finite(value: float) -> float | None:
    """The number, or None where it is none."""
    return value if math.isfinite(value) else None


def _spread(times: Mapping[str, float] | None) -> str:
    return quantity([times.get(key) for key in ("p50", "p99", "p99_9", "max")], "us", 1) if times else "-"


def _quantiles(times_ns: NDArray[np.int64]) -> dict[str, float] | None:
    if not times_ns.size:
        return None
    p50, p99, p99_9, top = (np.quantile(times_ns, (0.5, 0.99, 0.999, 1.0)) * 1e-3).tolist()
    return {"p50": p50, "p99": p99, "p99_9": p99_9, "max": top}
