"""The sensor samples of a record: which are kept, and that none of those is lost."""

import numpy as np
import pytest

from drivers.types import DaqBlock
from hil.record import Recorder, read_trial
from hil.rows import BLOCK, event_row

RATE = 30_000
S = 1_000_000_000


def recorder(path, **more):
    return Recorder(path, **({"meta": {}, "channels": 3, "sample_rate_hz": RATE, "before_s": 0.5} | more))


def block(t_ns, volts, sequence=1):
    return DaqBlock(sequence, t_ns, volts, (False, True, False))


def impact(record, t_ns):
    record.event(event_row(0, "impact", 1, t_ns))


def samples(seconds, seed=0):
    n = int(seconds * RATE)
    t_ns = np.round(np.arange(n) * (S / RATE)).astype(np.int64)
    return t_ns, np.random.default_rng(seed).normal(size=(n, 3))


def feed(record, t_ns, volts, *, size=30, trigger_ns=None, told_after_ns=2_000_000):
    """Blocks in order; the trigger comes a little after the sample it is about, as from a detector."""
    told = trigger_ns is None
    for k in range(0, len(t_ns), size):
        record.block(block(t_ns[k : k + size], volts[k : k + size], k // size + 1))
        if not told and t_ns[min(k + size, len(t_ns)) - 1] >= trigger_ns + told_after_ns:
            impact(record, trigger_ns)
            told = True


@pytest.mark.parametrize("size", [1, 7, 30, 1500, 60_000])
def test_burst_holds_every_sample_from_half_a_second_before(tmp_path, size):
    t_ns, volts = samples(2.0 if size == 1 else 5.0)
    trigger_ns = int(t_ns[int(1.2 * RATE)]) + 5  # between two samples
    with recorder(tmp_path) as record:
        feed(record, t_ns, volts, size=size, trigger_ns=trigger_ns)
    expected = (t_ns >= trigger_ns - S // 2) & (t_ns <= trigger_ns + 2 * S)
    trial = read_trial(tmp_path)
    np.testing.assert_array_equal(trial.daq_t_ns, t_ns[expected])
    np.testing.assert_array_equal(trial.raw, volts[expected])


@pytest.mark.parametrize("told_after_ns", [0, 1_000_000, 200_000_000])
def test_late_trigger_costs_no_sample(tmp_path, told_after_ns):
    t_ns, volts = samples(4.5)
    with recorder(tmp_path) as record:
        feed(record, t_ns, volts, trigger_ns=2 * S, told_after_ns=told_after_ns)
    kept = read_trial(tmp_path).daq_t_ns
    np.testing.assert_array_equal(kept, t_ns[(t_ns >= 1.5 * S) & (t_ns <= 4 * S)])


def test_early_impact_keeps_what_there_was(tmp_path):
    t_ns, volts = samples(1.0)
    with recorder(tmp_path) as record:
        feed(record, t_ns, volts, trigger_ns=S // 10)
    np.testing.assert_array_equal(read_trial(tmp_path).daq_t_ns, t_ns)


def test_only_the_first_trigger_counts(tmp_path):
    t_ns, volts = samples(3.0)
    with recorder(tmp_path, after_s=0.5) as record:
        feed(record, t_ns, volts, trigger_ns=S)
        impact(record, int(2.5 * S))
    kept = read_trial(tmp_path).daq_t_ns
    np.testing.assert_array_equal(kept, t_ns[(t_ns >= 0.5 * S) & (t_ns <= 1.5 * S)])


def test_without_an_impact_the_last_half_second_is_kept(tmp_path):
    t_ns, volts = samples(3.0)
    with recorder(tmp_path) as record:
        feed(record, t_ns, volts)
    kept = t_ns >= t_ns[-1] - S // 2
    trial = read_trial(tmp_path)
    np.testing.assert_array_equal(trial.daq_t_ns, t_ns[kept])
    np.testing.assert_array_equal(trial.raw, volts[kept])


def test_block_may_be_reused_by_its_owner(tmp_path):
    t_ns, volts = samples(0.01)
    with recorder(tmp_path) as record:
        for k in range(0, 300, 30):
            mine_t, mine_v = t_ns[k : k + 30].copy(), volts[k : k + 30].copy()
            record.block(block(mine_t, mine_v))
            mine_t[:], mine_v[:] = -1, np.nan
    np.testing.assert_array_equal(read_trial(tmp_path).raw, volts)


@pytest.mark.parametrize("t_ns", [[5, 5], [6, 5], [3, 4], [4, 9]])
def test_doubled_or_backward_samples_are_refused(tmp_path, t_ns):
    with recorder(tmp_path) as record:
        record.block(block(np.array([3, 4]), np.zeros((2, 3))))
        with pytest.raises(ValueError, match="strictly increasing"):
            record.block(block(np.array(t_ns), np.zeros((2, 3))))
    assert read_trial(tmp_path).daq_t_ns.tolist() == [3, 4]


def test_block_of_another_shape_is_refused(tmp_path):
    with recorder(tmp_path) as record, pytest.raises(ValueError, match=r"allowed: \(n,\) and \(n, 3\)"):
        record.block(block(np.array([3, 4]), np.zeros((3, 2))))


def test_empty_blocks_are_fine(tmp_path):
    with recorder(tmp_path) as record:
        record.block(block(np.zeros(0, np.int64), np.zeros((0, 3))))
    assert read_trial(tmp_path).raw.shape == (0, 3)


def test_without_a_window_every_sample_is_kept(tmp_path):
    t_ns, volts = samples(3.0)
    with recorder(tmp_path, before_s=None) as record:
        feed(record, t_ns, volts, trigger_ns=S)
    trial = read_trial(tmp_path)
    np.testing.assert_array_equal(trial.daq_t_ns, t_ns)
    np.testing.assert_array_equal(trial.raw, volts)


def test_each_block_is_told_of_also_where_its_samples_are_not_kept(tmp_path):
    t_ns, volts = samples(2.0)
    with recorder(tmp_path) as record:
        feed(record, t_ns, volts, size=60)
    blocks = read_trial(tmp_path).blocks
    assert blocks.dtype == BLOCK
    np.testing.assert_array_equal(blocks["sequence"], np.arange(1, 1001))
    np.testing.assert_array_equal(blocks["t_ns"], t_ns[::60])
    assert (blocks["samples"] == 60).all()
    assert (blocks["overload"] == [0, 1, 0]).all()
