"""What a rig's own detector, droop correction, peak and rules say of samples that another program recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from drivers.messages import DaqBlock, DriveSample, ValveSample
from hil.analysis.energy import energy_curve
from hil.analysis.foreign_record import ForeignRecordError, ForeignSamples
from hil.config.csv_rows import write_rows
from hil.config.rig import Rig
from hil.config.whole_file import replacing
from hil.estimation.estimator import ZERO_TIME_S, Estimator
from hil.experiments.impact.acceptance import Evidence, judge, quality_rows, refusals
from hil.experiments.impact.sensing import impact_in, measured_keys, peak_keys, sensor_channels
from hil.experiments.summary import finite
from hil.messages.stages import Estimate, Samples
from hil.signals.channels import SensorChannels
from hil.signals.impact import MeasuredImpact

_SECOND_NS = 1_000_000_000


def impact_of(samples: ForeignSamples, rig: Rig) -> tuple[dict[str, Any], MeasuredImpact | None]:
    """Run the samples through the rig's estimator, block by block and tick by tick, and judge the impact in them.

    Args:
        samples: of the rig's sensors; no force acts in the first `ZERO_TIME_S`.
        rig: with force sensors.

    Returns:
        keys as in summary.json, with `cut_tick_ms` from the impact's first sample to the tick that cuts, whatever a
            drive takes then, and `effective_kinetic_energy_nominal_J`, T_c of the config's rover at its speed; and the
            impact that was measured from all samples, None: there was none.

    Raises:
        ForeignRecordError: too short, or a force acts while the sensors are zeroed.
    """
    config, sensors, estimator = rig.config, sensor_channels(rig.config), Estimator(rig)
    _check_zeroing(samples, sensors, config.detector.threshold_N)
    estimate, cut_ns = _through(samples, rig, estimator)
    impact_ns, volts = estimate.impact_ns, samples.volts
    *each_N, sum_N, _ = estimator.peaks_N
    measured = None if impact_ns is None else impact_in(sensors, samples.t_ns, volts, impact_ns)
    evidence = Evidence(
        config, estimator, estimate.saturated, impact=measured, largest_V=float(np.abs(volts).max(initial=0.0))
    )
    results = judge(evidence) if impact_ns is not None else {}
    reasons = refusals(results) if impact_ns is not None else ["no impact: no force over detector.threshold_N"]
    return {
        "accepted": not reasons,
        "reasons": reasons,
        "angle_deg": config.trial.angle_deg,
        **(peak_keys(measured, (sum_N, sum(each_N))) if impact_ns is not None else {}),
        "impact_peak_force_N": finite(estimator.impact_peak_N),
        **measured_keys(measured),
        "load_point_m": [finite(one) for one in estimator.load_points_m[1]] if config.plate else None,
        "impact_time_s": None if impact_ns is None else impact_ns / _SECOND_NS,
        "contact_duration_s": estimator.contact_duration_s,
        "cut_tick_ms": None if impact_ns is None or cut_ns is None else (cut_ns - impact_ns) * 1e-6,
        "effective_kinetic_energy_nominal_J": energy_curve(rig, [config.trial.angle_deg])["energy_J"][0],
        "quality": quality_rows(results),
        "notes": list(samples.notes),
    }, measured


def write_forces(measured: MeasuredImpact, channels: tuple[str, ...], path: Path) -> None:
    """Write the forces of an impact over time as CSV: as read, with the droop added back, and without vibration."""
    traces, kinds = measured.traces, ("raw", "corrected", "filtered")
    head = ["t_s", *(f"{channel}_{kind}_N" for kind in kinds for channel in channels)]
    rows = np.column_stack([traces.t_s, *(getattr(traces, kind) for kind in kinds)]).tolist()
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        write_rows(file, [head, *rows])


def _check_zeroing(samples: ForeignSamples, sensors: SensorChannels, allowed_N: float) -> None:
    count = round(ZERO_TIME_S * sensors.rate_hz)
    if len(samples.t_ns) <= count:
        raise ForeignRecordError(f"{len(samples.t_ns)} samples; allowed: more than {ZERO_TIME_S:g} s, for the zero")
    most_N = float(np.ptp((samples.volts[:count] * sensors.newton_per_volt).sum(axis=1)))
    if most_N >= allowed_N:
        raise ForeignRecordError(
            f"the force changes by {most_N:.3g} N in the first {ZERO_TIME_S:g} s, in which the sensors are zeroed; "
            f"allowed: below detector.threshold_N, {allowed_N:g} N: begin the data earlier, or check unit and scale"
        )


def _through(samples: ForeignSamples, rig: Rig, estimator: Estimator) -> tuple[Estimate, int | None]:
    """The last estimate, and the time of the tick that cuts [ns]: the first after the block with the impact."""
    config, daq = rig.config, rig.config.daq
    assert daq is not None
    drives, valves = DriveSample(0, 0, rig.layout.zero_speeds, -1), ValveSample(0, 0)
    no_overload, cut_ns, estimate = (False,) * len(rig.layout.channels), None, None
    for number, first in enumerate(range(0, len(samples.t_ns), daq.block_samples), start=1):
        part = slice(first, first + daq.block_samples)
        block = DaqBlock(number, samples.t_ns[part], samples.volts[part], no_overload)
        tick = -(-int(block.t_ns[-1]) * config.loop.rate_hz // _SECOND_NS)
        tick_ns = tick * _SECOND_NS // config.loop.rate_hz
        estimate = estimator.estimate(Samples(tick_ns, (block,), 0, number, drives, valves))
        if estimate.impact_ns is not None and cut_ns is None:
            cut_ns = tick_ns
    assert estimate is not None
    return estimate, cut_ns
