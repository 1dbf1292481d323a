"""Trials that lie far from the others of their angle are named, and trials of a good campaign are not."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.statistics import outliers

ANGLES = [angle for angle in (40.0, 60.0, 80.0) for _ in range(5)]


def forces(seed=3, noise=0.05):
    random = np.random.default_rng(seed)
    return [(60.0 + angle) * float(np.exp(noise * random.standard_normal())) for angle in ANGLES]


def test_a_trial_far_off_is_named_with_its_share():
    F = forces()
    F[7] *= 1.6
    (found,) = outliers(ANGLES, F)
    others = np.exp(np.mean(np.log(F[5:7] + F[8:10])))
    assert (found.place, found.outlying) == (7, True)
    assert found.share == pytest.approx(F[7] / others - 1.0)


def test_one_outlier_does_not_hide_another():
    F = forces()
    F[2] *= 0.5
    F[7] *= 2.0
    assert [found.place for found in outliers(ANGLES, F) if found.outlying] in ([2, 7], [7, 2])


def test_of_good_trials_the_farthest_is_given_and_is_no_outlier():
    (found,) = outliers(ANGLES, forces())
    assert not found.outlying
    assert 0.0 < abs(found.share) < 0.3


def test_one_good_campaign_in_twenty_names_a_trial_by_chance():
    named = sum(outliers(ANGLES, forces(seed))[0].outlying for seed in range(400))
    assert named <= 34  # 20 + 3.2 standard deviations


def test_a_trial_beside_one_other_is_never_named():
    angles, F = [*ANGLES, 90.0, 90.0, 30.0], [*forces(), 100.0, 300.0, 5.0]
    assert all(found.place < len(ANGLES) for found in outliers(angles, F))


@pytest.mark.parametrize("count", [0, 1, 4, 6])
def test_too_few_trials_are_not_judged(count):
    assert outliers(ANGLES[:count], forces()[:count]) == []


def test_trials_that_are_all_alike_are_no_outliers():
    assert outliers(ANGLES, [60.0 + angle for angle in ANGLES]) == []
