"""SIGKILL of a writer, a reader, or all of them: published values stay."""

import time

import numpy as np
import pytest

from hil.ipc.shm import Mailbox, Ring

KILLS = [0.0, 0.0003, 0.0011, 0.0023, 0.0042, 0.0071, 0.0113]


@pytest.mark.slow
def test_producer_killed_in_mid_append_leaves_what_it_published_and_another_goes_on(tmp_path, peers):
    ring = Ring(tmp_path / "ring", peers.module.BIG, 8, create=True)
    in_the_middle = 0
    for wait in KILLS * 10:
        before = ring.written
        with peers.run("append-big", ring.path, 3):
            while ring.written < before + 9:
                pass
            time.sleep(wait)
        again = Ring(ring.path, peers.module.BIG, 8, create=False)
        overwritten = again._call.load(again._file.control(1)) - again.written  # begun and not published
        rows = again.reader("viewer").read(8)
        assert rows["number"].tolist() == list(range(again.written - 8 + overwritten, again.written))
        assert (rows["words"] == rows["number"][:, None]).all()
        in_the_middle += overwritten > 0
        if in_the_middle == 3:
            return
    pytest.fail(f"{in_the_middle} of {len(KILLS) * 10} kills in the middle of an append: the test has not tested it")


def test_rows_an_append_had_begun_to_overwrite_when_it_was_killed_are_lost_and_not_torn(tmp_path, peers):
    """Set up directly, as the moment of a kill is random: 4 rows published and 2 begun; rows 0 and 1 may be lost."""
    ring = Ring(tmp_path / "ring", np.dtype("<i8"), 4, create=True)
    viewer = ring.reader("viewer")
    ring.append(np.arange(4))
    ring._call.store(ring._file.control(1), 6)
    assert viewer.read(4).tolist() == [2, 3]
    assert viewer.lost == 2
    late = ring.reader("late")
    ring.append(np.array([4]))  # begins no further than the killed append: row 1 must still count as lost
    assert late.read(4).tolist() == [2, 3, 4]


@pytest.mark.slow
@pytest.mark.parametrize("wait", KILLS)
def test_writer_killed_in_mid_write_leaves_the_last_whole_value(tmp_path, peers, wait):
    mailbox, out = Mailbox(tmp_path / "box", peers.module.BIG, create=True), np.zeros(1, peers.module.BIG)
    last = 0
    for _ in range(2):
        with peers.run("write-big", mailbox.path):
            while mailbox.read(out) == last:
                pass
            time.sleep(wait)
        version = mailbox.read(out)
        assert version > last
        assert (out["words"] == out["number"]).all()
        assert (out["number"][0] == version) or last
        last = version


@pytest.mark.slow
def test_after_all_are_killed_the_tail_is_read_on_from_where_the_recorder_stood(tmp_path, peers):
    path = tmp_path / "ring"
    Ring(path, peers.module.RECORD, 256, create=True, must_not_lose=["recorder"])
    with peers.run("append", path, 4), peers.run("record", path, 32):
        pass
    ring = Ring(path, peers.module.RECORD, None, create=False)
    recorder = ring.reader("recorder")
    assert recorder.depth == ring.written - 1
    rows = recorder.read(1000)
    assert rows["number"].tolist() == list(range(1, ring.written))
    assert (rows["words"] == rows["number"][:, None]).all()


def test_reader_that_ends_unlinks_and_disturbs_nothing(tmp_path, peers):
    mailbox = Mailbox(tmp_path / "mailbox", peers.module.RECORD, create=True)
    ring = Ring(tmp_path / "ring", peers.module.RECORD, 8, create=True)
    rows = np.zeros(3, peers.module.RECORD)
    mailbox.write(rows[:1])
    ring.append(rows)
    for _ in range(2):
        with peers.run("look", tmp_path) as process:
            said = process.stdout.read()
            assert process.wait() == 0
        assert said == "imported:\n"  # memory: workers load none of numba, scipy, llvmlite
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mailbox", "ring"]
    assert mailbox.write(rows[:1]) == 2
    assert ring.append(rows)
    assert Ring(tmp_path / "ring", peers.module.RECORD, 8, create=False).written == 6
