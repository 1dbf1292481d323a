"""What an impact trial comes down to: its part of summary.json, and the table in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from hil.experiments.base import Finished, Summary
from hil.experiments.impact.acceptance import Evidence, judge, quality_rows, reasons_against
from hil.experiments.impact.experiment import ImpactExperiment
from hil.experiments.impact.sensing import (
    GROUSER_KEYS,
    PEAK_KEYS,
    grouser_keys,
    measured_impact,
    measured_keys,
    measured_speed_mps,
    peak_keys,
)
from hil.experiments.impact.strain import STRAIN_ROWS, strain_keys
from hil.experiments.summary import finite, loop_rows, quantity, summary_table, verdict_rows
from hil.messages.fault import Fault

# name, key of the summary, unit, digits, scale
_QUANTITIES = (
    ("obstacle angle", "angle_deg", "°", 1, 1.0),
    ("impact speed", "impact_speed_mps", "mm/s", 1, 1e3),
    ("peak force, sum of sensors", "peak_force_N", "N", 1, 1.0),
    ("95 % interval, half", "peak_force_u95_N", "N", 1, 1.0),
    ("with vibration left in", "corrected_peak_force_N", "N", 1, 1.0),
    ("95 % interval, half", "corrected_peak_force_u95_N", "N", 1, 1.0),
    ("the same, of the impact itself", "impact_peak_force_N", "N", 1, 1.0),
    ("sum of the channels' peaks", "sum_of_peaks_N", "N", 1, 1.0),
    ("peak contact force, plant", "contact_force_peak_N", "N (both wheels)", 1, 1.0),
    ("T_c, twin", "effective_kinetic_energy_J", "J", 4, 1.0),
    ("T_c, plant", "effective_kinetic_energy_plant_J", "J", 4, 1.0),
    ("T_c with the ground, twin", "effective_kinetic_energy_on_ground_J", "J", 4, 1.0),
    ("T_c with the ground, plant", "effective_kinetic_energy_plant_on_ground_J", "J", 4, 1.0),
    ("load point", "load_point_m", "mm (across, up)", 1, 1e3),
    ("grouser offset at the impact", "grouser_offset_deg", "°", 1, 1.0),
    ("contact duration", "contact_duration_s", "ms", 1, 1e3),
    ("impulse", "impulse_Ns", "N s", 3, 1.0),
    ("rise time", "rise_time_s", "ms", 1, 1e3),
    ("vibration removed", "vibration_hz", "Hz", 1, 1.0),
    ("speed by twin and wheels", "impact_speed_measured_mps", "mm/s", 1, 1e3),
    ("onset at", "onset_s", "s", 4, 1.0),
    ("cut latency", "cut_latency_ms", "ms", 2, 1.0),
    ("impact at", "impact_time_s", "s", 4, 1.0),
)


def impact_summary(run: Finished) -> Summary:
    """Keys as docs/reference/summary.md lists them, numbers finite or None."""
    config, cycle, ground_truth = run.config, run.cycle, run.ground_truth
    trial, estimator = run.experiment, cycle.estimator
    assert isinstance(trial, ImpactExperiment)
    impact_ns = cycle.tick_logger.impact_ns
    *channel_peaks, peak, _ = estimator.peaks_N
    hit = ground_truth.hit_ns is not None
    impact = trial.impact_tick_ns is not None and impact_ns is not None
    cut_ms, speed_mps = _span_ms(impact_ns, cycle.tick_logger.stopped_ns), measured_speed_mps(run)
    measured = measured_impact(run) if impact else None
    saturated = any(event.fault is Fault.ADC_SATURATED for event in cycle.safety.warnings)
    evidence = Evidence(
        config, estimator, cycle.tick_logger.saturated or saturated, cut_ms, speed_mps, measured,
        float(abs(run.samples[1]).max()) if run.samples and len(run.samples[1]) else None,
    )  # fmt: skip
    verdicts = judge(evidence) if impact else {}
    reasons = reasons_against(config, trial, cycle.safety, verdicts, run.beside)
    peaks = peak_keys(measured, (peak, sum(channel_peaks))) if impact else dict.fromkeys(PEAK_KEYS)
    return {
        "angle_deg": config.trial.angle_deg,
        "impact_speed_mps": finite(ground_truth.hit_speed) if hit else None,
        "contact_force_peak_N": finite(ground_truth.contact_force_peak) if hit else None,
        "impact_speed_measured_mps": speed_mps,
        **peaks,
        "impact_peak_force_N": finite(estimator.impact_peak_N) if impact else None,
        **strain_keys(run),
        **measured_keys(measured),
        **(grouser_keys(run) if impact else dict.fromkeys(GROUSER_KEYS)),
        "effective_kinetic_energy_J": finite(cycle.twin.energy_at_impact_J),
        "effective_kinetic_energy_plant_J": finite(ground_truth.effective_kinetic_energy_when_hit()) if hit else None,
        "effective_kinetic_energy_on_ground_J": finite(cycle.twin.energy_on_ground_at_impact_J()),
        "effective_kinetic_energy_plant_on_ground_J": (
            finite(ground_truth.effective_kinetic_energy_on_ground_when_hit()) if hit else None
        ),
        "load_point_m": [finite(value) for value in estimator.load_points_m[1]] if impact and config.plate else None,
        "impact_time_s": impact_ns * 1e-9 if impact_ns is not None else None,
        "contact_duration_s": estimator.contact_duration_s,
        "release": config.trial.release,
        "cut_latency_ms": cut_ms,
        "cut_effective_ms": None if _cut_before(trial) else _span_ms(impact_ns, ground_truth.cut_ns),
        "accepted": trial.done and not reasons,
        "reasons": reasons,
        "quality": quality_rows(verdicts),
    }


def impact_table(summary: Mapping[str, Any]) -> Table:
    """The table of a trial for the terminal, the verdict first.

    Args:
        summary: As in `summary.json`; what is null or missing shows as a dash.
    """
    quantities = (*_QUANTITIES, *(row for row in STRAIN_ROWS if row[1] in summary))
    rows = [(name, quantity(summary.get(key), unit, digits, scale)) for name, key, unit, digits, scale in quantities]
    return summary_table("Impact trial", [*verdict_rows(summary), *rows, *loop_rows(summary)])


def _cut_before(trial: ImpactExperiment) -> bool:
    """Whether the release had cut the drives before the impact, so that none of its latencies exists."""
    return trial.released_ns is not None and trial.released_ns < (trial.impact_tick_ns or 0)


def _span_ms(from_ns: int | None, to_ns: int | None) -> float | None:
    return (to_ns - from_ns) * 1e-6 if from_ns is not None and to_ns is not None else None
