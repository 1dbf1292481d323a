"""Which trials count (MacMahon 2016, 6.2.6): one table of named rules instead of sorting by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hil.config import Config
from hil.estimation.estimator import SATURATION, Estimator
from hil.experiments.impact.approach import Approach
from hil.experiments.summary import finite
from hil.signals.impact import MeasuredImpact, UncertainValue
from hil.signals.traces import OVER_SHARE, Traces
from models.sensors.piezo import shares_of

# The force left after a contact is that in one of these times after it [s]: a wrong time constant shows soon, and is
# gone with the droop itself, an offset stays.
LEFT_AFTER_S = ((0.05, 0.25), (0.8, math.inf))
LEAST_ROWS = 30
# Periods of the shield in which it snaps back; a rover that was pushed off needs longer to come again.
SNAP_PERIODS = 1.0


@dataclass(frozen=True)
class Evidence:
    """What the rules judge."""

    config: Config  #: of the run
    estimator: Estimator  #: after its last tick
    saturated: bool = False  #: a sensor came to the end of its range
    cut_ms: float | None = None  #: from the impact to the sent cut [ms]; None: none was sent
    speed_mps: float | None = None  #: measured speed at the impact; None: not known
    impact: MeasuredImpact | None = None  #: measured from all samples; None: they were not kept
    largest_V: float | None = None  #: largest reading of any sensor, either sign [V]; None: not all samples were kept
    approach: Approach | None = None  #: by instruments of motion; None: there are none

    @property
    def peak_N(self) -> float:
        """Largest sum of the sensors."""
        return self.estimator.peaks_N[-2]


class _RuleResult(NamedTuple):
    """What one rule says."""

    value: float | None  #: found; None: the rule cannot judge this trial
    limit: float  #: allowed
    ok: bool | None  #: None: not judged
    reason: str = ""  #: why the trial does not count, if it does not


def judge(evidence: Evidence) -> dict[str, _RuleResult]:
    """What every rule says of a trial with an impact, by the rule's name."""
    return {name: rule(evidence) for name, rule in RULES.items()}


def quality_rows(results: dict[str, _RuleResult]) -> list[dict[str, Any]]:
    """The same as `quality` of the summary has it."""
    return [
        {
            "rule": name,
            "value": None if found.value is None else finite(found.value),
            "limit": found.limit,
            "ok": found.ok,
        }
        for name, found in results.items()
    ]


def refusals(results: dict[str, _RuleResult]) -> list[str]:
    """The reasons of the rules that refuse the trial; empty if it counts."""
    return [result.reason for result in results.values() if result.ok is False]


def _first_hit(evidence: Evidence) -> _RuleResult:
    triangle, limit = evidence.config.triangle, evidence.config.quality.first_hit_share
    first, _ = evidence.estimator.load_points_m
    if triangle is None or not math.isfinite(first[0]):
        return _RuleResult(None, limit, None)
    place = np.array(triangle.places_m)
    share = float(shares_of(place, *(place.mean(axis=0) + first)).min())
    where = f"{1e3 * first[0]:+.0f} mm across, {1e3 * first[1]:+.0f} mm up"
    return _RuleResult(share, limit, share >= limit, f"first hit outside the sensing triangle, {where}")


def _contact_ended(evidence: Evidence) -> _RuleResult:
    ended, allowed = evidence.estimator.contact_duration_s is not None, evidence.config.quality.contact_s
    reason = f"the contact did not end, allowed: {allowed:g} s (quality.contact_s): the wheel stayed on"
    return _RuleResult(float(ended), 1.0, ended, reason)


def _contact(evidence: Evidence) -> _RuleResult:
    """An impact throws the wheel off the plate; one that stays on it, or climbs it, is measured as something else."""
    allowed, found = evidence.config.quality.contact_s, evidence.estimator.contact_duration_s
    if found is None:
        return _RuleResult(None, allowed, None)
    reason = f"contact of {found:.3g} s, allowed: {allowed:g} s (quality.contact_s): the wheel stayed on"
    return _RuleResult(found, allowed, found <= allowed, reason)


def _weight(evidence: Evidence) -> _RuleResult:
    later, own_N = evidence.estimator.later_peak, evidence.estimator.impact_peak_N
    if evidence.config.plate is None or later is None or own_N <= 0.0:
        return _RuleResult(None, 1.0, None)
    force_N, after_s = later
    reason = (
        f"largest force of {force_N:.0f} N {after_s:.2f} s after the impact, whose own peak is "
        f"{own_N:.0f} N: it is weight on the obstacle or a push of the drives, not the impact"
    )
    return _RuleResult(force_N / own_N, 1.0, force_N <= own_N, reason)


def _snap_back(evidence: Evidence) -> _RuleResult:
    """A shield that was bent and let go swings: it pulls, which a plate cannot, or pushes again within its period."""
    limit, swing_N = evidence.config.quality.snap_back_share, _swing_N(evidence)
    if swing_N is None:
        return _RuleResult(None, limit, None)
    share = swing_N / evidence.peak_N
    reason = (
        f"the shield snapped back: it swung by {swing_N:.0f} N after the contact, {share:.2g} of the peak, "
        f"allowed: {limit:g} (quality.snap_back_share)"
    )
    return _RuleResult(share, limit, share <= limit, reason)


def _double_hit(evidence: Evidence) -> _RuleResult:
    """A second push after the release; that of a swinging shield is as large as its swing, and is left out."""
    limit, again_N = evidence.config.quality.double_hit_share, evidence.estimator.peaks_N[-1]
    share = max(again_N - (_swing_N(evidence) or 0.0), 0.0) / evidence.peak_N if evidence.peak_N > 0.0 else 0.0
    reason = (
        f"second hit of {again_N:.0f} N after the release, {share:.2g} of the peak, allowed: {limit:g} "
        "(quality.double_hit_share): the rover came again"
    )
    return _RuleResult(share, limit, share <= limit, reason)


def _saturated(evidence: Evidence) -> _RuleResult:
    daq, largest = evidence.config.daq, evidence.largest_V
    share = None if daq is None or largest is None else largest / daq.range_V
    return _RuleResult(share, SATURATION, not evidence.saturated, "a sensor reached the end of its range")


def _speed(evidence: Evidence) -> _RuleResult:
    limit, wanted, found = evidence.config.quality.speed_share, evidence.config.trial.speed_mps, evidence.speed_mps
    if found is None:
        return _RuleResult(None, limit, None)
    share, approach = abs(found - wanted) / wanted, evidence.approach
    by = f"measured (sd {1e3 * approach.speed_sd_mps:.2g})" if approach and approach.measured else "by twin and wheels"
    reason = (
        f"impact at {1e3 * found:.1f} mm/s {by}, wanted: {1e3 * wanted:g} mm/s within "
        f"{limit:g} of it (quality.speed_share)"
    )
    return _RuleResult(share, limit, share <= limit, reason)


def _cut_late(evidence: Evidence) -> _RuleResult:
    """The promise of the automatic release. A hand's reaction and a set time are what they are: not judged."""
    limit, found = evidence.config.quality.cut_ms, evidence.cut_ms
    if found is None or evidence.config.trial.release != "automatic":
        return _RuleResult(found, limit, None)
    reason = f"the drives were cut {found:.1f} ms after the impact, allowed: {limit:g} ms (quality.cut_ms)"
    return _RuleResult(found, limit, found <= limit, reason)


def _droop(evidence: Evidence) -> _RuleResult:
    """After the contact no force acts; what the inverted coupling of each channel leaves then is that channel's error.

    A wheel may lean on the plate with less than OVER_SHARE of the peak, by which the contact has ended; it cannot pull.
    """
    limit, impact = evidence.config.quality.droop_share, evidence.impact
    if impact is None or impact.end_s is None:
        return _RuleResult(None, limit, None)
    since_s = impact.traces.t_s - impact.end_s
    leaning_N = OVER_SHARE * np.array(evidence.estimator.peaks_N[:-2])
    errors = [
        float(np.maximum(-left, left - leaning_N).clip(0.0).sum())
        for left in (
            np.median(impact.traces.corrected[rows], axis=0)
            for rows in ((since_s > first) & (since_s <= last) for first, last in LEFT_AFTER_S)
            if rows.sum() >= LEAST_ROWS
        )
    ]
    if not errors:
        return _RuleResult(None, limit, None)
    error_N = max(errors)
    share = error_N / impact.peak_N.value
    reason = (
        f"{error_N:.1f} N of the channels left after the contact, {share:.2g} of the peak, allowed: {limit:g} "
        "(quality.droop_share): the droop of the AC coupling cannot be inverted"
    )
    return _RuleResult(share, limit, share <= limit, reason)


def _sensor_dead(evidence: Evidence) -> _RuleResult:
    limit, peaks = evidence.config.quality.sensor_share, evidence.estimator.peaks_N[:-2]
    if not peaks or evidence.peak_N <= 0.0:
        return _RuleResult(None, limit, None)
    lowest = min(range(len(peaks)), key=peaks.__getitem__)
    share, name = peaks[lowest] / evidence.peak_N, evidence.config.layout.channels[lowest].replace("_", " ")
    reason = (
        f"the sensor {name} has no signal: its peak is {share:.2g} of the sum's, allowed: {limit:g} "
        "or more (quality.sensor_share); it is dead, or the plate lifted off it"
    )
    return _RuleResult(share, limit, share >= limit, reason)


def _known(found: UncertainValue | None, limit: float) -> float | None:
    """What an instrument says, either way, if its standard deviation is at most the limit that it is held against."""
    return None if found is None or not found.standard <= limit else abs(found.value)


def _approach(evidence: Evidence) -> _RuleResult:
    """A rover that comes askew hits with one wheel before the other; only an instrument says so."""
    limit_deg = evidence.config.quality.approach_deg
    angle = evidence.approach and evidence.approach.angle_rad
    if angle is None or (off := _known(angle, math.radians(limit_deg))) is None:
        return _RuleResult(None, limit_deg, None)
    off_deg, side = math.degrees(off), "port" if angle.value > 0.0 else "starboard"
    reason = (
        f"the rover pointed {off_deg:.2f} deg to {side} of the obstacle's normal (sd "
        f"{math.degrees(angle.standard):.2g}), allowed: {limit_deg:g} deg (quality.approach_deg)"
    )
    return _RuleResult(off_deg, limit_deg, off_deg <= limit_deg, reason)


def _veer(evidence: Evidence) -> _RuleResult:
    """A rover that runs straight hits the plate at its middle, and both bumpers at once.

    An instrument of motion says where the wheel was; without one the sensors show where the force acts.
    """
    limit, plate, impact = evidence.config.quality.veer_m, evidence.config.plate, evidence.impact
    across = evidence.approach and evidence.approach.across_m
    measured_m = _known(across or None, limit)
    if across and measured_m is not None:
        off_m, side = measured_m, "port" if across.value > 0.0 else "starboard"
        what = f"hit {1e3 * off_m:.0f} mm to {side} of the wheel's line, measured (sd {1e3 * across.standard:.2g})"
    elif plate is not None:
        first, _ = evidence.estimator.load_points_m
        off_m = abs(first[0] + float(np.mean([across for across, _ in plate.places_m])))
        what = f"first hit {1e3 * off_m:.0f} mm across the plate from the wheel's line"
    else:
        lag_s = _lag_s(impact.traces) if impact else None
        off_m = math.nan if lag_s is None else lag_s * (evidence.speed_mps or evidence.config.trial.speed_mps)
        what = f"one bumper {1e3 * off_m:.0f} mm ahead of the other"
    if not math.isfinite(off_m):
        return _RuleResult(None, limit, None)
    return _RuleResult(
        off_m, limit, off_m <= limit, f"the rover veered: {what}, allowed: {1e3 * limit:g} mm (quality.veer_m)"
    )


RULES: dict[str, Callable[[Evidence], _RuleResult]] = {
    "first_hit": _first_hit,
    "contact_ended": _contact_ended,
    "contact_s": _contact,
    "weight": _weight,
    "snap_back": _snap_back,
    "double_hit": _double_hit,
    "saturated": _saturated,
    "speed": _speed,
    "cut_late": _cut_late,
    "droop": _droop,
    "sensor_dead": _sensor_dead,
    "veer": _veer,
    "approach": _approach,
}


def _swing_N(evidence: Evidence) -> float | None:
    """Largest pull after the contact, or push within the shield's period after it [N]; None: not known."""
    impact, end_ns, daq = evidence.impact, evidence.estimator.contact_end_ns, evidence.config.daq
    if impact is None or end_ns is None or daq is None or evidence.peak_N <= 0.0:
        return None
    since_s = impact.traces.t_s - 1e-9 * end_ns
    after = impact.traces.corrected[since_s > 0.0].sum(axis=1)
    soon = after[: int((since_s <= SNAP_PERIODS / daq.ring_hz).sum() - (since_s <= 0.0).sum())]
    if not len(soon):
        return None
    risen = soon - np.minimum.accumulate(soon)  # a force that dies out slowly does not rise
    return max(-float(after.min()), float(risen.max()), 0.0)


def _lag_s(traces: Traces) -> float | None:
    """Between the first rises of two bumpers to a tenth of their own peaks [s]; None: one was not hit."""
    begun = []
    for force, noise in zip(traces.filtered.T, traces.noise, strict=True):
        over = np.flatnonzero(force > 0.1 * force.max())
        if force.max() < 10.0 * noise or not over.size:
            return None
        begun.append(float(traces.t_s[over[0]]))
    return max(begun) - min(begun)
