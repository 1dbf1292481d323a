"""The sample clock, in virtual time: a device with a deviating rate, and blocks with random delays."""

from __future__ import annotations

import numpy as np
import pytest

from drivers.ni.daq import SLEW, SampleClock

RATE = 30_000
BLOCK = 60
START_NS = 5_000_000_000


def run(seconds, *, ppm=0.0, late_ns=lambda k, rng: rng.exponential(200_000), rate=RATE, delay_ns=0, seed=3):
    """A clock that has received blocks; true and estimated times of all samples, and the clock."""
    rng = np.random.default_rng(seed)
    clock = SampleClock(rate, delay_ns)
    true_rate = rate * (1 + ppm * 1e-6)
    stamped_ns, arrived_ns = [], 0
    blocks = int(seconds * rate / BLOCK)
    for k in range(blocks):
        taken_ns = START_NS + ((k + 1) * BLOCK - 1) * 1e9 / true_rate
        arrived_ns = max(arrived_ns, round(taken_ns + late_ns(k, rng)))  # blocks do not overtake each other
        clock.observe(BLOCK, arrived_ns)
        if k >= 50:  # as the driver does: the first are discarded
            stamped_ns.append(clock.stamp(BLOCK))
    true = START_NS + np.arange(50 * BLOCK, blocks * BLOCK) * 1e9 / true_rate
    return true, np.concatenate(stamped_ns), clock


def test_punctual_blocks_give_the_times_of_their_samples():
    true, stamped_ns, clock = run(3, late_ns=lambda k, rng: 0)
    assert np.abs(stamped_ns - true).max() <= 2
    assert clock.rate_hz == pytest.approx(RATE, rel=1e-9)
    assert clock.offset_ns == pytest.approx(START_NS, abs=2)


@pytest.mark.slow
@pytest.mark.parametrize("ppm", [-50, 0, 50])
def test_jitter_is_taken_out_of_a_drifting_clock(ppm):
    true, stamped_ns, clock = run(30, ppm=ppm)
    error_ns = stamped_ns - true
    assert np.abs(error_ns[20 * RATE :]).max() < 50_000  # of jitter whose mean is 200 us, and 95th percentile 600
    assert (clock.rate_hz / RATE - 1) * 1e6 == pytest.approx(ppm, abs=8)


@pytest.mark.slow
def test_a_drift_believed_absent_would_be_seen():
    """50 ppm over the 30 s are 1.5 ms: the bound of the test above can fail."""
    true, stamped_ns, _ = run(30, ppm=50)
    nominal = stamped_ns[0] + np.arange(len(stamped_ns)) * 1e9 / RATE
    assert np.abs(nominal - true).max() > 1_000_000


def test_a_burst_of_late_blocks_does_not_move_the_times():
    def late(k, rng):
        return 50_000_000 if 5_000 <= k < 5_020 else rng.exponential(50_000)

    true, stamped_ns, _ = run(20, late_ns=late)
    assert np.abs(stamped_ns - true).max() < 100_000


@pytest.mark.slow
def test_a_line_that_gets_longer_for_good_is_believed_when_the_window_is_over():
    true, stamped_ns, _ = run(30, late_ns=lambda k, rng: (0 if k < 5_000 else 1_000_000) + rng.exponential(20_000))
    error_ns = stamped_ns - true
    assert np.abs(error_ns[: 9 * RATE]).max() < 200_000
    assert error_ns[-1] == pytest.approx(1_000_000, abs=60_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_times_always_grow_and_never_run_off(seed):
    _, stamped_ns, _ = run(8, ppm=100, late_ns=lambda k, rng: rng.pareto(1.2) * 100_000, seed=seed)
    steps = np.diff(stamped_ns)
    assert steps.min() > 1e9 / RATE * (1 - 2 * SLEW) - 1
    assert steps.max() < 1e9 / RATE * (1 + 2 * SLEW) + 1


def test_a_late_first_block_is_made_good_at_the_bounded_slew():
    rng = np.random.default_rng(0)
    clock = SampleClock(RATE)
    errors = []
    for k in range(2_000):
        true_ns = START_NS + np.arange(k * BLOCK, (k + 1) * BLOCK) * 1e9 / RATE
        clock.observe(BLOCK, round(true_ns[-1] + (1_500_000 if k == 0 else rng.exponential(20_000))))
        errors.append(clock.stamp(BLOCK)[-1] - true_ns[-1])
    assert errors[0] == pytest.approx(1_500_000, abs=10)
    assert errors[500] == pytest.approx(500_000, abs=30_000)  # 1 s at 1000 ppm
    assert abs(errors[-1]) < 30_000


def test_the_next_block_is_due_when_the_least_late_one_would_come():
    true, _, clock = run(3, late_ns=lambda k, rng: 150_000, delay_ns=7)
    assert clock.due_ns(BLOCK) == pytest.approx(true[-1] + BLOCK * 1e9 / RATE + 150_000, abs=5)


def test_a_delay_is_taken_off_the_times():
    _, without, _ = run(1)
    _, stamped_ns, clock = run(1, delay_ns=380_000)
    assert np.array_equal(without - stamped_ns, np.full(len(stamped_ns), 380_000))
    assert clock.offset_ns == pytest.approx(START_NS - 380_000, abs=200_000)


def test_a_drift_is_told_from_a_line_that_only_got_longer_by_no_more_than_a_clock_can_drift():
    """Lateness that grows without end is not a clock: the rate stays within what a crystal and a slewed host allow."""
    _, _, clock = run(15, late_ns=lambda k, rng: k * 20_000)
    assert (RATE / clock.rate_hz - 1) * 1e6 == pytest.approx(600, abs=1)
