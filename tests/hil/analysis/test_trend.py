"""Whether forces follow T_c: the verdict is the one of the law they were made by, and no more than the data bear."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hil.analysis.statistics import TrendVerdict, exponent_over_angles

ANGLES = (40.0, 50.0, 60.0, 70.0, 80.0, 90.0)
ENERGY = dict(zip(ANGLES, (0.10, 0.13, 0.17, 0.21, 0.25, 0.28), strict=True))


def made(exponent, noise, repeats=4, seed=1, angles=ANGLES):
    random = np.random.default_rng(seed)
    rows = [
        (angle, ENERGY[angle], 200.0 * ENERGY[angle] ** exponent * np.exp(noise * random.standard_normal()))
        for angle in angles
        for _ in range(repeats)
    ]
    return [list(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize(
    ("exponent", "noise", "verdict", "how"),
    [
        (0.5, 0.02, TrendVerdict.FOLLOWS, ""),
        (1.5, 0.02, TrendVerdict.DIFFERS, "faster"),
        (0.2, 0.02, TrendVerdict.DIFFERS, "more slowly"),
        (-0.5, 0.02, TrendVerdict.DIFFERS, "falls where T_c rises"),
        (0.0, 0.02, TrendVerdict.DIFFERS, "excluded, and none is shown"),
        (0.5, 0.6, TrendVerdict.NOT_SHOWN, ""),
    ],
)
def test_the_verdict_is_that_of_the_law_the_forces_were_made_by(exponent, noise, verdict, how):
    found = exponent_over_angles(*made(exponent, noise))
    assert found.verdict == verdict
    assert how in found.how
    assert bool(found.how) == bool(how)


def test_the_exponent_is_the_slope_of_the_means_of_the_angles_and_not_of_the_trials():
    angles, T, F = made(0.5, 0.1)
    found = exponent_over_angles(angles, T, F)
    means = [np.mean([np.log(f) for a, f in zip(angles, F, strict=True) if a == angle]) for angle in ANGLES]
    line = stats.linregress(np.log([ENERGY[angle] for angle in ANGLES]), means)
    half = stats.t.ppf(0.975, len(ANGLES) - 2) * line.stderr
    assert (found.b, found.low, found.high) == pytest.approx((line.slope, line.slope - half, line.slope + half))


def test_more_trials_at_the_same_angles_do_not_make_their_common_errors_small():
    """Means that lie off the law stay off it, however often each is measured."""
    humps = dict(zip(ANGLES, (1.1, 0.9, 1.1, 0.9, 1.1, 0.9), strict=True))
    widths = []
    for repeats in (3, 300):
        angles, T, F = made(0.5, 0.01, repeats)
        found = exponent_over_angles(angles, T, [f * humps[a] for a, f in zip(angles, F, strict=True)])
        widths.append(found.high - found.low)
    assert widths[1] > 0.9 * widths[0]


def test_a_law_that_leaves_the_means_off_it_is_told_from_one_that_does_not():
    assert exponent_over_angles(*made(0.5, 0.05)).p_of_spring > 0.05
    angles, T, F = made(0.5, 0.02)
    found = exponent_over_angles(angles, T, [f * (1.2 if a == 60.0 else 1.0) for a, f in zip(angles, F, strict=True)])
    assert found.p_of_spring < 0.001
    assert found.farthest_deg == 60.0
    assert 0.1 < found.farthest_share < 0.2


@pytest.mark.slow
def test_an_interval_that_is_95_percent_wide_misses_one_in_twenty():
    missed = sum(
        not found.low <= 0.5 <= found.high
        for found in (exponent_over_angles(*made(0.5, 0.1, seed=seed)) for seed in range(400))
    )
    assert 8 <= missed <= 34  # 20 +- 3.2 standard deviations


@pytest.mark.parametrize("angles", [(), ANGLES[:1], ANGLES[:2]])
def test_fewer_than_three_angles_are_no_trend(angles):
    found = exponent_over_angles(*(made(0.5, 0.02, angles=angles) if angles else ([], [], [])))
    assert (found.verdict, found.b, found.angles) == (TrendVerdict.TOO_FEW, None, len(angles))


def test_an_energy_that_never_changes_says_nothing():
    angles, _, F = made(0.5, 0.02)
    assert exponent_over_angles(angles, [0.2] * len(F), F).verdict == TrendVerdict.TOO_FEW


def test_single_trials_have_no_scatter_to_hold_the_law_against():
    assert exponent_over_angles(*made(0.5, 0.02, repeats=1)).p_of_spring is None
