"""summary.json: what a trial comes down to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import hil
from hil.clock import Clock
from hil.config import Config
from hil.cycle import Cycle
from hil.disturbances import beside, machine_summary, simulated_rig_summary
from hil.rows import PHASES
from hil.trials.quality import reasons_against
from hil.trials.state import ImpactTrial, State

FILE_NAME = "summary.json"


class PlantTruth(Protocol):
    """What only a simulated rig can tell."""

    @property
    def contact_force_peak(self) -> float:
        """Over both front wheels [N]."""

    @property
    def hit_speed(self) -> float:
        """[m/s]."""

    @property
    def hit_ns(self) -> int | None:
        """[ns]."""

    @property
    def cut_ns(self) -> int | None:
        """When the rig obeyed the first cut after that [ns]."""

    def effective_kinetic_energy_when_hit(self) -> float:
        """[J]."""


def summarise(
    config: Config,
    cycle: Cycle,
    trial: ImpactTrial,
    clock: Clock,
    truth: PlantTruth,
    timing: NDArray[np.void],
    events: NDArray[np.void],
    far_end: Mapping[str, Any] | None,
    links: Mapping[str, Any] | None,
    wall_s: float,
) -> dict[str, Any]:
    """The summary of a finished run: keys as docs/reference.md lists them, numbers finite or None.

    Args:
        config: of the run.
        cycle: that ran.
        trial: that it made.
        clock: that made it beat.
        truth: of the simulated rig.
        timing: what the ticks took, rows of `TIMING`.
        events: of the record, rows of `EVENT`.
        far_end: how a simulated rig in its own process kept up.
        links: health of each link to real devices.
        wall_s: how long the loop ran [s].
    """
    estimator = cycle.estimator
    impact_ns, cut_ns = cycle.scribe.impact_ns, trial.impact_tick_ns
    *channel_peaks, peak, _ = estimator.peaks_N
    triangle = config.daq.layout == "triangle"
    hit = truth.hit_ns is not None
    reasons = reasons_against(config, trial, cycle.safety, estimator, cycle.scribe.saturated, partial(beside, events))
    ticks = cycle.scribe.ticks
    impact = cut_ns is not None and impact_ns is not None
    return {
        "angle_deg": config.trial.angle_deg,
        "impact_speed_mps": _finite(truth.hit_speed) if hit else None,
        "contact_force_peak_N": _finite(truth.contact_force_peak) if hit else None,
        "peak_force_N": _finite(peak) if impact else None,
        "impact_peak_force_N": _finite(estimator.impact_peak_N) if impact else None,
        "sum_of_peaks_N": _finite(sum(channel_peaks)) if impact else None,
        "effective_kinetic_energy_J": _finite(cycle.twin.energy_at_impact_J),
        "effective_kinetic_energy_plant_J": _finite(truth.effective_kinetic_energy_when_hit()) if hit else None,
        "load_point_m": [_finite(value) for value in estimator.load_points_m[1]] if impact and triangle else None,
        "impact_time_s": impact_ns * 1e-9 if impact_ns is not None else None,
        "contact_duration_s": estimator.contact_duration_s,
        "cut_latency_ms": _span_ms(impact_ns, cycle.scribe.stopped_ns),
        "cut_effective_ms": _span_ms(impact_ns, truth.cut_ns),
        "accepted": trial.state is State.DONE and not reasons,
        "reasons": reasons,
        "aborted": trial.state is not State.DONE or cycle.safety.safe,
        "clock": config.clock,
        "seed": config.seed,
        "loop": {
            "rate_hz": config.loop.rate_hz,
            "ticks": ticks,
            "late": clock.late,
            "skipped": clock.skipped,
            "work_us": _quantiles(timing["work_ns"]),
            "wake_us": clock.wake_us,
            "plant_us": far_end["cost_us"] if far_end else _quantiles(timing["plant_ns"]),
            "phases_us": {phase: _quantiles(timing[f"{phase}_ns"]) for phase in PHASES},
            "far_end": {key: far_end[key] for key in ("ticks", "late", "skipped")} if far_end else None,
        },
        "links": links,
        **disturbances(config, events),
        "real_time_factor": (ticks + clock.skipped) / config.loop.rate_hz / wall_s if wall_s > 0.0 else None,
        "config_sha256": config.sha256(),
        "version": hil.__version__,
    }


def disturbances(config: Config, events: NDArray[np.void]) -> dict[str, Any]:
    """Keys `machine` and `simulated_rig`; None in virtual time, and None of a rig that is not simulated."""
    real_time = config.clock == "realtime"
    return {
        "machine": machine_summary(events) if real_time else None,
        "simulated_rig": simulated_rig_summary(events) if real_time and config.rig != "real" else None,
    }


def write_summary(folder: Path, summary: dict[str, Any]) -> None:
    """Write summary.json, strict JSON."""
    text = json.dumps(summary, indent=2, allow_nan=False)
    (folder / FILE_NAME).write_text(text + "\n", encoding="utf-8")


def _span_ms(from_ns: int | None, to_ns: int | None) -> float | None:
    return (to_ns - from_ns) * 1e-6 if from_ns is not None and to_ns is not None else None


def _quantiles(times_ns: NDArray[np.int64]) -> dict[str, float] | None:
    if not times_ns.size:
        return None
    p50, p99, p99_9, top = (np.quantile(times_ns, (0.5, 0.99, 0.999, 1.0)) * 1e-3).tolist()
    return {"p50": p50, "p99": p99, "p99_9": p99_9, "max": top}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
