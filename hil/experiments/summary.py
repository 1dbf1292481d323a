"""summary.json: the part that every run has, and means and quantiles of values that are seen block by block."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.config.files import replacing
from hil.config.unchecked_config import fingerprint
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.summary_table import long_ticks_summary, machine_summary, simulated_rig_summary
from hil.messages.signals import PHASES
from hil.recording.content import Recorded, in_blocks
from hil.recording.file_layout import RECOVERED
from hil.recording.reader import read_digests
from hil.simulator.ground_truth import GroundTruth
from hil.version import running_version


class FieldMeans:
    """Sums of fields so far.

    Args:
        axes: over which each field is summed: 0, its elements apart, or None, all of them together.
    """

    def __init__(self, axes: Mapping[str, int | None]) -> None:
        self._axes = axes
        self._sums: dict[str, Any] = {}
        self._numbers: dict[str, int] = {}
        self.count = 0

    def add(self, rows: NDArray[np.void]) -> None:
        """Take in rows."""
        self.count += len(rows)
        for field, axis in self._axes.items() if len(rows) else ():
            values = rows[field]
            self._numbers[field] = self._numbers.get(field, 0) + (len(rows) if axis == 0 else values.size)
            if field not in self._sums:
                self._sums[field] = values.sum(axis=axis)
            elif axis == 0:  # elements are summed row by row, as they would be all at once
                self._sums[field] = np.concatenate([self._sums[field][None], values]).sum(axis=0)
            else:
                self._sums[field] = self._sums[field] + values.sum()

    def sum(self, field: str) -> Any:
        """Of a field; 0 of no rows."""
        return self._sums.get(field, 0.0)

    def mean(self, field: str) -> Any:
        """Of a field; of no rows there is none. Raises KeyError: there were none."""
        return self._sums[field] / self._numbers[field]


SHARES = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999, "max": 1.0}


class TimeCounts:
    """How often each time came: whole ns, of which many ticks have the same."""

    def __init__(self) -> None:
        self.times_ns: NDArray[np.int64] = np.zeros(0, np.int64)  #: (values,) those that came, rising [ns]
        self.counts: NDArray[np.int64] = np.zeros(0, np.int64)  #: (values,) how often

    def add(self, times_ns: NDArray[Any]) -> None:
        """Count times (n,) [ns]."""
        new, counts = np.unique(times_ns, return_counts=True)
        both, places = np.unique(np.concatenate([self.times_ns, new]), return_inverse=True)
        merged = np.zeros(both.size, np.int64)
        np.add.at(merged, places, np.concatenate([self.counts, counts]))
        self.times_ns, self.counts = both, merged

    def quantiles_us(self) -> dict[str, float] | None:
        """Quantiles of `SHARES` [us], to the bit those of numpy over all times; None: nothing was counted."""
        if not self.counts.size:
            return None
        last = np.cumsum(self.counts) - 1  # rank of the last of each time
        found = {}
        for name, share in SHARES.items():
            rank = share * int(last[-1])
            around = np.searchsorted(last, [int(rank), min(int(rank) + 1, int(last[-1]))])
            found[name] = float(np.quantile(self.times_ns[around], rank - int(rank))) * 1e-3
        return found


FILE_NAME = "summary.json"


def run_summary(run: FinishedRun) -> Summary:
    """What every run's summary holds: keys as docs/reference/summary.md lists them, numbers finite or None."""
    config, cycle, clock, plant_loop = run.config, run.cycle, run.clock, run.plant_loop
    experiment, ticks, took = run.experiment, cycle.tick_logger.ticks, _times_us(run.timing)
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
            "work_us": took["work"],
            "wake_us": clock.wake_us,
            "plant_us": plant_loop["cost_us"] if plant_loop else took["plant"],
            "phases_us": {phase: took[phase] for phase in PHASES},
            "far_end": {key: plant_loop[key] for key in ("ticks", "late", "skipped")} if plant_loop else None,
        },
        "links": run.links,
        **disturbances(run.events, config.rig, real_time=config.clock == "realtime"),
        "real_time_factor": (ticks + clock.skipped) / config.loop.rate_hz / run.wall_s if run.wall_s > 0.0 else None,
        "config_sha256": config.sha256(),
        "version": running_version(),
    }


def disturbances(events: NDArray[np.void], rig: str, *, real_time: bool) -> Summary:
    """Keys `machine` and `simulated_rig`; None in virtual time, and None of a rig that is not simulated."""
    return {
        "machine": machine_summary(events) if real_time else None,
        "simulated_rig": simulated_rig_summary(events) if real_time and rig != "real" else None,
    }


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


def finite(value: float) -> float | None:
    """The number, or None where it is none."""
    return value if math.isfinite(value) else None


def _times_us(timing: Recorded) -> dict[str, dict[str, float] | None]:
    """Quantiles of each time of `TIMING` [us], by its name without the unit."""
    counted = {name: TimeCounts() for name in ("work", "plant", *PHASES)}
    for rows in in_blocks(timing):
        for name, counts in counted.items():
            counts.add(rows[f"{name}_ns"])
    return {name: counts.quantiles_us() for name, counts in counted.items()}
