"""The record of a run that is over: compressed, the same numbers, and nothing lost on the way there."""

import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest

from hil.messages.layout import SENSORS, Layout
from hil.messages.link_messages import TIMING
from hil.messages.signals import tick_dtype
from hil.recording import RecordError, RecordWriter, read_trial, sample_writer
from hil.recording.child_reader import FORMAT
from hil.recording.reader import read_digests
from hil.recording.sample_writer import GROWING, copy_of, growing
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
META = {"version": "1", "seed": 7}
TICKS = 1300  # two whole chunks of compressed ticks, and a part
STEP_V = 10 / 2**16


def recorder(path):
    return RecordWriter(path, meta=META, layout=LAYOUT, rates_hz={"daq": 30_000})


def fill(record, daq):
    """Ticks, their timing, and samples of a converter, at the pace of a run."""
    ticks, times = np.zeros(TICKS, tick_dtype(LAYOUT)), np.zeros(TICKS, TIMING)
    ticks["tick"] = times["tick"] = np.arange(1, TICKS + 1)
    ticks["t_ns"] = ticks["tick"] * 1_000_000
    ticks["force_sum_N"] = np.random.default_rng(1).normal(size=TICKS)
    t_ns, volts = daq.samples(TICKS / 1000)
    volts = np.rint(volts / STEP_V) * STEP_V
    for i in range(TICKS):
        part = slice(30 * i, 30 * (i + 1))
        record.block(daq.block(t_ns[part], volts[part], i + 1))
        record.tick(ticks[i : i + 1])
        record.timing(times[i : i + 1])
    daq.impact(record, 5)
    return ticks, times, t_ns, volts


def filtered(path):
    with h5py.File(path, "r") as file:
        return {name for name in growing(file) if file[name].id.get_create_plist().get_nfilters()}


def test_the_record_of_a_run_that_is_over_is_compressed_and_holds_every_bit(tmp_path, daq):
    with recorder(tmp_path) as record:
        ticks, times, t_ns, volts = fill(record, daq)
    place = tmp_path / "trial.h5"
    content = ticks.nbytes + times.nbytes + t_ns.nbytes + volts.nbytes
    assert place.stat().st_size < content / 3
    assert filtered(place) == {"tick", "timing", "events", "daq/blocks", "daq/raw", "daq/t_ns"}
    trial = read_trial(tmp_path)
    assert trial.tick.tobytes() == ticks.tobytes()
    assert trial.timing.tobytes() == times.tobytes()
    assert trial.daq_t_ns.tobytes() == t_ns.tobytes()
    assert trial.raw.tobytes() == volts.tobytes()
    assert trial.events["name"].tolist() == [b"impact"]
    assert trial.meta == META
    assert [path.name for path in tmp_path.iterdir()] == ["trial.h5"]


def test_rows_are_on_disk_uncompressed_while_the_run_goes_on(tmp_path, daq):
    with recorder(tmp_path) as record:
        fill(record, daq)
        with h5py.File(tmp_path / "trial.h5", "r", swmr=True) as file:
            assert len(file["tick"]) >= TICKS - 40
            assert not file["tick"].id.get_create_plist().get_nfilters()


@pytest.mark.slow
def test_compressed_and_uncompressed_the_content_has_one_digest(tmp_path, daq, monkeypatch):
    with recorder(tmp_path / "compressed.h5") as record:
        fill(record, daq)
    monkeypatch.setattr(sample_writer, "append", no_room)
    with recorder(tmp_path / "plain.h5") as record:
        fill(record, daq)
    digests = [read_digests(tmp_path / f"{name}.h5") for name in ("compressed", "plain")]
    assert filtered(tmp_path / "compressed.h5")
    assert not filtered(tmp_path / "plain.h5")
    assert len({found.content for found in digests} | {found.stored for found in digests}) == 1


def no_room(*_):
    raise RuntimeError("Unable to write (file write failed: errno = 28, 'No space left on device')")


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 3, 8])
def test_a_disk_without_room_for_the_copy_leaves_the_record_whole_and_uncompressed(tmp_path, daq, monkeypatch, after):
    put, left = sample_writer.append, [None] * after

    def append(*arguments):
        return put(*arguments) if left and left.pop() is None else no_room()

    monkeypatch.setattr(sample_writer, "append", append)
    with recorder(tmp_path) as record:
        ticks, _, _, volts = fill(record, daq)
    trial = read_trial(tmp_path)
    assert (trial.tick.tobytes(), trial.raw.tobytes()) == (ticks.tobytes(), volts.tobytes())
    assert not filtered(tmp_path / "trial.h5")
    assert not copy_of(tmp_path / "trial.h5").exists()


def test_a_disk_that_is_full_gives_the_copy_up_before_it_costs_a_row(tmp_path, daq, monkeypatch):
    record = recorder(tmp_path)
    monkeypatch.setattr(record._reserve, "take_full", lambda: OSError(28, "No space left on device"))
    with pytest.raises(OSError, match="No space left"):
        record.flush()
    assert not copy_of(tmp_path / "trial.h5").exists()
    monkeypatch.undo()
    ticks, *_ = fill(record, daq)
    record.close()
    assert read_trial(tmp_path).tick.tobytes() == ticks.tobytes()


def test_what_has_the_name_of_the_copy_is_removed_and_not_followed(tmp_path, daq):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    copy_of(tmp_path / "trial.h5").symlink_to(elsewhere)
    with recorder(tmp_path) as record:
        fill(record, daq)
    assert elsewhere.read_text() == "mine"
    assert filtered(tmp_path / "trial.h5")


KILLED = """
import os, runpy, signal, sys
from pathlib import Path
from hil.recording import sample_writer
made = runpy.run_path({here!r})
samples = runpy.run_path({conftest!r})["Daq"]()
moment = sys.argv[2]
kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
record = made["recorder"](Path(sys.argv[1]))
made["fill"](record, samples)
if moment == "before":
    record._copy._finish = kill
elif moment == "while":
    sample_writer.append = kill
elif moment == "synced":
    sample_writer.os.fsync = kill
elif moment == "replaced":
    record._copy.replace = kill
record.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "while", "synced", "replaced"])
def test_a_writer_killed_while_it_closes_the_record_loses_no_row(tmp_path, daq, moment):
    conftest = __file__.replace("test_compressed_copy", "conftest")
    code = KILLED.format(here=__file__, conftest=conftest)
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path), moment], check=False)
    assert ended.returncode == -signal.SIGKILL
    trial = read_trial(tmp_path)
    with recorder(tmp_path / "again.h5") as record:
        ticks, times, t_ns, volts = fill(record, daq)
    assert trial.tick.tobytes() == ticks.tobytes()
    assert trial.timing.tobytes() == times.tobytes()
    assert (trial.daq_t_ns.tobytes(), trial.raw.tobytes()) == (t_ns.tobytes(), volts.tobytes())


@pytest.mark.slow
def test_a_record_of_the_first_format_is_read(tmp_path, daq, monkeypatch):
    monkeypatch.setattr(sample_writer, "append", no_room)
    with recorder(tmp_path) as record:
        ticks, *_ = fill(record, daq)
    with h5py.File(tmp_path / "trial.h5", "r+", libver=GROWING["libver"]) as file:
        del file[FORMAT]
    assert read_trial(tmp_path).tick.tobytes() == ticks.tobytes()
    digests = read_digests(tmp_path)
    assert digests.content == digests.stored


def test_a_record_of_a_format_to_come_is_refused_in_a_sentence(tmp_path):
    recorder(tmp_path).close()
    with h5py.File(tmp_path / "trial.h5", "r+") as file:
        file[FORMAT][()] = 3
    with pytest.raises(RecordError, match="it has format 3, this version reads up to 2"):
        read_trial(tmp_path)
