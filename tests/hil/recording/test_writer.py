"""The guarantees for the record `trial.h5`."""

import weakref

import h5py
import numpy as np
import pytest

from hil.messages.layout import SENSORS, Layout
from hil.messages.link_messages import EVENT, TIMING, event_row
from hil.messages.signals import tick_dtype
from hil.recording import RecordError, RecordWriter, read_trial
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
TICK = tick_dtype(LAYOUT)

RATE = 30_000
S = 1_000_000_000
META = {
    "config": "angle_deg: 50\nname: Prüfstand\n",
    "version": "0.1.0",
    "wall_time": "2026-11-20T10:00:00Z",
    "seed": 7,
}


def recorder(path, **more):
    return RecordWriter(path, **({"meta": META, "layout": LAYOUT, "rates_hz": {"daq": RATE}, "before_s": 0.5} | more))


def rows(n, rate_hz=1000):
    out = np.zeros(n, TICK)
    out["tick"] = np.arange(n)
    out["t_ns"] = np.arange(n) * (S // rate_hz)
    out["force_sum_N"] = np.sin(np.arange(n))
    return out


def times(tick, work_ns, plant_ns):
    out = np.zeros(1, TIMING)
    out["tick"], out["work_ns"], out["plant_ns"] = tick, work_ns, plant_ns
    return out


@pytest.mark.slow
@pytest.mark.parametrize("rate_hz", [100, 1000, 4000])
@pytest.mark.parametrize("flush_ns", [1, 40_000_000, 10 * S])
def test_no_tick_is_lost_whatever_rate_and_flush(tmp_path, rate_hz, flush_ns):
    given = rows(1000, rate_hz)
    with recorder(tmp_path, flush_ns=flush_ns) as record:
        for i, row in enumerate(given):
            record.tick(row)
            record.timing(times(i, 10 * i, i))
    trial = read_trial(tmp_path)
    assert trial.tick.tobytes() == given.tobytes()
    assert trial.timing.dtype == TIMING
    np.testing.assert_array_equal(trial.timing["tick"], given["tick"])
    np.testing.assert_array_equal(trial.timing["work_ns"], 10 * np.arange(1000))
    np.testing.assert_array_equal(trial.timing["plant_ns"], np.arange(1000))


def test_the_file_holds_a_histogram_of_each_of_the_ticks_times(tmp_path):
    work_ns = np.random.default_rng(1).integers(1_000, 500_000, 300)
    with recorder(tmp_path) as record:
        for i, ns in enumerate(work_ns):
            record.timing(times(i, ns, 5))
    with h5py.File(tmp_path / "trial.h5", "r") as file:
        held = dict(file["timing"].attrs)
    assert [name.decode() for name in held["histogram_fields"]] == list(TIMING.names[1:])
    edges, counts = held["histogram_from_ns"], held["histogram"]
    assert counts.shape == (len(TIMING.names) - 1, len(edges))
    assert (counts.sum(axis=1) == 300).all()
    expected, _ = np.histogram(work_ns, [*edges, np.inf])
    np.testing.assert_array_equal(counts[0], expected)


def test_tick_copies_a_row_that_its_owner_reuses(tmp_path):
    row = np.zeros(1, TICK)
    with recorder(tmp_path) as record:
        for row["tick"] in range(5):
            record.tick(row)
    assert read_trial(tmp_path).tick["tick"].tolist() == [0, 1, 2, 3, 4]


def test_row_of_another_kind_is_refused(tmp_path):
    with recorder(tmp_path) as record:
        for row in (np.zeros(1, EVENT), np.zeros(TICK.itemsize, np.uint8)):
            with pytest.raises(TypeError, match="allowed: its own dtype"):
                record.tick(row)


@pytest.mark.slow
def test_ticks_are_on_disk_after_the_flush_interval_once_the_tick_that_ends_it_has_been_timed(tmp_path):
    on_disk = []
    with recorder(tmp_path) as record:
        for row in rows(45):
            for add, part in ((record.tick, row), (record.timing, np.zeros(1, TIMING))):
                add(part)
                on_disk.append(len(read_trial(tmp_path, trusted=True).tick))  # read while the writer has it open
    assert on_disk == [0] + 80 * [1] + 9 * [41]


def test_event_is_on_disk_at_once(tmp_path):
    record = recorder(tmp_path)
    record.event(event_row(12, "daq_silent", 40, 40_000_000, 25.0, 20.0, 41, "no block"))
    event = read_trial(tmp_path).events[0]
    assert event.tolist() == (12, b"daq_silent", 40, 40_000_000, 25.0, 20.0, 41, b"no block")
    record.close()


def test_long_detail_is_cut_between_two_characters(tmp_path):
    with recorder(tmp_path) as record:
        record.event(event_row(0, "n" * 40, 0, 0, detail="x" + "ü" * 100))
    event = read_trial(tmp_path).events[0]
    assert event["name"] == b"n" * 32
    assert event["detail"].decode() == "x" + "ü" * 63


def test_meta_comes_back_with_its_types(tmp_path):
    meta = {"text": "µ\nb", "empty": "", "long": "y" * 100_000, "count": 3, "factor": 0.25, "seed": np.int64(5)}
    recorder(tmp_path, meta=meta).close()
    found = read_trial(tmp_path).meta
    assert found == meta
    assert [type(found[key]) for key in ("text", "count", "factor", "seed")] == [str, int, float, int]


def test_no_type_in_the_file_has_a_variable_length(tmp_path):
    recorder(tmp_path).close()

    def fixed(name, item):
        if isinstance(item, h5py.Dataset):
            parts = [item.dtype[name] for name in item.dtype.names or ()] or [item.dtype]
            assert all(part.base.kind in "iufS" for part in parts), name

    with h5py.File(tmp_path / "trial.h5", "r") as file:
        assert set(file) == {"tick", "events", "timing", "daq", "meta"}
        file.visititems(fixed)


@pytest.mark.slow
def test_identical_inputs_give_identical_records(tmp_path, daq):
    t_ns, volts = daq.samples(2.0)
    for name, work in (("a", 5), ("b", 9)):
        meta = META | {"wall_time": name}
        with recorder(tmp_path / name, meta=meta) as record:
            for i, row in enumerate(rows(500)):
                record.tick(row)
                record.timing(times(i, work * i, work))
            daq.feed(record, t_ns, volts, trigger_ns=S)
            daq.impact(record, 5)
    a, b = read_trial(tmp_path / "a"), read_trial(tmp_path / "b")
    for field in ("tick", "events", "raw", "daq_t_ns"):
        assert getattr(a, field).tobytes() == getattr(b, field).tobytes()
    assert a.timing.tobytes() != b.timing.tobytes()
    assert {key for key in a.meta if a.meta[key] != b.meta[key]} == {"wall_time"}


def test_the_file_has_as_many_bytes_and_the_same_attributes_each_time(tmp_path, daq):
    """The header of paged files contains their creation time; all else is the same."""
    held = []
    for name in ("a", "b"):
        with recorder(tmp_path / name) as record:
            for row in rows(500):
                record.tick(row)
            daq.feed(record, *daq.samples(1.0), trigger_ns=S // 2)
        with h5py.File(tmp_path / name, "r") as file:
            held.append(((tmp_path / name).stat().st_size, attributes(file)))
    assert held[0] == held[1]
    assert "daq/raw@sample_rate_hz" in held[0][1]


def attributes(file):
    found = {}

    def look(place, item):
        found.update({f"{place}@{key}": bytes(value) for key, value in item.attrs.items()})

    file.visititems(look)
    return found


def test_record_is_never_overwritten(tmp_path):
    recorder(tmp_path).close()
    with pytest.raises(FileExistsError):
        recorder(tmp_path)


def test_close_is_idempotent_and_ends_a_failed_run_readably(tmp_path):
    def fails(record):
        for row in rows(10):
            record.tick(row)
        raise RuntimeError("loop failed")

    record = recorder(tmp_path)
    with pytest.raises(RuntimeError, match="loop failed"), record:
        fails(record)
    record.close()
    with h5py.File(tmp_path / "trial.h5", "r") as file:  # without special options
        assert len(file["tick"]) == 10


def test_the_memory_of_a_closed_record_is_free_without_the_garbage_collector(tmp_path):
    record = recorder(tmp_path)
    for row in rows(10):
        record.tick(row)
    record.close()
    alive = weakref.ref(record)
    del record
    assert alive() is None


def test_bad_meta_leaves_no_open_file(tmp_path):
    with pytest.raises((TypeError, ValueError)):
        recorder(tmp_path, meta={"bad": object()})
    h5py.File(tmp_path / "trial.h5", "r").close()


def test_failing_disk_raises_once_and_leaves_a_readable_file(tmp_path, monkeypatch):
    record = recorder(tmp_path, flush_ns=10_000_000)
    given = rows(50)
    for row in given[:30]:
        record.tick(row)

    def full(*_):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("hil.recording.sample_writer.DatasetBuffer._put", full)
        with pytest.raises(OSError, match="no space left"):
            record.flush()
    for row in given[30:]:
        record.tick(row)
    record.close()
    found = read_trial(tmp_path).tick["tick"]
    assert (np.diff(found) > 0).all()
    assert set(range(30, 50)) <= set(found.tolist())


@pytest.fixture
def failing_writes(monkeypatch):
    """Has so many of the next writes to the disk fail, as h5py says it."""
    flush, left = h5py.Dataset.flush, []

    def failing(dataset):
        if left:
            left.pop()
            raise RuntimeError("Unable to flush dataset (file write failed: errno = 28, 'No space left on device')")
        flush(dataset)

    monkeypatch.setattr(h5py.Dataset, "flush", failing)
    return left


def test_a_disk_that_another_program_fills_in_the_middle_of_a_write_costs_no_row(tmp_path, failing_writes):
    given = rows(50)
    with recorder(tmp_path, flush_ns=10_000_000) as record:
        for row in given[:35]:
            record.tick(row)
        failing_writes.append(1)
        with pytest.raises(OSError, match="No space left"):
            record.flush()
        for row in given[35:]:
            record.tick(row)
    assert read_trial(tmp_path).tick["tick"].tolist() == [int(row["tick"]) for row in given]


def test_a_disk_without_any_room_is_an_error_of_the_disk_with_the_words_of_the_library(tmp_path, failing_writes):
    with recorder(tmp_path, flush_ns=10_000_000) as record:
        for row in rows(35):
            record.tick(row)
        failing_writes += [1] * 2
        with pytest.raises(OSError, match="Unable to flush dataset"):
            record.flush()


def test_place_without_content_is_left_out(tmp_path, daq):
    with recorder(tmp_path) as record:
        for i, row in enumerate(rows(20)):
            record.tick(row)
            record.timing(times(i, 5, 5))
        record.block(daq.block(np.array([-3, 0]), np.ones((2, 3))))
    with h5py.File(tmp_path / "trial.h5", "r+") as file:
        file["tick"].resize(25, axis=0)
        file["timing"].resize(25, axis=0)
        file["daq/raw"].resize(7, axis=0)
    trial = read_trial(tmp_path)
    assert (len(trial.tick), len(trial.timing), len(trial.raw), len(trial.daq_t_ns)) == (20, 20, 2, 2)


def test_copy_in_the_oldest_format_opens_too(tmp_path):
    with recorder(tmp_path) as record:
        record.tick(rows(1)[0])
    with (
        h5py.File(tmp_path / "trial.h5", "r") as file,
        h5py.File(tmp_path / "plain.h5", "w", libver="earliest") as copy,
    ):
        for name in file:
            file.copy(name, copy)
    assert len(read_trial(tmp_path / "plain.h5").tick) == 1


def test_missing_file_is_named(tmp_path):
    with pytest.raises(RecordError, match=r"nowhere\.h5"):
        read_trial(tmp_path / "nowhere.h5")
