"""Two processes at full speed: values torn with plain stores are not torn here, and every lost row is reported."""

import os
import signal
import time

import numpy as np
import pytest

from hil.ipc.shm import STALE, Heartbeat, Mailbox, Ring

# Plain stores tear in 28 of 1000 reads (decision 0006).
MANY_READS = 300_000


def read_hard(peers, mailbox, task, enough):
    """Reads until `enough(reads, changes, torn)`; returns these counts."""
    out = np.zeros(1, mailbox.dtype if isinstance(mailbox, Mailbox) else peers.module.RECORD)
    number, words = out["number"], out["words"]
    reads = changes = torn = last = 0
    with peers.run(*task):
        while not enough(reads, changes, torn):
            version = mailbox.read(out)
            if version == STALE:
                continue
            reads += 1
            changes += version != last
            torn += not number[0] == words[0, 0] == words[0, -1]
            if isinstance(mailbox, Mailbox):
                assert version >= last
                assert version == number[0]
            last = version
    return reads, changes, torn


@pytest.mark.slow
def test_mailbox_never_tears_under_a_writer_at_full_speed(tmp_path, peers):
    mailbox = Mailbox(tmp_path / "box", peers.module.RECORD, create=True)
    reads, changes, torn = read_hard(
        peers, mailbox, ("write", tmp_path / "box"), lambda reads, changes, torn: reads > MANY_READS and changes > 1000
    )
    assert torn == 0, f"{torn} of {reads} reads torn, {changes} versions"


@pytest.mark.slow
def test_a_word_that_is_only_looked_at_is_never_torn(tmp_path, peers):
    """Ages, depths and versions are read without the compiled functions (`Mapped.words`)."""
    heartbeat, seen, reads = Heartbeat(tmp_path / "hearts", create=True), set(), 0
    with peers.run("beat", tmp_path / "hearts"):
        while reads < MANY_READS or len(seen) < 1000:
            word = heartbeat.last_ns("loop")
            assert word >> 32 == word & (2**32 - 1)
            reads += 1
            seen.add(word)


@pytest.mark.slow
def test_reader_suspended_in_mid_copy_while_the_writer_goes_round_does_not_tear(tmp_path, peers):
    mailbox, out = Mailbox(tmp_path / "box", peers.module.BIG, create=True), np.zeros(1, peers.module.BIG)
    with peers.run("write-big", mailbox.path), peers.run("read-big", mailbox.path) as reader:
        for _ in range(30):
            reader.send_signal(signal.SIGSTOP)
            before = mailbox.read(out)
            while mailbox.read(out) < before + 20:
                pass
            reader.send_signal(signal.SIGCONT)
            time.sleep(0.002)
        reader.send_signal(signal.SIGTERM)
        said = reader.stdout.readline()
    assert said.startswith("0 torn of "), said


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="with one processor stores are seldom seen half done")
def test_same_test_finds_the_tearing_of_plain_stores(tmp_path, peers):
    mailbox = peers.module.NaiveMailbox(tmp_path / "box", peers.module.RECORD, create=True)
    _, _, torn = read_hard(
        peers, mailbox, ("write-naive", tmp_path / "box"), lambda reads, changes, torn: torn or reads > 20_000_000
    )
    assert torn


@pytest.mark.slow
def test_reader_that_falls_behind_gets_whole_rows_in_order_and_the_exact_number_lost(tmp_path, peers):
    ring = Ring(tmp_path / "ring", peers.module.RECORD, 8, create=True)
    cursor, seen, reads = ring.reader("slow"), 0, 0
    with peers.run("append", ring.path, 3):
        while seen < 5_000 or not cursor.lost:
            rows = cursor.read(5)
            reads += 1
            if len(rows):
                assert (rows["words"] == rows["number"][:, None]).all(), f"torn row after {reads} reads"
                assert rows["number"].tolist() == list(range(seen + cursor.lost, seen + cursor.lost + len(rows)))
            seen += len(rows)


@pytest.mark.slow
def test_reader_that_must_not_lose_gets_every_row_once_from_a_faster_producer(tmp_path, peers):
    ring = Ring(tmp_path / "ring", peers.module.RECORD, 64, create=True, must_not_lose=["recorder"])
    cursor, numbers = ring.reader("recorder"), []
    with peers.run("append", ring.path, 5, 20_000):
        while len(numbers) < 20_000:
            numbers += cursor.read(7)["number"].tolist()
    assert numbers == list(range(20_000))
    assert (cursor.lost, cursor.depth) == (0, 0)


@pytest.mark.slow
def test_two_readers_do_not_disturb_each_other(tmp_path, peers):
    ring = Ring(tmp_path / "ring", peers.module.RECORD, 64, create=True, must_not_lose=["recorder"])
    recorder, viewer, recorded, viewed = ring.reader("recorder"), ring.reader("viewer"), [], []
    with peers.run("append", ring.path, 4, 4000):
        while len(recorded) < 4000 or len(viewed) + viewer.lost < 4000:
            recorded += recorder.read(16)["number"].tolist()
            viewed += viewer.read(2)["number"].tolist()
    assert recorded == list(range(4000))
    assert viewed == sorted(set(viewed))
    assert viewer.lost == 4000 - len(viewed)
