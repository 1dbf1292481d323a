"""Which trials count (MacMahon 2016, 6.2.6): rules instead of sorting by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.config import Config
from hil.config.schema.equipment import DaqConfig
from hil.estimation.estimator import Estimator
from hil.experiments.impact.experiment import ImpactExperiment
from hil.experiments.summary import common_reasons
from hil.safety.monitor import SafetyMonitor
from models.sensors.piezo import shares_of

# A sensor that bears less than this share of the first hit was not really inside the triangle's reach.
LEAST_SHARE = 0.03
# After the release, a force of this part of the peak is a shield that snapped back, or a second impact.
SECOND_HIT = 0.5


def reasons_against(
    config: Config,
    trial: ImpactExperiment,
    safety: SafetyMonitor,
    estimator: Estimator,
    saturated: bool,
    beside: Callable[[int], str] = lambda _: "",
) -> list[str]:
    """Why this trial does not count; empty if it does. `beside` says what disturbed a fault of a time [ns]."""
    reasons = common_reasons(trial, safety, beside)
    if trial.timed_out:
        reasons.append(f"no impact within trial.timeout_s, {config.trial.timeout_s:g} s")
    if trial.impact_tick_ns is None:
        return reasons
    if trial.hit_standing:
        reasons.append("the obstacle was hit before the run-up")
    if config.triangle:
        reasons += _outside(config.triangle, estimator)
    if saturated or safety.warnings:
        reasons.append("a sensor reached the end of its range")
    reasons += _contact(config, estimator)
    *_, peak, again = estimator.peaks_N
    if again > SECOND_HIT * peak:
        reasons.append(
            f"second hit of {again:.0f} N after the release: the shield snapped back, or the rover came again"
        )
    return reasons


def _contact(config: Config, estimator: Estimator) -> list[str]:
    """An impact throws the wheel off the plate; one that stays on it, or climbs it, is measured as something else."""
    allowed_s, found_s = config.quality.contact_s, estimator.contact_duration_s
    reasons = []
    if found_s is None:
        reasons.append(f"the contact did not end, allowed: {allowed_s:g} s (quality.contact_s): the wheel stayed on")
    elif found_s > allowed_s:
        reasons.append(f"contact of {found_s:.3g} s, allowed: {allowed_s:g} s (quality.contact_s): the wheel stayed on")
    if config.triangle and (later := estimator.later_peak):
        force_N, after_s = later
        if force_N > estimator.impact_peak_N:
            reasons.append(
                f"largest force of {force_N:.0f} N {after_s:.2f} s after the impact, whose own peak is "
                f"{estimator.impact_peak_N:.0f} N: it is the weight on the obstacle, not the impact"
            )
    return reasons


def _outside(triangle: DaqConfig, estimator: Estimator) -> list[str]:
    first, _ = estimator.load_points_m
    place = np.array(triangle.places_m)
    on_plate = place.mean(axis=0) + first
    if shares_of(place, *on_plate).min() >= LEAST_SHARE:
        return []
    return [f"first hit outside the sensing triangle, {1e3 * first[0]:+.0f} mm across, {1e3 * first[1]:+.0f} mm up"]
