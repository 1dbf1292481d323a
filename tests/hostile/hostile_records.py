"""Records that a person who means harm, or a broken disk, might hand over: functions that change a good one."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

RECORD = "trial.h5"
Change = Callable[[Path], None]  # of a run folder
ROWS = ("tick", "timing", "events", "daq/blocks", "daq/raw", "daq/t_ns")
HUGE = 2**40


def _edit(change: Callable[[h5py.File], Any]) -> Change:
    def change_file(run: Path) -> None:
        with h5py.File(run / RECORD, "r+") as file:
            change(file)

    return change_file


def _replace(name: str, **made: Any) -> Change:
    """Another dataset of that name."""

    def change(file: h5py.File) -> None:
        made.setdefault("dtype", file[name].dtype)
        del file[name]
        file.create_dataset(name, **made)

    return _edit(change)


def _link(name: str, link: Any) -> Change:
    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = link

    return _edit(change)


def _pipe_behind_a_link(run: Path) -> None:
    os.mkfifo(run / "pipe")
    _link("tick", h5py.ExternalLink("pipe", "/tick"))(run)


def _virtual(name: str, source: str, rows: int) -> Change:
    def change(file: h5py.File) -> None:
        dtype = file[name].dtype
        del file[name]
        layout = h5py.VirtualLayout((rows,), dtype)
        layout[:] = h5py.VirtualSource(source, "tick", (rows,), dtype)
        file.create_virtual_dataset(name, layout)

    return _edit(change)


def _bomb(file: h5py.File) -> None:
    """Small in the file, a gigabyte when it is read."""
    del file["daq/raw"]
    bomb = file.create_dataset("daq/raw", (2**27, 1), "<f8", chunks=(2**17, 1), compression="gzip")
    packed = zlib.compress(bytes(2**20), 9)
    for chunk in range(64):
        bomb.id.write_direct_chunk((chunk * 2**17, 0), packed)


def _compressed(chunk_bytes: int, rows: int) -> Change:
    """Volts compressed as a record is, in chunks that hold more or other than they should."""

    def change(file: h5py.File) -> None:
        del file["daq/raw"]
        how = {"shuffle": True, "compression": "gzip", "chunks": (8192, 3), "maxshape": (None, 3)}
        volts = file.create_dataset("daq/raw", (rows, 3), "<f8", **how)
        packer = zlib.compressobj(1)
        packed = b"".join(packer.compress(bytes(2**20)) for _ in range(chunk_bytes // 2**20)) + packer.flush()
        for first in range(0, min(rows, 64 * 8192), 8192):
            volts.id.write_direct_chunk((first, 0), packed)

    return _edit(change)


def _crowd(file: h5py.File) -> None:
    for number in range(1200):
        file.create_group(f"meta/group_{number}")


def _depths(file: h5py.File) -> None:
    file.create_group("/".join(["deep"] * 40))


def _doubling(file: h5py.File) -> None:
    """Groups that each hold the next one many times: billions of paths through a few objects."""
    group = file.create_group("level")
    for _ in range(8):
        inner = group.create_group("0")
        for number in range(1, 30):
            group[str(number)] = inner
        group = inner


def _attributes(file: h5py.File) -> None:
    for number in range(200):
        file["tick"].attrs[f"note_{number}"] = number


def _large_attribute(file: h5py.File) -> None:
    file["tick"].attrs.create("note", np.zeros(8000))
    for number in range(40):
        file["daq/raw"].attrs.create(f"note_{number}", np.zeros(7000))


def _meta(key: str, value: Any) -> Change:
    def change(file: h5py.File) -> None:
        if key in file["meta"]:
            del file[f"meta/{key}"]
        file.create_dataset(f"meta/{key}", data=value)

    return _edit(change)


def _bytes_at(place: int, content: bytes) -> Change:
    def change(run: Path) -> None:
        data = bytearray((run / RECORD).read_bytes())
        data[place : place + len(content)] = content
        (run / RECORD).write_bytes(data)

    return change


def _whole(content: bytes) -> Change:
    return lambda run: (run / RECORD).write_bytes(content) and None


def _in_place(make: Callable[[Path], Any]) -> Change:
    def change(run: Path) -> None:
        (run / RECORD).unlink()
        make(run / RECORD)

    return change


def _holes(run: Path) -> None:
    os.truncate(run / RECORD, HUGE)


def _all_holes(path: Path) -> None:
    path.touch()
    os.truncate(path, HUGE)


def _dtypes() -> Iterator[tuple[str, Any]]:
    yield "text of any length", h5py.string_dtype()
    yield "lists of any length", h5py.vlen_dtype(np.int32)
    yield "references", h5py.ref_dtype
    yield "references to regions", h5py.regionref_dtype
    yield "opaque bytes", np.dtype("V16")
    yield "complex numbers", np.dtype("c16")
    yield "a choice", h5py.enum_dtype({"a": 1, "b": 2})
    yield "texts", np.dtype("S8")
    yield "long rows", np.dtype((np.float64, (10_000,)))
    yield "nested rows", np.dtype([("tick", [("tick", [("t_ns", "<i8", (3,))])])])
    yield "rows with text of any length", np.dtype([("tick", "<i8"), ("name", h5py.string_dtype())])


def crafted() -> dict[str, Change]:
    """By a name that says what is wrong: changes that HDF5's own library makes."""
    yaml_bomb = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    cases: dict[str, Change] = {
        "a pipe behind an external link": _pipe_behind_a_link,
        "a bomb of zeros": _edit(_bomb),
        "a bomb in the form of a record": _compressed(2**20, HUGE),
        "a chunk of a gigabyte": _compressed(2**30, 8192),
        "chunks of nothing": _compressed(0, 3 * 8192),
        "a thousand groups": _edit(_crowd),
        "groups in groups": _edit(_depths),
        "billions of paths": _edit(_doubling),
        "a circle of groups": _edit(lambda file: file["meta"].__setitem__("again", file["/"])),
        "one dataset of two names": _edit(lambda file: file.__setitem__("meta/again", file["tick"])),
        "hundreds of attributes": _edit(_attributes),
        "large attributes": _edit(_large_attribute),
        "an attribute of any length": _edit(lambda file: file.attrs.create("note", "x", dtype=h5py.string_dtype())),
        "a file of holes": _in_place(_all_holes),
        "holes after the record": _holes,
        "a pipe": _in_place(os.mkfifo),
        "a device behind a link": _in_place(lambda path: path.symlink_to("/dev/zero")),
        "a file elsewhere behind a link": _in_place(lambda path: path.symlink_to("/etc/passwd")),
        "a folder": _in_place(lambda path: path.mkdir()),
        "a link to nothing": _in_place(lambda path: path.symlink_to("nothing")),
        "no record at all": _in_place(lambda path: None),
        "a config of aliases": _meta("config", np.bytes_(yaml_bomb.encode())),
        "a config of brackets": _meta("config", np.bytes_(b"[" * 50_000)),
        "a config of half a megabyte": _meta("config", np.bytes_(b"a: 1\n" * 100_000)),
        "a config that is not text": _meta("config", np.bytes_(b"\xff\xfe\x80")),
        "a config of numbers": _meta("config", np.arange(1000)),
        "a layout of brackets": _meta("layout", np.bytes_(b"[" * 50_000)),
        "a layout that is not text": _meta("layout", np.bytes_(b"\xff\xfe\x80")),
        "a layout of other types": _meta("layout", np.bytes_(b'{"wheels": 3, "cylinders": {}, "channels": [1]}')),
        "a layout of many wheels": _meta("layout", np.bytes_(b'{"wheels": [' + b'"x",' * 9_999 + b'"x"]}')),
        "a seed that is not a number": _meta("seed", np.nan),
        "another experiment": _meta("experiment", np.bytes_(b"../../etc/passwd")),
    }
    for name in ROWS:
        cases[f"a huge {name}"] = _replace(name, shape=(HUGE,), chunks=(128,))
        cases[f"{name} as a soft link"] = _link(name, h5py.SoftLink("/meta/config"))
        cases[f"{name} as an external link"] = _link(name, h5py.ExternalLink("/etc/passwd", "/tick"))
        cases[f"{name} as a group"] = _link(name, None) if name == "" else _edit(
            lambda file, name=name: (file.__delitem__(name), file.create_group(name))
        )  # fmt: skip
        cases[f"{name} without data"] = _replace(name, data=h5py.Empty("<i8"), dtype=None)
        cases[f"{name} as one number"] = _replace(name, data=7, dtype="<i8")
        cases[f"{name} filtered"] = _replace(name, shape=(100,), chunks=(10,), shuffle=True, fletcher32=True)
        cases[f"{name} missing"] = _edit(lambda file, name=name: file.__delitem__(name))
    for what, dtype in _dtypes():
        cases[f"ticks of {what}"] = _replace("tick", shape=(3,), dtype=dtype)
        cases[f"volts of {what}"] = _replace("daq/raw", shape=(3, 1), dtype=dtype)
    return cases | {
        "a soft link to itself": _link("tick", h5py.SoftLink("/tick")),
        "an external link to itself": _link("tick", h5py.ExternalLink(RECORD, "/tick")),
        "rows in a device": _replace("daq/t_ns", shape=(2**20,), external=[("/dev/zero", 0, 2**23)]),
        "rows in another file": _replace("daq/t_ns", shape=(100,), external=[("/etc/passwd", 0, 800)]),
        "rows of another record": _virtual("tick", "/etc/passwd", 10),
        "rows of itself": _virtual("tick", ".", 10),
        "many axes": _replace("daq/raw", shape=(2**10,) * 6, chunks=(1,) * 6),
        "a huge text": _replace("meta/version", shape=(), dtype="S2000000000"),
        "a fill value of a gigabyte": _replace("daq/t_ns", shape=(2**27,), chunks=(2**20,), fillvalue=7),
        "another format at its start": _bytes_at(0, b"\x1f\x8b\x08\x00"),
        "the version of a superblock that does not exist": _bytes_at(8, b"\xff"),
        "an end beyond the file": _bytes_at(28, b"\xff" * 8),
        "a root that is nowhere": _bytes_at(36, b"\xff" * 8),
        "nothing": _whole(b""),
        "a signature alone": _whole(b"\x89HDF\r\n\x1a\n"),
        "noise": _whole(random.Random(1).randbytes(10_000)),
        "a signature, then noise": _whole(b"\x89HDF\r\n\x1a\n" + random.Random(2).randbytes(10_000)),
    }


def damaged(number: int) -> Change:
    """Bytes of a record are not what they were; HDF5 believes many of them."""

    def change(run: Path) -> None:
        chance = random.Random(number)
        data = bytearray((run / RECORD).read_bytes())
        if number % 3 == 0:
            del data[chance.randrange(len(data)) :]
        elif number % 3 == 1:  # HDF5's own pieces stand in the first pages
            for _ in range(chance.randrange(1, 40)):
                data[chance.randrange(min(len(data), 8192))] = chance.randrange(256)
        else:
            marks = [b"OHDR", b"FRHP", b"BTHD", b"EAHD", b"FSHD", b"OCHK", b"\x89HDF", b"FADB", b"EADB"]
            places = [place for mark in marks if (place := data.find(mark)) >= 0]
            start = chance.choice(places) + 4
            data[start : start + 16] = chance.choice([b"\xff" * 16, bytes(16), chance.randbytes(16)])
        (run / RECORD).write_bytes(data)

    return change
