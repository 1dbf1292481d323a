"""The sensor samples of a record: which ones are kept, and that none of these is lost."""

import numpy as np
import pytest

from hil.messages.layout import SENSORS, Layout
from hil.messages.signals import block_dtype
from hil.recording import RecordWriter, read_trial
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
BLOCK = block_dtype(LAYOUT)

RATE = 30_000
S = 1_000_000_000


def recorder(path, **more):
    return RecordWriter(path, **({"meta": {}, "layout": LAYOUT, "rates_hz": {"daq": RATE}, "before_s": 0.5} | more))


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 30, 1500, 60_000])
def test_burst_holds_every_sample_from_half_a_second_before(tmp_path, size, daq):
    t_ns, volts = daq.samples(2.0 if size == 1 else 5.0)
    trigger_ns = int(t_ns[int(1.2 * RATE)]) + 5  # between two samples
    with recorder(tmp_path) as record:
        daq.feed(record, t_ns, volts, size=size, trigger_ns=trigger_ns)
    expected = (t_ns >= trigger_ns - S // 2) & (t_ns <= trigger_ns + 2 * S)
    trial = read_trial(tmp_path, trusted=True)
    np.testing.assert_array_equal(trial.daq_t_ns, t_ns[expected])
    np.testing.assert_array_equal(trial.raw, volts[expected])


@pytest.mark.slow
@pytest.mark.parametrize("trigger_delay_ns", [0, 1_000_000, 200_000_000])
def test_late_trigger_costs_no_sample(tmp_path, trigger_delay_ns, daq):
    t_ns, volts = daq.samples(4.5)
    with recorder(tmp_path) as record:
        daq.feed(record, t_ns, volts, trigger_ns=2 * S, trigger_delay_ns=trigger_delay_ns)
    kept = read_trial(tmp_path, trusted=True).daq_t_ns
    np.testing.assert_array_equal(kept, t_ns[(t_ns >= 1.5 * S) & (t_ns <= 4 * S)])


def test_early_impact_keeps_what_there_was(tmp_path, daq):
    t_ns, volts = daq.samples(1.0)
    with recorder(tmp_path) as record:
        daq.feed(record, t_ns, volts, trigger_ns=S // 10)
    np.testing.assert_array_equal(read_trial(tmp_path, trusted=True).daq_t_ns, t_ns)


def test_only_the_first_trigger_counts(tmp_path, daq):
    t_ns, volts = daq.samples(3.0)
    with recorder(tmp_path, after_s=0.5) as record:
        daq.feed(record, t_ns, volts, trigger_ns=S)
        daq.impact(record, int(2.5 * S))
    kept = read_trial(tmp_path, trusted=True).daq_t_ns
    np.testing.assert_array_equal(kept, t_ns[(t_ns >= 0.5 * S) & (t_ns <= 1.5 * S)])


def test_without_an_impact_the_last_half_second_is_kept(tmp_path, daq):
    t_ns, volts = daq.samples(3.0)
    with recorder(tmp_path) as record:
        daq.feed(record, t_ns, volts)
    kept = t_ns >= t_ns[-1] - S // 2
    trial = read_trial(tmp_path, trusted=True)
    np.testing.assert_array_equal(trial.daq_t_ns, t_ns[kept])
    np.testing.assert_array_equal(trial.raw, volts[kept])


def test_block_may_be_reused_by_its_owner(tmp_path, daq):
    t_ns, volts = daq.samples(0.01)
    with recorder(tmp_path) as record:
        for k in range(0, 300, 30):
            mine_t, mine_v = t_ns[k : k + 30].copy(), volts[k : k + 30].copy()
            record.block(daq.block(mine_t, mine_v))
            mine_t[:], mine_v[:] = -1, np.nan
    np.testing.assert_array_equal(read_trial(tmp_path, trusted=True).raw, volts)


@pytest.mark.parametrize("t_ns", [[5, 5], [6, 5], [3, 4], [4, 9]])
def test_doubled_or_backward_samples_are_refused(tmp_path, t_ns, daq):
    with recorder(tmp_path) as record:
        record.block(daq.block(np.array([3, 4]), np.zeros((2, 3))))
        with pytest.raises(ValueError, match="strictly increasing"):
            record.block(daq.block(np.array(t_ns), np.zeros((2, 3))))
    assert read_trial(tmp_path, trusted=True).daq_t_ns.tolist() == [3, 4]


def test_block_of_another_shape_is_refused(tmp_path, daq):
    with recorder(tmp_path) as record, pytest.raises(ValueError, match=r"allowed: \(n,\) and \(n, 3\)"):
        record.block(daq.block(np.array([3, 4]), np.zeros((3, 2))))


def test_empty_blocks_are_fine(tmp_path, daq):
    with recorder(tmp_path) as record:
        record.block(daq.block(np.zeros(0, np.int64), np.zeros((0, 3))))
    assert read_trial(tmp_path, trusted=True).raw.shape == (0, 3)


def test_without_a_window_every_sample_is_kept(tmp_path, daq):
    t_ns, volts = daq.samples(3.0)
    with recorder(tmp_path, before_s=None) as record:
        daq.feed(record, t_ns, volts, trigger_ns=S)
    trial = read_trial(tmp_path, trusted=True)
    np.testing.assert_array_equal(trial.daq_t_ns, t_ns)
    np.testing.assert_array_equal(trial.raw, volts)


def test_each_block_is_told_of_also_where_its_samples_are_not_kept(tmp_path, daq):
    t_ns, volts = daq.samples(2.0)
    with recorder(tmp_path) as record:
        daq.feed(record, t_ns, volts, size=60)
    blocks = read_trial(tmp_path, trusted=True).blocks
    assert blocks.dtype == BLOCK
    np.testing.assert_array_equal(blocks["sequence"], np.arange(1, 1001))
    np.testing.assert_array_equal(blocks["t_ns"], t_ns[::60])
    assert (blocks["samples"] == 60).all()
    assert (blocks["overload"] == [0, 1, 0]).all()
