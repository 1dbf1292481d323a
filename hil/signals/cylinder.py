"""Calibration of an air cylinder: torque on its joint, or force, from the pressure in its chambers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from hil.signals.calibration import CalibrationError, Fitted

Floats = NDArray[np.float64]

# A pressure that stays within this share of its whole range for this time is one of the steps.
STEADY_SHARE, STEADY_S = 0.03, 0.4
# Of a step, what comes first is left out: loads and legs settle.
SETTLING_S = 0.2
# Steps that a calibration needs, and how far apart they have to be in all [Pa].
LEAST_STEPS, LEAST_RANGE_PA = 3, 20e3
# A slope whose 95 % interval is wider than this share of it is none.
WIDEST = 0.2


class Step(NamedTuple):
    """A time in which the pressure was steady.

    Attributes:
        first: its first sample, and the one after its last, as for a slice.
        end: see there.
        pressure_Pa: mean.
    """

    first: int
    end: int
    pressure_Pa: float


class _CylinderFit(NamedTuple):
    """A straight line through the steps.

    Attributes:
        slope: by the pressure difference [N/Pa or N m/Pa], with its interval.
        offset: at no pressure [N or N m]: friction, and what the zero left.
        steps: how many there were.
        largest_error: of a step from the line [N or N m].
    """

    slope: Fitted
    offset: float
    steps: int
    largest_error: float


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

    Raises:
        CalibrationError: too few steps, too close together, or not on a line.
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
    u95 = spread * float(student.ppf(0.975, freedom))
    if not u95 <= WIDEST * abs(slope):
        share = u95 / abs(slope) if slope else np.inf
        raise CalibrationError(
            f"a slope with a 95 % interval of {share:.0%} from {len(steps)} steps, allowed: {WIDEST:.0%}; record more"
        )
    return _CylinderFit(Fitted(float(slope), u95), float(offset), len(steps), float(np.abs(left).max()))


def joint_torques_Nm(steps: Sequence[Step], wheel_load_N: Floats, rise_mprad: Floats) -> list[float]:
    """Torque on a joint in each step, from the measured loads of the wheels, by the principle of virtual work.

    At rest the torque and the ground's forces do no work on a small turn of the joint: torque = -sum of load * rise.
    The weight of the bogie does the same work in each step; it ends up in the offset.

    Args:
        steps: see there.
        wheel_load_N: (n, wheels) measured normal forces.
        rise_mprad: (wheels,) by which each wheel rises if the joint turns, the others at rest [m/rad].
    """
    return [float(-(wheel_load_N[step.first : step.end].mean(axis=0) @ rise_mprad)) for step in steps]
