"""Two processes cannot interpret a file differently."""

import errno
import os
import re

import numpy as np
import pytest

from hil.ipc.shm import Heartbeat, Mailbox, Ring, ShmError
from hil.ipc.shm import mapped as mapped_module
from hil.messages.layout import SENSORS, Layout
from hil.messages.link_messages import EVENT
from hil.messages.signals import tick_dtype
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
TICK = tick_dtype(LAYOUT)

A = np.dtype([("tick", "<i8"), ("speed", "<f8")])
B = np.dtype([("tick", "<i8"), ("force", "<f8")])


@pytest.fixture
def path(tmp_path):
    Ring(tmp_path / "ring", A, 8, create=True, must_not_lose=["recorder"])
    return tmp_path / "ring"


def refused(path, *parts):
    return pytest.raises(ShmError, match=re.escape(str(path)) + ".*" + ".*".join(parts))


def test_other_fields_are_refused_with_both_named(path):
    with refused(path, "speed", "asked for.*force"):
        Ring(path, B, 8, create=False)


def test_fields_in_another_order_are_refused(path):
    with refused(path, "tick.*speed", "asked for.*speed.*tick"):
        Ring(path, np.dtype([("speed", "<f8"), ("tick", "<i8")]), 8, create=False)


def test_other_capacity_is_refused_with_both_named(path):
    with refused(path, "capacity 8, asked for 9"):
        Ring(path, A, 9, create=False)


def test_other_cursors_are_refused_with_both_named(path):
    with refused(path, "recorder, asked for exporter"):
        Ring(path, A, 8, create=False, must_not_lose=["exporter"])


def test_other_kind_is_refused_with_both_named(path):
    with refused(path, "is a ring, asked for as a mailbox"):
        Mailbox(path, A, create=False)
    with refused(path, "is a ring, asked for as a heartbeat"):
        Heartbeat(path, create=False)


def test_other_version_is_refused_with_both_named(path, monkeypatch):
    monkeypatch.setattr(mapped_module, "_VERSION", 2)
    with refused(path, "format 1", "reads 2"):
        Ring(path, A, 8, create=False)


@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n", b"x" * 100_000, bytes(100_000)])
def test_foreign_file_is_refused(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with refused(path, "not shared memory of ours"):
        Ring(path, A, 8, create=False)


@pytest.mark.parametrize("size", [4096, 8192 + 8])
def test_file_cut_short_is_refused_and_not_touched(path, size):
    os.truncate(path, size)
    with refused(path, f"{size} bytes long, made with {8192 + 8 * 16}"):
        Ring(path, A, 8, create=False)


def test_existing_file_is_not_made_again(path):
    before = path.read_bytes()
    with refused(path, "exists already"):
        Ring(path, A, 8, create=True)
    assert path.read_bytes() == before


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        Mailbox(tmp_path / "nothing", A, create=False)


def test_full_disk_is_an_error_at_the_start_and_leaves_no_file(tmp_path, monkeypatch):
    def full(fd, offset, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with refused(tmp_path / "ring", "no disk space for 8320 bytes: No space left"):
        Ring(tmp_path / "ring", A, 8, create=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", [np.dtype("O"), np.dtype([("a", "O")]), np.dtype("V0"), np.dtype(("<f8", (3,)))])
def test_what_cannot_be_shared_is_refused(tmp_path, dtype):
    with refused(tmp_path / "box", "cannot hold"):
        Mailbox(tmp_path / "box", dtype, create=True)
    assert not list(tmp_path.iterdir())


def test_dtypes_of_the_record_fit_the_header(tmp_path):
    for dtype in (TICK, EVENT):
        path = tmp_path / str(dtype.itemsize)
        Ring(path, dtype, 2, create=True)
        assert Ring(path, dtype, 2, create=False).dtype == dtype


def test_dtypes_that_differ_beyond_the_text_in_the_header_are_told_apart(tmp_path):
    fields = [(f"a_rather_long_name_of_a_field_{i}", "<f8") for i in range(200)]
    Mailbox(tmp_path / "box", np.dtype([*fields, ("last", "<f8")]), create=True)
    Mailbox(tmp_path / "box", np.dtype([*fields, ("last", "<f8")]), create=False)
    with refused(tmp_path / "box", "asked for"):
        Mailbox(tmp_path / "box", np.dtype([*fields, ("last", "<i8")]), create=False)


def test_only_the_owner_may_read_it(path):
    assert path.stat().st_mode & 0o777 == 0o600
