"""Whatever is in a file, the command that reads it ends with a sentence, within bounds of work and memory."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import runpy
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import hil.analysis.export.run
import hil.analysis.own_rover.files

# What commands import when they run is imported before the children are made: that work is not the file's.
import hil.analysis.recompute
import hil.analysis.replay
import hil.analysis.report.make
import hil.analysis.verify
import hil.campaign.plan
import hil.experiments.impact.figure  # noqa: F401
from hil.cli import run
from hil.config import load_config
from hil.ipc.run_memory import RunMemory
from hil.messages.layout import SENSORS, Layout
from hil.recording import RecordWriter
from models.rover.assembly import WHEELS

HERE = Path(__file__).parent
TEXTS: dict[str, Any] = runpy.run_path(str(HERE / "hostile_texts.py"))
CHANGES: dict[str, Any] = runpy.run_path(str(HERE / "hostile_records.py"))
YAML, JSON, CALIBRATIONS, PLAIN, ROVERS = (TEXTS[name] for name in ("YAML", "JSON", "CALIBRATIONS", "PLAIN", "ROVERS"))
# A command needs a tenth of a second here. What a file can make endless is stopped, however slow the machine is.
CPU_S, MEMORY = 20, 500 * 2**20
LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
# `make fuzz` takes all of them; the suite a part, for it would take half a minute.
EVERY = 1 if os.environ.get("HIL_FUZZ") else 8
DAMAGED = 100


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    cpu_s: float
    said: str


def command(folder: Path, *arguments: str) -> Ended:
    """Run a command in a child process with limits, as the program does it."""
    child = os.fork()
    if not child:
        status = 99
        try:
            gc.freeze()  # the objects of all tests before are not looked at: that took seconds of the child's time
            os.chdir(folder)
            said = os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(said, stream)
            sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
            mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
            status = run(arguments)
            sys.stdout.flush()
        finally:
            os._exit(status)
    _, ended, used = os.wait4(child, 0)
    said = (folder / "said").read_text(encoding="utf-8", errors="replace")
    return Ended(os.waitstatus_to_exitcode(ended), used.ru_utime + used.ru_stime, said)


def refused(ended: Ended, *allowed: int) -> None:
    assert ended.status in allowed, ended
    assert "unexpected error" not in ended.said, ended
    assert "Traceback" not in ended.said, ended
    assert ended.status != 2 or "hil: " in ended.said, ended
    assert "\x1b]" not in ended.said
    assert ended.cpu_s <= CPU_S, ended


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ended before its first tick."""
    folder = tmp_path_factory.mktemp("good") / "run"
    folder.mkdir()
    config = load_config("sim_impact")
    meta = {"config": config.to_yaml(), "config_sha256": config.sha256(), "version": "0", "layout": LAYOUT.to_json(),
            "seed": 1, "experiment": "impact"}  # fmt: skip
    RecordWriter(folder, meta=meta, layout=LAYOUT, rates_hz={"daq": 30_000}).close()
    (folder / "summary.json").write_text(json.dumps({"accepted": False}))
    return folder


@pytest.fixture(scope="module", autouse=True)
def commands_are_made() -> None:
    """Once, before the children: that takes a tenth of a second."""
    with contextlib.redirect_stdout(io.StringIO()):
        assert run(["--version"]) == 0


@pytest.fixture(autouse=True)
def plain_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIL_DEBUG", raising=False)


def share(cases: Mapping[str, object]) -> list[Any]:
    """The names of every so many cases; each second of them is slow, for together they take ten seconds."""
    chosen = sorted(cases)[::EVERY]
    return [pytest.param(name, marks=pytest.mark.slow) if at % 2 else name for at, name in enumerate(chosen)]


RECORDS = CHANGES["crafted"]() | {f"damage {n}": CHANGES["damaged"](n) for n in range(DAMAGED)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", share(RECORDS))
def test_a_hostile_record_ends_in_a_sentence(good: Path, tmp_path: Path, kind: str) -> None:
    shutil.copytree(good, tmp_path / "run")
    RECORDS[kind](tmp_path / "run")
    refused(command(tmp_path, "verify", "run"), 1, 2)


OTHERS = (("report", "--unverified"), ("replay", "--unverified"), ("recover",), ("export", "--to=csv", "--unverified"))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(0, len(RECORDS), 3 * EVERY))
def test_no_reader_of_records_is_trusting(good: Path, tmp_path: Path, number: int) -> None:
    """A record that only contradicts itself may still be drawn or exported, if that is asked for."""
    shutil.copytree(good, tmp_path / "run")
    RECORDS[sorted(RECORDS)[number]](tmp_path / "run")
    name, *options = OTHERS[number % len(OTHERS)]
    refused(command(tmp_path, name, "run", *options), 0, 1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", share(YAML))
def test_a_hostile_config_ends_in_a_sentence(tmp_path: Path, kind: str) -> None:
    (tmp_path / "config.yaml").write_bytes(YAML[kind])
    refused(command(tmp_path, "sim", "config.yaml"), 2)
    assert not (tmp_path / "owned").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", share(YAML))
def test_a_hostile_plan_ends_in_a_sentence(tmp_path: Path, kind: str) -> None:
    (tmp_path / "plan.yaml").write_bytes(YAML[kind])
    refused(command(tmp_path, "campaign", "sim_impact", "--plan", "plan.yaml"), 2)
    assert not (tmp_path / "owned").exists()


@pytest.mark.slow
@pytest.mark.parametrize("place", CALIBRATIONS)
def test_what_is_no_calibration_file_ends_in_a_sentence(tmp_path: Path, place: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "holes").touch()
    os.truncate(tmp_path / "holes", 2**40)
    (tmp_path / "config.yaml").write_text(
        f"{PLAIN}devices: {{daq: {{driver: ni, calibration: {json.dumps(place)}}}}}\n"
    )
    refused(command(tmp_path, "sim", "config.yaml"), 2)


@pytest.mark.parametrize("kind", share(JSON))
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("run/summary.json", ("verify", "run")),
        ("campaign.json", ("report", ".")),
        ("endpoints", ("devices", "sim_wire", "--endpoints", "endpoints")),
    ],
)
def test_a_hostile_json_file_ends_in_a_sentence(
    good: Path, tmp_path: Path, kind: str, name: str, arguments: tuple[str, ...]
) -> None:
    shutil.copytree(good, tmp_path / "run")
    (tmp_path / name).write_bytes(JSON[kind])
    refused(command(tmp_path, *arguments), 1, 2)


@pytest.mark.parametrize("kind", share(ROVERS))
def test_a_hostile_rover_ends_in_a_sentence(tmp_path: Path, kind: str) -> None:
    (tmp_path / "rover.urdf").write_bytes(ROVERS[kind])
    refused(command(tmp_path, "rover", "import", "rover.urdf"), 2)
    assert not list(tmp_path.glob("rover.[!u]*"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a billion laughs", "deep elements", "megabytes", "an infinite mass"])
def test_a_config_with_a_hostile_rover_ends_in_a_sentence(tmp_path: Path, kind: str) -> None:
    (tmp_path / "rover.urdf").write_bytes(ROVERS[kind])
    (tmp_path / "config.yaml").write_text(f"{PLAIN}rover: {{type: imported, imported: {{urdf: rover.urdf}}}}\n")
    refused(command(tmp_path, "sim", "config.yaml"), 2)


@pytest.mark.parametrize("asset", ["mesh", "texture type='2d'", "hfield size='1 1 1 1'"])
@pytest.mark.parametrize("folder", ["", "parts"])
def test_a_rover_whose_shapes_are_pipes_ends_in_a_sentence(tmp_path: Path, asset: str, folder: str) -> None:
    (tmp_path / "parts").mkdir()
    os.mkfifo(tmp_path / folder / "shape.png")
    text = f"<mujoco><compiler assetdir='{folder}'/><asset><{asset} name='a' file='shape.png'/></asset></mujoco>"
    (tmp_path / "rover.xml").write_text(text)
    ended = command(tmp_path, "rover", "import", "rover.xml", "--json")
    refused(ended, 2)
    assert "a regular file" in ended.said


BODY = "<worldbody><body name='a'><freejoint/><geom size='1'/>{}</body></worldbody>"
TEXTURE = "<texture name='{}' type='2d' builtin='flat' width='2000' height='2000'/>"
WORK = {
    "a simulation without end": "<compiler><lengthrange mode='all' inttotal='1e9' interval='1e8'/></compiler>"
    + BODY.format("<body><joint name='j' axis='0 1 0'/><geom size='1'/></body>")
    + "<actuator><muscle joint='j'/></actuator>",
    "pictures of gigabytes": f"<asset>{''.join(TEXTURE.format(n) for n in range(300))}</asset>{BODY.format('')}",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORK)
def test_what_mujoco_does_for_a_rover_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    pytest.importorskip("mujoco", reason="MuJoCo, which reads MJCF, is not installed")
    monkeypatch.setattr("hil.config.limited_process.MOST_WORK_S", 1)
    monkeypatch.setattr("hil.config.limited_process.MOST_MEMORY", 2**26)
    (tmp_path / "rover.xml").write_text(f"<mujoco>{WORK[kind]}</mujoco>")
    ended = command(tmp_path, "rover", "import", "rover.xml")
    refused(ended, 2)
    assert "reading it needs more than" in ended.said or "MuJoCo does not take it" in ended.said


def test_there_are_more_than_three_hundred_hostile_files() -> None:
    texts = 2 * len(YAML) + 3 * len(JSON) + len(CALIBRATIONS) + len(ROVERS)
    assert len(RECORDS) + texts > 300


def _sparse(place: Path) -> None:
    os.truncate(place, 2**40)


def _another_size(place: Path) -> None:
    """Header and file agree on a size that the contents do not need."""
    content = bytearray(place.read_bytes())
    size = len(content).to_bytes(8, "little")
    at = content.find(size)
    content[at : at + 8] = (2**36).to_bytes(8, "little")
    place.write_bytes(content)
    os.truncate(place, 2**36)


def _link(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))
    place.symlink_to(place.with_name("elsewhere"))


LEFT = {
    "memory behind a link": ("shm", _link),
    "a ring behind a link": ("shm/ticks", _link),
    "a ring of holes": ("shm/ticks", _sparse),
    "a ring of another size": ("shm/ticks", _another_size),
    "a mailbox of another size": ("shm/start", _another_size),
    "a config of brackets": ("shm/config.json", lambda place: place.write_bytes(b"[" * 100_000)),
    "a config of holes": ("shm/config.json", _sparse),
    "meta of brackets": ("shm/meta.json", lambda place: place.write_bytes(b"[" * 10_000)),
    "meta of a list": ("shm/meta.json", lambda place: place.write_bytes(b"[1]")),
    "meta that is a pipe": ("shm/meta.json", lambda place: (place.unlink(), os.mkfifo(place))),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEFT)
def test_hostile_shared_memory_of_a_killed_run_ends_in_a_sentence(tmp_path: Path, kind: str) -> None:
    (tmp_path / "run").mkdir()
    RunMemory(tmp_path / "run", load_config("sim_impact"), {"version": "0"}).close()
    name, change = LEFT[kind]
    change(tmp_path / "run" / name)
    refused(command(tmp_path, "recover", "run"), 2)
