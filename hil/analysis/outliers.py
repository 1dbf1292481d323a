"""Which trials lie farther from the others of their angle than chance explains. They are named, never left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from hil.analysis.statistics import LEVEL

# A trial beside one other says nothing of which of both is odd.
LEAST_TRIALS = 3
# Trials less means, and less the one that is judged.
LEAST_FREEDOM = 4


@dataclass(frozen=True)
class TrialDeviation:
    """How far a trial lies from the others of its angle.

    Attributes:
        place: of the trial, in what was given.
        share: its force over the mean (geometric) of the others at its angle, less 1.
        p: probability that the farthest of so many trials lies this far by chance, at most (Bonferroni); without the
            trials before it in the list.
        outlying: whether chance does not explain it.
    """

    place: int
    share: float
    p: float
    outlying: bool = False


def outliers(angles_deg: Sequence[float], force_N: Sequence[float]) -> list[TrialDeviation]:
    """The trials that outlie, farthest first; or else the one that lies farthest. Empty: there are too few to judge.

    Of each trial the logarithm of its force is held against the mean of the others at its angle, by the scatter of all
    other trials about the means of their angles (externally studentised residual). An outlier hides others by the
    scatter that it adds: so up to a fifth of the trials are set aside one by one, the farthest first, and all up to the
    last that was beyond chance outlie (Rosner 1983, generalised extreme studentised deviate).

    Args:
        angles_deg: of the trials (trials,) [deg].
        force_N: their peaks (trials,) [N], positive.
    """
    left, found = list(range(len(force_N))), list[TrialDeviation]()
    while len(found) < max(1, len(force_N) // 5) and (farthest := _farthest(left, angles_deg, force_N)):
        found.append(farthest)
        left.remove(farthest.place)
    last = max((number for number, one in enumerate(found, 1) if one.p < 1.0 - LEVEL), default=0)
    return [replace(one, outlying=True) for one in found[:last]] or found[:1]


def _farthest(places: Sequence[int], angles_deg: Sequence[float], force_N: Sequence[float]) -> TrialDeviation | None:
    angle, log_F = np.array([angles_deg[place] for place in places]), np.log([force_N[place] for place in places])
    _, at, counts = np.unique(angle, return_inverse=True, return_counts=True)
    freedom = len(places) - len(counts) - 1
    if freedom < LEAST_FREEDOM or counts.max() < LEAST_TRIALS:
        return None
    means = np.bincount(at, log_F) / counts
    residual, of_angle = log_F - means[at], counts[at]
    judged = of_angle >= LEAST_TRIALS
    free = np.where(judged, 1.0 - 1.0 / of_angle, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = ((residual**2).sum() - residual**2 / free).clip(min=0.0) / freedom
        t = np.where(judged, np.abs(residual) / np.sqrt(others * free), -math.inf)
    if np.isnan(t).any():  # all alike
        return None
    first = int(t.argmax())
    p = min(1.0, 2.0 * float(stats.t.sf(t[first], freedom)) * int(judged.sum()))
    return TrialDeviation(places[first], float(np.expm1(residual[first] / free[first])), p)
