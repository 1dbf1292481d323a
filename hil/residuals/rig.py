"""Residuals of wheels, motors, load channels, cylinders and sample times."""

from __future__ import annotations

import numpy as np

from hil.messages.layout import SAMPLED, Layout
from hil.residuals.evidence import Floats, RunEvidence, extreme_mean, lag_s

# Means while the rover drives leave out so much after its start [s].
STARTED_S = 1.0
# A pressure is compared once its command has stood for so long [s], within so much [Pa].
STOOD_S, STOOD_PA = 0.3, 3e3
# Parts into which a run is cut for the drift of a sample clock; the least age in each is free of waiting.
CLOCK_PARTS = 8


def sampled_links(layout: Layout) -> tuple[str, ...]:
    """Links with a sample clock."""
    return tuple(link for link in SAMPLED if link in layout.links)


def wheel_speed(evidence: RunEvidence) -> Floats:
    """(wheels,) measured less commanded speed, the largest mean over `RESIDUAL_WINDOW_S` [rad/s]."""
    errors = evidence.ticks["wheel_speed_radps"] - evidence.steady
    return extreme_mean(errors, evidence.config.loop.rate_hz)


def speed_lag_ms(evidence: RunEvidence) -> Floats:
    """(wheels,) [ms]."""
    return 1e3 * lag_s(evidence.ticks["wheel_speed_radps"], evidence.commanded, evidence.config.loop.rate_hz)


def current_share(evidence: RunEvidence) -> Floats:
    """(wheels,) current while driving, a part of all."""
    means = _currents_A(evidence)
    shares: Floats = means / means.sum()
    return shares


def current_sum_A(evidence: RunEvidence) -> Floats:
    """(1,) of all motors while driving [A]."""
    return np.array([_currents_A(evidence).sum()])


def supply_V(evidence: RunEvidence) -> Floats:
    """(supplies,) while the drives are cut [V]."""
    rows = ~evidence.driven & (evidence.ticks["power_t_ns"] >= 0)
    return _means(evidence.ticks["supply_V"][rows])


def load_sum(evidence: RunEvidence) -> Floats:
    """(1,) measured over predicted sum of the wheel loads, less 1, the largest mean over `RESIDUAL_WINDOW_S`."""
    measured, twin = evidence.ticks["wheel_load_N"].sum(axis=1), evidence.ticks["normal_force_N"].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return extreme_mean((measured / twin - 1.0)[:, None], evidence.config.loop.rate_hz)


def wheel_load_N(evidence: RunEvidence) -> Floats:
    """(wheels,) measured less predicted load, mean while driving [N]."""
    return _means((evidence.ticks["wheel_load_N"] - evidence.ticks["normal_force_N"])[_under_way(evidence)])


def pull(evidence: RunEvidence) -> Floats:
    """(1,) pull over the motors' thrust, mean over the last second of driving."""
    rows, config = _under_way(evidence), evidence.config
    motor, ticks = config.drives.axle_motor, evidence.ticks[rows][-config.loop.rate_hz :]
    if not len(ticks):
        return np.full(1, np.nan)
    torque_Nm = motor.stall_torque_Nm * (ticks["duty"] - ticks["wheel_speed_radps"] / motor.no_load_radps)
    thrust_N = (torque_Nm / config.wheel_radii_m).sum(axis=1)
    return np.array([float(ticks["pull_N"].mean() / thrust_N.mean())])


def pressure_kPa(evidence: RunEvidence) -> Floats:
    """(chambers,) measured less commanded pressure where the command has stood, the larger mean of on and off [kPa]."""
    commanded, ticks = evidence.pressure_commanded_Pa, round(STOOD_S * evidence.config.loop.rate_hz)
    error = evidence.ticks["pressure_Pa"] - commanded
    count = commanded.shape[0]
    deviation_kPa = np.full(commanded.shape[1:], np.nan)
    if count <= ticks:
        return deviation_kPa.reshape(-1)
    stood = np.zeros(commanded.shape, np.bool_)
    stood[ticks:] = (np.abs(commanded[ticks:] - commanded[:-ticks]) <= STOOD_PA) & (
        (commanded[ticks:] > 0.0) == (commanded[:-ticks] > 0.0)
    )
    stood &= np.isfinite(error)
    for place in np.ndindex(deviation_kPa.shape):
        parts = [stood[:, *place] & ((commanded[:, *place] > 0.0) == on) for on in (False, True)]
        means = [float(error[rows, *place].mean()) for rows in parts if rows.sum() >= ticks]
        deviation_kPa[place] = 1e-3 * max(means, key=abs) if means else np.nan
    return deviation_kPa.reshape(-1)


def pressure_lag_ms(evidence: RunEvidence) -> Floats:
    """(chambers,) [ms]."""
    commanded = evidence.pressure_commanded_Pa.reshape(len(evidence.ticks), -1)
    measured = evidence.ticks["pressure_Pa"].reshape(len(evidence.ticks), -1)
    return 1e3 * lag_s(measured, commanded, evidence.config.loop.rate_hz)


def pressure_missing(evidence: RunEvidence) -> Floats:
    """(chambers,) share of ticks without a pressure."""
    missing: Floats = (~np.isfinite(evidence.ticks["pressure_Pa"])).mean(axis=0).reshape(-1)
    return missing


def age_ms(evidence: RunEvidence) -> Floats:
    """(links,) median age of the newest sample [ms]."""
    return np.array([1e-6 * float(np.median(_ages_ns(evidence, link))) for link in evidence.config.layout.links])


def clock_ppm(evidence: RunEvidence) -> Floats:
    """(links,) by how much the sample clock loses against the machine's [ppm]: the age of the newest sample grows."""
    return np.array([_drift_ppm(evidence, link) for link in sampled_links(evidence.config.layout)])


def _drift_ppm(evidence: RunEvidence, link: str) -> float:
    parts = np.array_split(np.arange(len(evidence.ticks)), CLOCK_PARTS)
    if len(parts[0]) < CLOCK_PARTS:
        return np.nan
    ages = _ages_ns(evidence, link)
    at = np.array([part[int(np.argmin(ages[part]))] for part in parts])
    return float(np.polyfit(evidence.ticks["t_ns"][at].astype(np.float64), ages[at], 1)[0] * 1e6)


def _ages_ns(evidence: RunEvidence, link: str) -> Floats:
    ticks = evidence.ticks
    field = {"daq": "daq_age_ns", "loads": "load_age_ns"}.get(link)
    ages = ticks["t_ns"] - ticks[f"{link}_t_ns"] if field is None else ticks[field]
    return np.asarray(ages, np.float64)


def _currents_A(evidence: RunEvidence) -> Floats:
    return _means(np.abs(evidence.ticks["current_A"][_under_way(evidence)]))


def _under_way(evidence: RunEvidence) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(ticks,) driven, and for `STARTED_S` at least."""
    driven = evidence.driven
    count = round(STARTED_S * evidence.config.loop.rate_hz)
    total = np.cumsum(driven)
    under_way = driven.copy()
    under_way[:count] = False
    if len(driven) > count:
        under_way[count:] &= total[count:] - total[:-count] >= count
    return under_way


def _means(values: Floats) -> Floats:
    return values.mean(axis=0) if len(values) else np.full(values.shape[1:], np.nan)
