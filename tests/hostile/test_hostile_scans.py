"""Whatever is in the file of a scan, it is read within limits or refused with a sentence."""

from __future__ import annotations

import os
import random
import resource
import socket
import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from hil.config import limited_process
from hil.config.limited_process import MOST_MEMORY, limit_process
from hil.config.problems import Problem
from hil.config.scan.file import ScanFile
from tests.hil.config.scan.corpus import prepare_all, written

# Of the process that reads, a little more than it gets, for what it imports before.
CPU_S = 15.0
REPOSITORY = str(Path(__file__).parents[2])
VRT = """<VRTDataset rasterXSize="50" rasterYSize="50"><VRTRasterBand dataType="Byte" band="1"><SimpleSource>
<SourceFilename relativeToVRT="0">{}</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>"""
PLY = "ply\nformat {} 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\nend_header\n"


def las(version: tuple[int, int] = (1, 2), kind: int = 0, record: int = 20, data: int = 227, **numbers: int) -> bytes:
    """A header whose numbers are not those of the file, and 40 points of zeros."""
    header = bytearray(375 if version == (1, 4) else 227)
    header[:4], header[24:26] = b"LASF", bytes(version)
    struct.pack_into("<HII", header, 94, len(header), data, numbers.get("vlrs", 0))
    struct.pack_into("<BHI", header, 104, kind, record, numbers.get("count", 40))
    if version == (1, 4):
        struct.pack_into("<QIQ", header, 235, numbers.get("first", 0), numbers.get("evlrs", 0), numbers.get("long", 0))
    return bytes(header) + bytes(800)


def tiff(width: int, height: int, bits: int = 64, **tags: int) -> bytes:
    """A picture of that size by its header alone: one strip of no bytes."""
    georeference = [(33550, 12, 3, 1000), (33922, 12, 6, 1100)] if tags.pop("placed", 1) else []
    entries = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, bits), (259, 3, 1, tags.get("packed", 1))]
    entries += [(262, 3, 1, 1), (273, 4, 1, 0), (277, 3, 1, tags.get("samples", 1)), (278, 4, 1, height)]
    entries += [(279, 4, 1, 0), (339, 3, 1, 3), *georeference]
    content = struct.pack("<2sHIH", b"II", 42, 8, len(entries))
    content += b"".join(struct.pack("<HHII", *entry) for entry in sorted(entries)) + bytes(4)
    return content.ljust(1000, b"\0") + struct.pack("<3d", 0.1, 0.1, 0.0).ljust(100, b"\0") + bytes(48)


def esri(columns: int, lines: int) -> bytes:
    return f"ncols {columns}\nnrows {lines}\nxllcorner 0\nyllcorner 0\ncellsize 0.1\n".encode()


def rows(count: int) -> bytes:
    return np.random.default_rng(1).uniform(-2.0, 2.0, (count, 3)).astype("<f4").tobytes()


SCANS: dict[str, tuple[str, bytes]] = {
    "a VRT that names a file": (".tif", VRT.format("/etc/passwd").encode()),
    "a VRT that names a server": (".tif", VRT.format("/vsicurl/http://127.0.0.1:{port}/x.tif").encode()),
    "a raster of terabytes": (".tif", tiff(2**20, 2**20)),
    "a raster of one high strip": (".tif", tiff(4, 2**31)),
    "a raster of thousands of bands": (".tif", tiff(1000, 1000, samples=65_535)),
    "a raster that is cut off": (".tif", tiff(100, 100)[:100]),
    "a raster packed in a way of nobody": (".tif", tiff(100, 100, packed=999)),
    "noise after the mark of a TIFF": (".tif", b"II*\0" + random.Random(1).randbytes(3000)),
    "another format of rasters": (".tif", b"\x89PNG\r\n\x1a\n" + bytes(100)),
    "a LAS of billions of points": (".las", las(count=4_000_000_000)),
    "a LAS of billions of records before the points": (".las", las(vlrs=3_000_000_000)),
    "a LAS of billions of records after the points": (".las", las((1, 4), evlrs=2**31, first=400)),
    "a LAS whose points lie beyond its end": (".las", las(data=2**31)),
    "a LAS of points without bytes": (".las", las(record=0)),
    "a LAS of 2^60 points": (".las", las((1, 4), 6, 30, 375, long=2**60)),
    "a LAS of another version": (".las", las((9, 9))),
    "a LAS of noise": (".las", b"LASF" + random.Random(2).randbytes(3000)),
    "a LAZ of billions of points": (".laz", las(kind=0x80, count=4_000_000_000)),
    "a LAZ without its table of chunks": (".laz", las(kind=0x80)),
    "a header alone": (".las", b"LASF"),
    "a PLY of billions of points": (".ply", PLY.format("binary_little_endian", 4_000_000_000).encode() + rows(99)),
    "a PLY of billions of rows of text": (".ply", PLY.format("ascii", 4_000_000_000).encode()),
    "a PLY of 10^18 rows before": (
        ".ply",
        PLY.format("ascii", 20).replace("element v", f"element a {10**18}\nproperty int b\nelement v").encode(),
    ),
    "a PLY whose lists have no end": (
        ".ply",
        PLY.format("binary_big_endian", 20)
        .replace("element v", f"element face {10**12}\nproperty list uint double b\nelement v")
        .encode()
        + b"\xff" * 1000,
    ),
    "a PLY of lists without length": (
        ".ply",
        PLY.format("binary_big_endian", 20)
        .replace("element v", f"element face {10**12}\nproperty list uchar double b\nelement v")
        .encode()
        + bytes(1000),
    ),
    "a PLY that is cut off": (".ply", PLY.format("binary_little_endian", 100).encode() + rows(99)),
    "a PLY of text that is cut off": (".ply", PLY.format("ascii", 100).encode() + b"1 2 3\n" * 99),
    "a PLY without points": (".ply", PLY.format("ascii", 0).encode()),
    "a PLY without heights": (".ply", PLY.format("ascii", 20).replace("property float z\n", "").encode()),
    "a PLY without an end of its header": (".ply", b"ply\nformat ascii 1.0\n" + b"comment x\n" * 100_000),
    "a PLY of a negative number": (".ply", PLY.format("ascii", -5).encode()),
    "a PLY of types of nobody": (".ply", PLY.format("ascii", 20).replace("float", "object").encode()),
    "a PLY of billions of faces": (
        ".ply",
        PLY.format("binary_little_endian", 20)
        .replace("end_", f"element face {10**12}\nproperty list uint int vertex_index\nend_")
        .encode()
        + rows(20)
        + b"\xff" * 1000,
    ),
    "a PLY with faces of no points": (
        ".ply",
        PLY.format("ascii", 20).replace("end_", "element face 1\nproperty list uchar int vertex_index\nend_").encode()
        + b"1 2 3\n" * 20
        + b"3 0 1 99\n",
    ),
    "an OBJ with faces of no points": (".obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 -4\n"),
    "an OBJ of one face": (".obj", b"v 0 0 0\n" * 20 + b"f" + b" 1" * 3_000_000),
    "an OBJ of faces over each other": (
        ".obj",
        b"v -6 -6 0\nv 6 -6 0\nv 0 6 0\n" + b"f 1 2 3\n" * 400_000,
    ),
    "an OBJ of words": (".obj", b"v 1 2 three\n" * 20),
    "an OBJ of files": (".obj", b"mtllib /etc/passwd\ncall /etc/passwd\n"),
    "an STL of billions of facets": (".stl", bytes(80) + b"\xff\xff\xff\xff" + bytes(500)),
    "an STL that is cut off": (".stl", bytes(80) + struct.pack("<I", 10) + bytes(499)),
    "an STL of text that is cut off": (".stl", b"solid a\n" + b"vertex 1 2 3\n" * 20),
    "an STL of one place": (".stl", bytes(80) + struct.pack("<I", 20) + bytes(1000)),
    "an STL of no numbers": (".stl", bytes(80) + struct.pack("<I", 20) + b"\xff" * 1000),
    "an ESRI grid of trillions of cells": (".asc", esri(10**6, 10**6) + b"1 2 3\n"),
    "an ESRI grid that is cut off": (".asc", esri(100, 100) + b"1 2 3\n"),
    "an ESRI grid of fewer than no cells": (".asc", esri(-5, 2**40) + b"1 2 3\n"),
    "an ESRI grid of one number": (".asc", esri(50, 50) + b"9" * 5_000_000),
    "a text of one line": (".csv", b"1" * 5_000_000),
    "a text of one row": (".csv", b"1," * 2_000_000),
    "a text of zeros": (".csv", bytes(100_000)),
    "numbers of thousands of digits": (".csv", (b"9" * 5000 + b",1,2\n") * 20),
    "points at the ends of numbers": (".csv", b"1e308,-1e308,1e308\n-1e308,1e308,-1e308\n" * 20),
    "points without end of themselves": (".csv", b"inf,nan,-inf\n" * 1000),
    "a page of an error": (".csv", b"<!DOCTYPE html><html>404</html>"),
    "nothing": (".csv", b""),
}


FORBIDDEN = ("open", "socket.", "subprocess.", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.system")
OPENED: list[str] = []
DOING: list[int] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    """Files that are opened here; and of the process that reads, once its work begins, whatever it tries."""
    if event == "open" and not isinstance(arguments[0], int):
        OPENED.append(str(arguments[0]))
    if DOING and event.startswith(FORBIDDEN):
        os.write(DOING[0], f"{event} {arguments}\n"[:400].encode())


sys.addaudithook(_watch)


@pytest.fixture(scope="module", autouse=True)
def prepared() -> None:
    prepare_all()


class Watched(NamedTuple):
    """What the reading of a scan came to, and did.

    Attributes:
        section: of the config, with its map.
        problems: that were found.
    """

    section: dict[str, Any]
    problems: list[Problem]


def watched(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str = "scan") -> Watched:
    """Read a scan as a config reads it; it takes its time and memory, one file, one process and no socket."""
    trying, tried = os.pipe()
    used: list[resource.struct_rusage] = []
    before, children = _resident(), _children()

    def limit(limits: Mapping[int, int], do: Callable[[Mapping[int, int]], None] = limit_process) -> None:
        do(limits)
        DOING.append(tried)  # the work begins

    def wait(child: int, options: int) -> None:
        used.append(os.wait4(child, options)[2])

    OPENED.clear()
    with monkeypatch.context() as patch:
        patch.setattr(limited_process, "limit_process", limit)
        patch.setattr(os, "waitpid", wait)
        section = {"file": name, "units": "m", "up": "z", "start_m": [0, 0]}
        problems = ScanFile().put({"ground": {"kind": kind, "scan": section}}, folder)
    os.close(tried)
    with open(trying, "rb") as said:
        assert said.read() == b""
    assert {one for one in OPENED if not one.startswith((sys.prefix, sys.base_prefix, "/proc", REPOSITORY))} <= {
        str(folder / name)
    }
    assert _children() == children
    for one in used:
        assert one.ru_utime + one.ru_stime < CPU_S
        assert 1024 * one.ru_maxrss - before < 1.1 * MOST_MEMORY
    assert bool(problems) == ("map" not in section)
    return Watched(section, problems)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


def refused(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str = "scan") -> str:
    """The sentence with which a scan is refused."""
    (problem,) = watched(name, folder, monkeypatch, kind).problems
    assert problem.key.startswith("ground.scan.")
    assert "Traceback" not in str(problem)
    return f"{problem.found}; {problem.allowed}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if at % 3 else kind for at, kind in enumerate(SCANS)]
)
def test_a_hostile_scan_is_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    ending, content = SCANS[kind]
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.0)
        place = tmp_path / f"scan{ending}"
        place.write_bytes(content.replace(b"{port}", str(server.getsockname()[1]).encode()))
        assert refused(place.name, tmp_path, monkeypatch)
        with pytest.raises(BlockingIOError):  # nobody has connected
            server.accept()
    assert sorted(path.name for path in tmp_path.iterdir()) == [place.name]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind, (ending, _) in SCANS.items() if ending in (".ply", ".obj", ".stl")])
def test_a_hostile_mesh_is_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    ending, content = SCANS[kind]
    (tmp_path / f"mesh{ending}").write_bytes(content)
    assert refused(f"mesh{ending}", tmp_path, monkeypatch, "mesh")


def _pipe(place: Path) -> None:
    os.mkfifo(place)


def _socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(place))


PLACES: dict[str, Callable[[Path], None]] = {
    "a pipe": _pipe,
    "a socket": _socket,
    "a folder": Path.mkdir,
    "a device behind a link": lambda place: place.symlink_to("/dev/zero"),
    "a file of holes": lambda place: (place.touch(), os.truncate(place, 2**40))[1],
    "nothing": lambda place: None,
}


@pytest.mark.parametrize("ending", [".csv", ".tif"])
@pytest.mark.parametrize("kind", PLACES)
def test_what_is_no_regular_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, ending: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    PLACES[kind](Path(f"scan{ending}"))
    assert f"looked for {tmp_path}" in refused(f"scan{ending}", tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a GeoTIFF", "an ESRI grid", "an OBJ with textures", "a LAS"])
def test_of_all_files_only_the_named_one_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Files that libraries would look for beside a scan are not touched: of a pipe, opening would not end."""
    name = written(kind, tmp_path)
    for beside in (f"{name}.aux.xml", f"{name}.ovr", f"{name}.msk", "a.tfw", "a.prj", "a.mtl", "none.mtl"):
        os.mkfifo(tmp_path / beside)
    assert watched(name, tmp_path, monkeypatch).problems == []


# `make fuzz` takes more of them.
@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    ["a text", "a mesh of PLY", "a PLY of text", "a LAS", "a LAZ with plants", "a GeoTIFF", "an ESRI grid",
     "an OBJ with textures", "an STL", "an STL of text"],
)  # fmt: skip
def test_a_damaged_scan_is_read_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    chance, name = random.Random(kind), written(kind, tmp_path)
    good = (tmp_path / name).read_bytes()
    for number in range(60 if os.environ.get("HIL_FUZZ") else 6):
        content = bytearray(good)
        if number % 2:
            del content[chance.randrange(len(content)) :]
        for _ in range(chance.randrange(1, 30)):  # numbers of the header are more often worth it
            content[chance.randrange(min(len(content), 1000))] = chance.randrange(256)
        (tmp_path / name).write_bytes(content)
        watched(name, tmp_path, monkeypatch)
