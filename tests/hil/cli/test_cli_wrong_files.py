"""Files that are not what a command needs: one clear sentence, exit status 2, and never "unexpected error"."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import pytest

from hil.cli import run
from hil.config import load_config
from hil.messages.layout import SENSORS, Layout
from hil.recording import RecordWriter
from models.rover.assembly import WHEELS

pytestmark = pytest.mark.slow

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])

COMMANDS_ON_A_RUN = ("report", "verify", "replay", "recover", "explain --run")


def damaged(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def foreign(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["x"] = [1, 2]


def like_ours(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for name in ("tick", "timing", "events", "daq/blocks", "daq/raw", "daq/t_ns", "meta/config"):
            file[name] = [1]


def flat_samples(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["daq/raw"]
        file["daq/raw"] = [1.0, 2.0]


def group_for_dataset(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["tick"]
        file.create_group("tick")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


RECORDS = {
    "empty": lambda path: path.write_bytes(b""),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 16),
    "damaged": damaged,
    "foreign": foreign,
    "like ours": like_ours,
    "flat samples": flat_samples,
    "a group for a dataset": group_for_dataset,
    "a folder": folder,
}
SUMMARIES = {
    "empty": b"", "a list": b"[1]", "broken": b'{"a":', "binary": b"\xff\xfe\x00", "deep": b"[" * 100_000,
    "a loop that is none": b'{"loop": 3}',
}  # fmt: skip


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> Path:
    """A run that ended before its first tick."""
    place = tmp_path_factory.mktemp("ended") / "run"
    place.mkdir()
    config = load_config("sim_impact")
    meta = {"config": config.to_yaml(), "config_sha256": config.sha256(), "version": "0"}
    RecordWriter(place, meta=meta, layout=LAYOUT, rates_hz={"daq": 30_000}).close()
    (place / "summary.json").write_text(json.dumps({"accepted": False}))
    return place


@pytest.fixture
def finished(ended, tmp_path, monkeypatch) -> Path:
    """A copy of that run, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HIL_DEBUG", raising=False)
    return shutil.copytree(ended, tmp_path / "run")


def refused(capsys, *arguments: str, allowed: tuple[int, ...] = (2,)) -> None:
    status = run(list(arguments))
    said = capsys.readouterr()
    assert "unexpected error" not in said.err
    assert "Traceback" not in said.err
    assert status in allowed
    if status == 2:
        assert said.err.startswith("hil: ")


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize("command", COMMANDS_ON_A_RUN)
def test_a_record_that_is_none_ends_in_one_sentence(finished, capsys, command, kind):
    """`hil verify` reports it in its table, and ends with the status of a failed check."""
    RECORDS[kind](finished / "trial.h5")
    refused(capsys, *command.split(), "run", allowed=(1, 2) if command == "verify" else (2,))


@pytest.mark.parametrize("kind", SUMMARIES)
@pytest.mark.parametrize("command", ["report", "verify", "replay"])
def test_a_summary_that_is_none_ends_in_one_sentence(finished, capsys, command, kind):
    (finished / "summary.json").write_bytes(SUMMARIES[kind])
    refused(capsys, command, "run")


@pytest.mark.parametrize("command", COMMANDS_ON_A_RUN)
@pytest.mark.parametrize("place", ["no/such", "plain", "nothing", "/dev/null", "x" * 5000])
def test_a_run_that_is_none_ends_in_one_sentence(finished, capsys, command, place):
    Path("plain").write_text("hello")
    Path("nothing").mkdir()
    refused(capsys, *command.split(), place)


@pytest.mark.parametrize("left", ["empty", "junk", "a file"])
def test_what_a_killed_run_cannot_have_left_is_not_recovered(finished, capsys, left):
    shm = finished / "shm"
    if left == "a file":
        shm.write_text("x")
    else:
        shm.mkdir()
    if left == "junk":
        shutil.copy(finished / "trial.h5", shm / "config.json")
    refused(capsys, "recover", "run")


CONFIGS = {
    "empty": b"", "binary": bytes(range(256)), "list": b"- a\n- b\n", "tabs": b"name: x\n\trig: y\n", "nul": b"\0\0",
    "deep": b"[" * 50_000, "alias of itself": b"a: &a [*a]\nname: x\nrig: simulated\n",
    "two": b"name: x\n---\nname: y\n",
    "scalar": b"hello", "utf-16": "name: x".encode("utf-16"), "tag": b"!!python/object:os.system {}\n",
    "number for a section": b"trial: 5\nrig: simulated\nname: a\n",
    "calibration is a folder": b"name: a\nrig: simulated\ndevices: {daq: {driver: ni, calibration: .}}\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("command", ["trial", "energy", "check", "sim", "serve", "devices"])
def test_a_config_that_is_none_ends_in_one_sentence(finished, capsys, command, kind):
    Path("config.yaml").write_bytes(CONFIGS[kind])
    refused(capsys, command, "config.yaml")


@pytest.mark.parametrize(("place", "found"), [("run", "found a folder"), ("none.yaml", "found no such file")])
def test_what_stands_in_the_place_of_a_config_is_named(finished, capsys, place, found):
    assert run(["trial", place]) == 2
    assert found in capsys.readouterr().err


@pytest.mark.parametrize("command", ["trial", "energy"])
def test_a_config_that_may_not_be_read_ends_in_one_sentence(finished, capsys, monkeypatch, command):
    """The refusal is simulated: root may read everything."""

    read_text = Path.read_text

    def deny(path, *options, **more):
        if path.name == "config.yaml":
            raise PermissionError(13, "Permission denied")
        return read_text(path, *options, **more)

    Path("config.yaml").write_text("name: a\n")
    monkeypatch.setattr(Path, "read_text", deny)
    refused(capsys, command, "config.yaml")


ENDPOINTS = {
    "empty": b"", "list": b"[]", "binary": b"\xff\xfe\x00", "deep": b"[" * 100_000,
    "no ports": json.dumps(dict.fromkeys(("roboclaw", "roboteq", "modbus", "daq", "control"), "a b")).encode(),
    "a port over 65535": json.dumps(
        {"roboclaw": "/dev/null", "roboteq": "/dev/null", "modbus": "/dev/null", "daq": "h:99999", "control": "/none"}
    ).encode(),
}  # fmt: skip


@pytest.mark.parametrize("kind", ENDPOINTS)
def test_endpoints_that_are_none_end_in_one_sentence(finished, capsys, kind):
    Path("endpoints").write_bytes(ENDPOINTS[kind])
    refused(capsys, "devices", "sim_wire", "--endpoints", "endpoints")
