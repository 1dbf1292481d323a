import math
import statistics

import numpy as np
import pytest
from scipy import stats

from hil.analysis.statistics import (
    exponent_over_angles,
    fit_sqrt,
    over_angle,
    paired,
    power_law,
    rank_correlation,
    spread_of,
    stratified_difference,
    welch,
)

FIVE = (181.0, 276.0, 310.0, 205.5, 244.0)


def test_spread_is_that_of_the_standard_library_and_of_a_table_of_t():
    found = spread_of(FIVE)
    assert found.n == 5
    assert found.mean == pytest.approx(statistics.fmean(FIVE))
    assert found.standard_deviation == pytest.approx(statistics.stdev(FIVE))
    assert found.mean_absolute_deviation == pytest.approx(sum(abs(x - statistics.fmean(FIVE)) for x in FIVE) / 5)
    half = 2.776445 * statistics.stdev(FIVE) / math.sqrt(5)  # t of 4 degrees of freedom, 0.975: printed tables
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half), rel=1e-6)


def test_one_value_has_a_mean_and_no_interval():
    found = spread_of((7.0,))
    assert (found.n, found.mean, found.mean_absolute_deviation) == (1, 7.0, 0.0)
    assert found.standard_deviation is found.low is found.high is None


def test_the_interval_holds_the_true_mean_in_ninety_five_of_a_hundred_samples():
    random = np.random.default_rng(1)
    found = [spread_of(sample) for sample in random.normal(200.0, 20.0, (2000, 4))]
    assert 0.935 < np.mean([one.low < 200.0 < one.high for one in found]) < 0.965


def test_values_are_put_together_by_angle_in_rising_order():
    found = over_angle([90.0, 40.0, 90.0], [3.0, 1.0, 5.0])
    assert list(found) == [40.0, 90.0]
    assert (found[90.0].n, found[90.0].mean) == (2, 4.0)


def test_rank_correlation_of_few_pairs_counts_all_orders():
    x, y = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.3, 0.1, 0.4, 0.9, 0.5, 0.9]
    found = rank_correlation(x, y)
    expected = stats.permutation_test(
        (y,), lambda order: stats.spearmanr(x, order).statistic, permutation_type="pairings", n_resamples=math.inf
    )
    assert found.exact
    assert found.rho == pytest.approx(np.corrcoef(stats.rankdata(x), stats.rankdata(y))[0, 1])
    assert found.p == pytest.approx(expected.pvalue)


def test_a_perfect_trend_of_five_is_one_order_of_a_hundred_and_twenty_either_way():
    found = rank_correlation([1, 2, 3, 4, 5], [10, 20, 30, 40, 1000])
    assert (found.rho, found.p) == (pytest.approx(1.0), pytest.approx(2 / 120))


@pytest.mark.slow
def test_rank_correlation_of_many_pairs_has_the_p_of_shuffled_ones():
    random = np.random.default_rng(3)
    x = random.normal(size=24)
    y = 0.4 * x + random.normal(size=24)
    found = rank_correlation(x.tolist(), y.tolist())
    shuffled = [abs(stats.spearmanr(x, random.permutation(y)).statistic) for _ in range(4000)]
    assert not found.exact
    assert found.p == pytest.approx(np.mean(np.array(shuffled) >= abs(found.rho)), abs=0.02)


@pytest.mark.parametrize(("x", "y"), [([1, 2], [3, 4]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [5, 5, 5])])
def test_there_is_no_rank_correlation_of_too_few_or_equal_values(x, y):
    assert rank_correlation(x, y) is None


def noisy_forces(seed=2):
    random = np.random.default_rng(seed)
    T = random.uniform(0.05, 0.25, 30)
    return T, 400.0 * T**0.56 + random.normal(0.0, 3.0, 30)


def test_the_square_root_law_is_the_linear_least_squares_of_the_root():
    T, F = noisy_forces()
    found = fit_sqrt(T.tolist(), F.tolist())
    (a,), (squares,), *_ = np.linalg.lstsq(np.sqrt(T)[:, None], F, rcond=None)
    assert found.a == pytest.approx(a)
    assert found.rms_N == pytest.approx(math.sqrt(squares / 30))
    assert found.residuals_N == pytest.approx(tuple(F - a * np.sqrt(T)))
    assert found.force_N(np.array([0.04])) == pytest.approx([0.2 * a])


def test_the_power_law_has_the_exponent_of_the_means_with_its_interval_and_no_other():
    angles, T = np.repeat([30.0, 45.0, 60.0, 90.0], 3), np.repeat([0.05, 0.08, 0.15, 0.25], 3)
    F = 400.0 * T**0.56 * np.tile([0.9, 1.0, 1.2], 4)
    exponent = exponent_over_angles(*(values.tolist() for values in (angles, T, F)))
    found = power_law(exponent, T.tolist(), F.tolist())
    assert (found.b, found.b_low, found.b_high) == pytest.approx((exponent.b, exponent.low, exponent.high))
    assert found.a == pytest.approx(400.0 * (0.9 * 1.0 * 1.2) ** (1 / 3))
    assert found.residuals_N == pytest.approx(tuple(F - found.a * T**0.56))


def noisy_exponent(seed):
    random = np.random.default_rng(seed)
    angles = np.repeat([40.0, 50.0, 60.0, 70.0, 80.0, 90.0], 4)
    T = np.repeat(random.uniform(0.05, 0.25, 6), 4)
    F = 400.0 * T**0.56 * np.exp(random.normal(0.0, 0.03, 24))
    return exponent_over_angles(*(values.tolist() for values in (angles, T, F)))


@pytest.mark.slow
def test_the_interval_of_the_exponent_holds_the_true_one_in_ninety_five_of_a_hundred_campaigns():
    found = [noisy_exponent(seed) for seed in range(400)]
    assert 0.92 < np.mean([one.low < 0.56 < one.high for one in found]) < 0.98


def test_too_few_angles_have_no_power_law():
    assert fit_sqrt([], []) is None
    two = exponent_over_angles([30.0, 60.0], [0.1, 0.2], [10.0, 20.0])
    assert power_law(two, [0.1, 0.2], [10.0, 20.0]) is None


def test_the_difference_of_two_groups_is_welchs():
    first, second = FIVE, (300.0, 310.0, 305.0, 308.0)
    found = welch(first, second)
    test = stats.ttest_ind(second, first, equal_var=False)
    interval = test.confidence_interval(0.95)
    assert found.value == pytest.approx(np.mean(second) - np.mean(first))
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.p, found.freedom) == pytest.approx((test.pvalue, test.df))


@pytest.mark.parametrize("first", [(1.0,), (2.0, 2.0)])
def test_a_difference_without_spread_has_no_interval(first):
    found = welch(first, (3.0,) * len(first))
    assert found.value == 3.0 - first[0]
    assert found.low is found.high is found.p is None


@pytest.mark.slow
def test_over_all_angles_each_angle_counts_once_and_the_interval_covers():
    random = np.random.default_rng(5)
    sizes, levels = ((3, 9), (6, 4), (5, 5)), (100.0, 200.0, 150.0)
    covered = []
    for _ in range(1500):
        strata = [
            (random.normal(level, 5.0, n), random.normal(level + 7.0, 12.0, m))
            for level, (n, m) in zip(levels, sizes, strict=True)
        ]
        found = stratified_difference(strata)
        assert found.value == pytest.approx(np.mean([second.mean() - first.mean() for first, second in strata]))
        covered.append(found.low < 7.0 < found.high)
    assert 0.93 < np.mean(covered) < 0.97


def test_rows_without_one_of_the_numbers_are_left_out():
    rows = [{"a": 1, "b": 2.0}, {"a": None, "b": 2.0}, {"b": 1.0}, {"a": math.nan, "b": 1.0}, {"a": "3", "b": 1.0}]
    assert list(paired(rows, "a", "b")) == [(1.0, 2.0)]
