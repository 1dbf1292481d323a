import tempfile
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.ipc.shm import Ring, ShmError

ROW = np.dtype([("number", "<i8"), ("text", "S3")])  # 11 bytes: rows are spaced in the file and not in the array


def rows(first, count):
    out = np.zeros(count, ROW)
    out["number"] = np.arange(first, first + count)
    out["text"] = [f"{number:03}" for number in out["number"]]
    return out


def as_rows(numbers):
    return [(number, b"%03d" % number) for number in numbers]


@pytest.fixture
def ring(tmp_path):
    return Ring(tmp_path / "ring", ROW, 4, create=True, must_not_lose=["recorder"])


def test_full_ring_refuses_and_overwrites_nothing(ring):
    recorder = ring.reader("recorder")
    assert ring.append(rows(0, 3))
    assert not ring.append(rows(3, 2))
    assert (ring.written, recorder.depth) == (3, 3)
    assert ring.append(rows(3, 1))
    assert not ring.append(rows(4, 1))
    assert recorder.read(1)["number"] == 0
    assert ring.append(rows(4, 1))
    assert recorder.read(10)["number"].tolist() == [1, 2, 3, 4]


def test_kept_rows_are_not_overwritten_until_released(ring):
    recorder = ring.reader("recorder")
    ring.append(rows(0, 4))
    assert len(recorder.read(4, keep=True)) == 4
    assert recorder.depth == 4
    assert not ring.append(rows(4, 1))
    recorder.release()
    assert recorder.depth == 0
    assert ring.append(rows(4, 1))


def test_recorder_started_anew_reads_on_from_what_was_released(ring):
    recorder = ring.reader("recorder")
    ring.append(rows(0, 4))
    recorder.read(1)
    recorder.read(2, keep=True)
    again = Ring(ring.path, ROW, None, create=False)
    assert again.reader("recorder").read(9)["number"].tolist() == [1, 2, 3]


def test_depth_of_the_recorder_is_seen_by_everybody(ring):
    ring.append(rows(0, 3))
    watchdog = Ring(ring.path, ROW, 4, create=False).reader("recorder")
    assert watchdog.depth == 3
    ring.reader("recorder").read(2)
    assert watchdog.depth == 1


def test_slowest_of_several_recorders_holds_the_producer(tmp_path):
    ring = Ring(tmp_path / "ring", ROW, 4, create=True, must_not_lose=["a", "b"])
    ring.append(rows(0, 4))
    ring.reader("a").read(4)
    assert not ring.append(rows(4, 1))
    ring.reader("b").read(4)
    assert ring.append(rows(4, 1))


def test_new_reader_starts_with_the_oldest_row_or_with_the_next(tmp_path):
    ring = Ring(tmp_path / "ring", ROW, 4, create=True)
    for first in (0, 3):
        ring.append(rows(first, 3))
    oldest, newest = ring.reader("oldest"), ring.reader("newest", newest=True)
    assert (oldest.depth, newest.depth) == (4, 0)
    ring.append(rows(6, 1))
    assert oldest.read(1)["number"] == 3
    assert (oldest.lost, newest.lost) == (1, 0)
    assert newest.read(9)["number"] == 6


def test_rows_read_are_a_copy(ring):
    ring.append(rows(0, 2))
    got = ring.reader("viewer").read(2)
    ring.reader("recorder").read(2)
    ring.append(rows(2, 4))
    assert got.tolist() == rows(0, 2).tolist()


def test_more_rows_than_the_ring_holds_are_refused(ring):
    with pytest.raises(ValueError, match="5 rows in one append, the ring holds 4"):
        ring.append(rows(0, 5))


@pytest.mark.parametrize("array", [np.zeros(2), rows(0, 4)[::2], rows(0, 1)[0]])
def test_other_rows_are_refused_by_name(ring, array):
    with pytest.raises(TypeError, match="ring: "):
        ring.append(array)
    assert ring.written == 0


@pytest.mark.parametrize("capacity", [0, -1, None])
def test_capacity_below_one_is_refused(tmp_path, capacity):
    with pytest.raises(ShmError, match="ring: capacity"):
        Ring(tmp_path / "ring", ROW, capacity, create=True)


actions = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 4)),
        st.tuples(st.just("record"), st.integers(0, 9)),
        st.tuples(st.just("keep"), st.integers(0, 9)),
        st.tuples(st.just("release"), st.just(0)),
        st.tuples(st.just("view"), st.integers(0, 9)),
        st.tuples(st.just("reopen"), st.just(0)),
    ),
    max_size=60,
)


class Model:
    """A reference model of a ring."""

    def __init__(self, capacity, safe):
        self.capacity, self.safe = capacity, safe
        self.held = deque(maxlen=capacity)
        self.written = self.read = self.released = self.viewed = self.lost = 0

    def append(self, count):
        if self.safe and self.written + count - self.released > self.capacity:
            return False
        self.held.extend(range(self.written, self.written + count))
        self.written += count
        return True

    def view(self, count):
        oldest = self.held[0] if self.held else self.written
        self.lost += max(0, oldest - self.viewed)
        self.viewed = max(self.viewed, oldest)
        return self._take("viewed", count)

    def record(self, count):
        return self._take("read", count)

    def _take(self, name, count):
        start = getattr(self, name)
        got = [number for number in self.held if start <= number < start + count]
        setattr(self, name, start + len(got))
        return got


@given(st.integers(4, 7), st.booleans(), actions)
def test_any_sequence_of_appends_and_reads_does_as_a_deque_does(capacity, safe, actions):
    with tempfile.TemporaryDirectory() as folder:
        path, names = Path(folder) / "ring", ["recorder"] if safe else []
        ring, model = Ring(path, ROW, capacity, create=True, must_not_lose=names), Model(capacity, safe)
        viewer, recorder = ring.reader("viewer"), ring.reader("recorder") if safe else None
        for action, count in actions:
            if action == "append":
                assert ring.append(rows(model.written, count)) == model.append(count)
            elif action == "view":
                assert viewer.read(count).tolist() == as_rows(model.view(count))
            elif action == "reopen":  # as after a restart of a producer or recorder
                ring = Ring(path, ROW, capacity, create=False)
                if safe:
                    recorder, model.read = ring.reader("recorder"), model.released
            elif safe and action == "release":
                recorder.release()
                model.released = model.read
            elif safe:
                got = recorder.read(count, keep=action == "keep")
                assert got.tolist() == as_rows(model.record(count))
                # an empty read has nothing new to release
                if action == "record" and len(got):
                    model.released = model.read
            assert ring.written == model.written
            assert viewer.lost == model.lost
            if safe:
                assert (recorder.lost, recorder.depth) == (0, model.written - model.released)
