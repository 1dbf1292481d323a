"""Digests of a record: what changes them, and what does not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from drivers.messages import DaqBlock
from hil.messages.layout import SENSORS, Layout
from hil.messages.link_messages import event_row
from hil.recording import RecordError, RecordWriter, child_reader, read_trial, reader
from hil.recording.child_reader import file_sha256
from hil.recording.reader import hold, is_held, read_digests

LAYOUT = Layout(("left", "right"), (), SENSORS["triangle"])
META = {"config": "a: 1\n", "seed": 3, "wall_time": "2026-11-21T10:00:00Z"}


def make(folder: Path, meta=META) -> Path:
    """A record of 300 samples and one event."""
    with RecordWriter(folder, meta=meta, layout=LAYOUT, rates_hz={"daq": 30_000}) as record:
        record.event(event_row(0, "impact", 1, 1_000_000))
        block = np.arange(900.0).reshape(300, 3)
        record.block(DaqBlock(1, np.arange(300) * 33_333, block, (False, False, False)))
    return folder


@pytest.fixture
def record(tmp_path) -> Path:
    return make(tmp_path)


def test_the_file_says_the_digest_of_its_own_content(record):
    found = read_digests(record)
    assert found.stored == found.content
    assert found.closed
    assert len(found.file) == 64
    assert set(read_trial(record).meta) == set(META)


def test_the_content_of_a_record_that_was_just_closed_is_not_read_again_for_its_digest(record, monkeypatch):
    found = read_digests(record)
    monkeypatch.setattr(reader, "content_sha256", lambda _: "computed again")
    assert read_digests(record, trusted=True) == found
    assert read_digests(record).content == "computed again"


def test_the_digest_of_a_trusted_record_that_does_not_say_it_is_computed(record):
    content = read_digests(record).content
    with h5py.File(record / "trial.h5", "r+") as file:
        file[child_reader.CONTENT][()] = b""
    assert read_digests(record, trusted=True).content == content


@pytest.mark.slow
def test_another_time_of_day_is_another_file_of_the_same_content(record, tmp_path_factory):
    other = make(tmp_path_factory.mktemp("other"), META | {"wall_time": "2027-01-01T00:00:00Z"})
    assert read_digests(other).content == read_digests(record).content
    assert read_digests(other).file != read_digests(record).file


def resize(file: h5py.File, name: str, count: int) -> None:
    file[name].resize(count, axis=0)


CHANGES: dict[str, Callable[[h5py.File], object]] = {
    "a sample": lambda file: file["daq/raw"].__setitem__((299, 2), np.nextafter(899.0, 0.0)),
    "NaN over a sample": lambda file: file["daq/raw"].__setitem__((0, 0), np.nan),
    "a row more": lambda file: resize(file, "daq/t_ns", 301),
    "no event": lambda file: resize(file, "events", 0),
    "a unit": lambda file: file["daq/raw"].attrs.modify("unit", np.bytes_("N")),
    "an attribute more": lambda file: file["daq"].attrs.create("note", 1),
    "the type of a number": lambda file: (file.pop("meta/seed"), file.create_dataset("meta/seed", data=3.0)),
    "a dataset more": lambda file: file.create_dataset("note", data=1),
    "another name": lambda file: file.move("daq/t_ns", "daq/time_ns"),
    "a group more": lambda file: file.create_group("empty"),
    "a link": lambda file: file.__setitem__("other", h5py.SoftLink("/tick")),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_any_change_of_the_content_changes_its_digest(record, kind):
    with h5py.File(record / "trial.h5", "r+") as file:
        before = child_reader.content_sha256(file)
        CHANGES[kind](file)
        assert child_reader.content_sha256(file) != before


def test_what_ticks_took_and_the_time_of_day_are_no_content(record):
    with h5py.File(record / "trial.h5", "r+") as file:
        before = child_reader.content_sha256(file)
        resize(file, "timing", 5)
        file["timing"].attrs.modify("unit", 1)
        file["meta/wall_time"][()] = b"never"
        assert child_reader.content_sha256(file) == before


@pytest.mark.slow
def test_pieces_of_any_size_give_the_same_digest(record, monkeypatch):
    found = read_digests(record).content
    for size in (1, 1000, 2**30):
        monkeypatch.setattr(child_reader, "_BYTES", size)
        assert read_digests(record).content == found


def test_what_no_record_holds_is_refused_in_a_sentence(record):
    with h5py.File(record / "trial.h5", "r+") as file:
        file.create_dataset("words", data=["of any length"], dtype=h5py.string_dtype())
    with pytest.raises(RecordError, match="a type of no fixed size"):
        read_digests(record)


def test_groups_that_go_round_in_circles_are_refused(record):
    with h5py.File(record / "trial.h5", "r+") as file:
        file["daq/daq"] = file["daq"]
    with pytest.raises(RecordError, match="another name, too"):
        read_digests(record)


def test_a_record_is_held_while_it_is_written(tmp_path):
    recorder = RecordWriter(tmp_path, meta=META, layout=LAYOUT, rates_hz={"daq": 30_000})
    assert is_held(tmp_path / "trial.h5")
    recorder.close()
    assert not is_held(tmp_path / "trial.h5")


def test_readers_may_look_on_while_it_is_held(record):
    held = hold(record / "trial.h5")
    with h5py.File(record / "trial.h5", "r"):
        pass
    os.close(held)


@pytest.mark.parametrize("kind", ["a pipe", "a file of holes"])
def test_what_would_take_for_ever_to_read_has_no_digest(tmp_path, kind):
    place = tmp_path / "trial.h5"
    if kind == "a pipe":
        os.mkfifo(place)
    else:
        place.touch()
        os.truncate(place, 2**40)
    with pytest.raises(OSError, match="nearly all of it is holes"):
        file_sha256(place)
