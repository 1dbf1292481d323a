"""A mapped file keeps no descriptor, and is unmapped when it is closed; later use raises an error."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hil.ipc.shm import Heartbeat, Mailbox, Ring, ShmError
from hil.ipc.shm.mapped import mapped_bytes

KIND = np.dtype([("number", "<i8")])


def made(folder):
    return (
        Mailbox(folder / "mailbox", KIND, create=True),
        Ring(folder / "ring", KIND, 8, create=True, must_not_lose=("reader",)),
        Heartbeat(folder / "heartbeat", create=True),
    )


def mappings(folder: Path) -> list[str]:
    return [line for line in Path("/proc/self/maps").read_text().splitlines() if str(folder) in line]


def descriptors() -> list[str]:
    """The files that this process has open."""
    return [
        os.readlink(f"/proc/self/fd/{name}")
        for name in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{name}")
    ]


def test_a_mapped_file_keeps_no_descriptor(tmp_path):
    kept = made(tmp_path)
    assert len(mappings(tmp_path)) == len(kept)
    assert not any(file.startswith(str(tmp_path)) for file in descriptors())


def test_closing_unmaps_while_cursors_and_rows_of_it_are_still_held(tmp_path):
    mailbox, ring, heartbeat = made(tmp_path)
    row = np.zeros(1, KIND)
    mailbox.write(row)
    ring.append(row)
    cursor = ring.reader("reader")
    for part in (mailbox, ring, heartbeat):
        part.close()
        part.close()
    assert mappings(tmp_path) == []
    del cursor


def test_use_after_closing_is_an_error_that_names_the_file_and_no_crash(tmp_path):
    mailbox, ring, heartbeat = made(tmp_path)
    row = np.zeros(1, KIND)
    cursor = ring.reader("reader")
    for part in (mailbox, ring, heartbeat):
        part.close()
    uses = {
        "mailbox": [lambda: mailbox.write(row), lambda: mailbox.read(row), lambda: mailbox.version],
        "ring": [
            lambda: ring.append(row), lambda: ring.written, lambda: ring.reader("another"), lambda: cursor.depth,
            lambda: cursor.read(1), lambda: cursor.read_one(row), cursor.release,
        ],
        "heartbeat": [
            lambda: heartbeat.beat("loop", 1), lambda: heartbeat.age("loop", 1), lambda: heartbeat.last_ns("loop"),
        ],
    }  # fmt: skip
    for name, calls in uses.items():
        for call in calls:
            with pytest.raises(ShmError, match=f"{tmp_path / name}: used after it was closed"):
                call()


def test_what_was_written_before_closing_stays_in_the_file(tmp_path):
    ring = Ring(tmp_path / "ring", KIND, 8, create=True)
    ring.append(np.array([(1,), (2,)], KIND))
    ring.close()
    again = Ring(tmp_path / "ring", KIND, 8, create=False)
    assert again.reader("reader").read(8)["number"].tolist() == [1, 2]


def test_bytes_are_unmapped_with_the_last_view_of_them(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(8192))
    with path.open("r+b") as file:
        mapped = mapped_bytes(file.fileno(), 8192, populate=False)
    view = mapped.view("<i8")[3:5]
    del mapped
    view[0] = 7
    assert path.read_bytes()[24] == 7
    assert len(mappings(tmp_path)) == 1
    del view
    assert mappings(tmp_path) == []


def test_what_the_kernel_cannot_map_is_an_error(tmp_path):
    path = tmp_path / "empty"
    path.touch()
    with path.open("r+b") as file, pytest.raises(OSError, match="Invalid argument"):
        mapped_bytes(file.fileno(), 0, populate=False)
