"""Calibration from a record: offset, coupling and sensitivity of force sensors, and the line of a cylinder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit  # scipy.stats would take half a second at each start

from hil.signals.traces import removed_by_coupling

Floats = NDArray[np.float64]

# The record begins without load for this time [s].
UNLOADED_S = 0.2
# Means over this time are fitted [s].
MEAN_S = 0.02
# A load counts from this share of the largest on; it acts for this time at least [s].
LOADED_SHARE, LEAST_LOADED_S = 0.3, 0.1
# A step of the force has changes from this share of the largest on.
STEP_SHARE = 0.1
# A held load is as the config says if it fades by this share more or less of what that says, and by this much [1/s]:
# weights settle, and bridges creep.
FADES_OFF_SHARE, FADES_OFF = 0.5, 0.02


# What to do about a load that fades otherwise.
COUPLING = "correct the input's kind (coupled AC or DC), or droop_s (hil calibrate droop)"


class CalibrationError(ValueError):
    """A record that does not hold what a calibration needs."""


class FittedValue(NamedTuple):
    """A value and the half-width of its 95 % interval, in the same unit."""

    value: float
    u95: float


def fit_offset(volts: Floats, rate_hz: float) -> FittedValue:
    """Reading without force [V], over a record (n,) in which none acts.

    Raises CalibrationError: too short a record, or one that drifts or holds a force.
    """
    means = _means(volts, rate_hz)
    if len(means) < 5:
        raise CalibrationError(f"{len(volts) / rate_hz:.2f} s of samples, allowed: {5 * MEAN_S:g} s or more")
    noise = float(volts[: round(MEAN_S * rate_hz)].std())
    if float(np.ptp(means)) > 10.0 * max(noise, 1e-9):
        raise CalibrationError(
            f"the reading moves by {1e3 * float(np.ptp(means)):.2g} mV with {1e3 * noise:.2g} mV of noise: a force acts"
        )
    half = float(means.std(ddof=1) / np.sqrt(len(means)) * stdtrit(len(means) - 1, 0.975))
    return FittedValue(float(means.mean()), half)


def fit_droop(volts: Floats, rate_hz: float) -> FittedValue:
    """Time constant of an AC coupling [s] from the reading (n,) of a sensor that is pressed and released.

    Once no force acts, the reading is minus its own integral over the time constant: a straight line, whatever the
    press was like.

    Raises CalibrationError: no press and release in the record, or too little of it after the release.
    """
    start = round(UNLOADED_S * rate_hz)
    reading = _means(volts - volts[:start].mean(), rate_hz)
    noise = float(volts[:start].std()) / np.sqrt(MEAN_S * rate_hz) if start < len(volts) else np.inf
    if len(reading) < 25 or reading.max() < 50.0 * noise:
        raise CalibrationError("no press of the sensor in the record, after 0.2 s without force")
    release = int(np.argmin(np.diff(reading)))
    after = release + int(np.argmin(reading[release : release + 25])) + 2
    if len(reading) - after < 15 or reading[after - 2 :].min() > -20.0 * noise:
        raise CalibrationError("the reading does not swing negative after a release for 0.3 s: no droop to fit")
    integral = (np.cumsum(reading) - 0.5 * reading) * MEAN_S
    design = np.column_stack([-integral[after:], np.ones(len(reading) - after)])
    solution, *_ = np.linalg.lstsq(design, reading[after:], rcond=None)
    left = reading[after:] - design @ solution
    rate = float(solution[0])
    if rate <= 0.0:
        raise CalibrationError("the reading does not return to zero after the release")
    freedom = len(left) - 2
    spread = float(np.sqrt((left @ left) / freedom * np.linalg.inv(design.T @ design)[0, 0]))
    return FittedValue(1.0 / rate, spread * float(stdtrit(freedom, 0.975)) / rate**2)


def fit_fading(volts: Floats, rate_hz: float) -> FittedValue | None:
    """How fast the reading (n,) of a held load fades [1/s]: 1 / the time constant of an AC coupling, 0 of a DC one.

    From one step of the force to the next, the reading and its own integral times this rate add up to a constant. None:
    no force was put on and held, after `UNLOADED_S` without one.
    """
    start = round(UNLOADED_S * rate_hz)
    if start >= len(volts):
        return None
    reading = _means(volts - volts[:start].mean(), rate_hz)
    change = np.abs(np.diff(reading))
    noise = float(volts[:start].std()) / np.sqrt(MEAN_S * rate_hz)
    if not len(change) or change.max() < 50.0 * max(noise, 1e-9):
        return None
    steps = np.flatnonzero(change > STEP_SHARE * change.max())
    ends = [*steps[1:], len(reading)]
    held = [slice(a + 2, b - 1) for a, b in zip(steps, ends, strict=True) if (b - a - 3) * MEAN_S >= LEAST_LOADED_S]
    if not held:
        return None
    integral = (np.cumsum(reading) - 0.5 * reading) * MEAN_S
    faded, passed = (
        np.concatenate([values[one] - values[one].mean() for one in held]) for values in (reading, integral)
    )
    if (weight := float(passed @ passed)) <= 0.0:
        return None
    rate = -float(faded @ passed) / weight
    left = faded + rate * passed
    freedom = max(len(left) - len(held) - 1, 1)
    return FittedValue(rate, float(np.sqrt(left @ left / freedom / weight) * stdtrit(freedom, 0.975)))


def fading(volts: Floats, rate_hz: float, droop_s: float) -> tuple[bool, str, str]:
    """Whether held loads of a record (n,) fade as a time constant [s] says, how they do, and how they should."""
    expected = 1.0 / droop_s
    slack = FADES_OFF_SHARE * expected + FADES_OFF
    allowed = f"{max(expected - slack, 0.0):.2g} to {expected + slack:.2g} a second"
    allowed += f" at a droop_s of {droop_s:g}" if expected > FADES_OFF else ", since its input is coupled DC"
    if (found := fit_fading(volts, rate_hz)) is None:
        return True, "not seen: no force was put on and held", allowed
    return abs(found.value - expected) <= slack + found.u95, f"a held load fades by {found.value:.2g} a second", allowed


def fit_sensitivity(
    volts: Floats, rate_hz: float, droop_s: float, droop_u95: float, weights_N: Sequence[float]
) -> FittedValue:
    """Sensitivity [V/N] from known weights, each put on and taken off, in their order.

    The first 0.2 s of the reading (n,) [V] are without load; `droop_u95` is the half-width of the 95 % interval of the
    time constant, relative.

    Raises CalibrationError: another number of loads in the record, or they fade otherwise than the time constant says.
    """
    fades, found, allowed = fading(volts, rate_hz, droop_s)
    if not fades:
        raise CalibrationError(f"{found}, allowed: {allowed}; {COUPLING}")
    reading = volts - volts[: round(UNLOADED_S * rate_hz)].mean()
    drooped = removed_by_coupling(reading[:, None], rate_hz, np.array([droop_s]))[:, 0]
    force, drooped = _means(reading + drooped, rate_hz), _means(drooped, rate_hz)
    if not len(force):
        raise CalibrationError("no samples")
    largest = float(np.median(np.sort(force)[-max(len(force) // 20, 1) :]))
    loaded = force > LOADED_SHARE * largest * min(weights_N) / max(weights_N)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], loaded.astype(int), [0]])))
    spans = [(a, b) for a, b in edges.reshape(-1, 2).tolist() if (b - a) * MEAN_S >= LEAST_LOADED_S]
    if len(spans) != len(weights_N):
        raise CalibrationError(f"{len(spans)} loads in the record, allowed: {len(weights_N)}, one a weight")
    middles = [slice(a + (b - a) // 4, b - (b - a) // 4) for a, b in spans]
    levels = np.array([float(np.median(force[middle])) for middle in middles])
    weights = np.array(weights_N)
    value = float(levels @ weights / (weights @ weights))
    scatter_V = np.array([float(force[middle].std()) for middle in middles])
    coupling_V = np.array([float(np.median(drooped[middle])) for middle in middles]) * droop_u95
    left, freedom = levels - value * weights, len(weights) - 1
    if freedom:
        spread = float(np.sqrt(left @ left / freedom / (weights @ weights)) * stdtrit(freedom, 0.975))
    else:
        spread = 1.96 * float(scatter_V[0]) / float(weights[0])
    systematic = float(coupling_V @ weights / (weights @ weights))
    return FittedValue(value, float(np.hypot(spread, systematic)))


def _means(values: Floats, rate_hz: float) -> Floats:
    count = max(round(MEAN_S * rate_hz), 1)
    rows = len(values) // count
    means: Floats = values[: rows * count].reshape(rows, count).mean(axis=1)
    return means


# A pressure that stays within this share of its whole range for this time is one of the steps.
STEADY_SHARE, STEADY_S = 0.03, 0.4
# Of a step, what comes first is left out: loads and legs settle.
SETTLING_S = 0.2
# Steps that a calibration needs, and how far apart they have to be in all [Pa].
LEAST_STEPS, LEAST_RANGE_PA = 3, 20e3
# A slope whose 95 % interval is wider than this share of it is none.
WIDEST = 0.2


class Step(NamedTuple):
    """A time in which the pressure was steady."""

    first: int  # its first sample, and the one after its last, as for a slice
    end: int  # see there
    pressure_Pa: float  # mean


class _CylinderFit(NamedTuple):
    """A straight line through the steps."""

    slope: FittedValue  # by the pressure difference [N/Pa or N m/Pa], with its interval
    offset: float  # at no pressure [N or N m]: friction, and what the zero left


def pressure_steps(pressure_Pa: Floats, rate_hz: float) -> list[Step]:
    """Times in which a pressure difference (n,) [Pa] was steady, each as long as possible, in order."""
    if not len(pressure_Pa):
        return []
    within = STEADY_SHARE * max(float(np.ptp(pressure_Pa)), 1e3)
    steps, first, low, high = [], 0, pressure_Pa[0], pressure_Pa[0]
    for place, value in enumerate([*pressure_Pa.tolist(), np.inf]):
        low, high = min(low, value), max(high, value)
        if high - low <= within:
            continue
        if (place - first) / rate_hz >= STEADY_S:
            begin = first + round(SETTLING_S * rate_hz)
            steps.append(Step(begin, place, float(pressure_Pa[begin:place].mean())))
        first, low, high = place, value, value
    return steps


def fit_steps(steps: Sequence[Step], loads: Sequence[float]) -> _CylinderFit:
    """The line through the loads of the steps [N or N m].

    MacMahon 2016, 6.1: "a linear relationship between pressure and force could be expected".

    Raises CalibrationError: too few steps, too close together, or not on a line.
    """
    pressures, values = np.array([step.pressure_Pa for step in steps]), np.array(loads)
    if len(steps) < LEAST_STEPS:
        raise CalibrationError(
            f"{len(steps)} steady pressures of {STEADY_S:g} s or more, allowed: {LEAST_STEPS} or more"
        )
    if np.ptp(pressures) < LEAST_RANGE_PA:
        found = f"pressures from {pressures.min() * 1e-3:.1f} to {pressures.max() * 1e-3:.1f} kPa"
        raise CalibrationError(f"{found}, allowed: {LEAST_RANGE_PA * 1e-3:g} kPa or more apart")
    design = np.column_stack([pressures, np.ones(len(steps))])
    (slope, offset), *_ = np.linalg.lstsq(design, values, rcond=None)
    left, freedom = values - design @ [slope, offset], len(steps) - 2
    spread = float(np.sqrt(left @ left / freedom / ((pressures - pressures.mean()) ** 2).sum()))
    u95 = spread * float(stdtrit(freedom, 0.975))
    if not u95 <= WIDEST * abs(slope):
        share = u95 / abs(slope) if slope else np.inf
        raise CalibrationError(
            f"a slope with a 95 % interval of {share:.0%} from {len(steps)} steps, allowed: {WIDEST:.0%}; record more"
        )
    return _CylinderFit(FittedValue(float(slope), u95), float(offset))


def joint_torques_Nm(steps: Sequence[Step], wheel_load_N: Floats, rise_mprad: Floats) -> list[float]:
    """Torque on a joint in each step, from the measured loads of the wheels, by the principle of virtual work.

    At rest the torque and the ground's forces do no work on a small turn of the joint: torque = -sum of load * rise.
    The weight of the bogie does the same work in each step; it ends up in the offset. Normal forces (n, wheels) are
    measured; `rise_mprad` (wheels,) is by how much each wheel rises if the joint turns, the others at rest [m/rad].
    """
    return [float(-(wheel_load_N[step.first : step.end].mean(axis=0) @ rise_mprad)) for step in steps]
