"""Readers of files and the control socket, given what chance makes: a value or a refusal, never anything else."""

from __future__ import annotations

import contextlib
import json
import runpy
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.config import load_config
from hil.config.files import parse_json
from hil.config.text_io import MOST_VALUES, read_yaml
from hil.messages.layout import SENSORS, Layout
from hil.recording import RecordError, RecordWriter, TrialRecord, read_trial
from hil.recording.reader import read_digests
from hil.simulator.control_socket import ControlServer, dispatch
from hil.simulator.memory import SimulatorMemory
from hil.simulator.serial_process import SerialLines
from models.rover.assembly import WHEELS

CHANGES: dict[str, Any] = runpy.run_path(str(Path(__file__).parent / "hostile_records.py"))
MOST = settings().max_examples  # many in `make fuzz`
WORDS = [
    "&a ",
    "&b ",
    "*a",
    "*b",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ": ",
    "- ",
    "\n",
    "\n  ",
    "? ",
    "| ",
    ">\n ",
    "!!int ",
    "!x ",
]
WORDS += ["<<", "'", '"', "\\x", "#", "%YAML 1.1\n", "---", "...", "0x", "1e999", ".nan", "~", "a", "b", "\t", "\0"]
WORDS += ["\ufeff", "\u2028"]


def _values(value: Any) -> int:
    """Values in a value, each counted as often as it is reached."""
    if isinstance(value, dict | list):
        return 1 + sum(map(_values, value.values() if isinstance(value, dict) else value))
    return 1


@given(text=st.lists(st.sampled_from(WORDS), max_size=60).map("".join) | st.text(max_size=100))
def test_yaml_is_a_value_within_the_limits_or_a_problem(text: str) -> None:
    value, problems = read_yaml(text, "(file)")
    assert all("\n" not in problem.found for problem in problems)
    assert _values(value) <= MOST_VALUES


_JSON_WORDS = ["[", "]", "{", "}", ",", ":", '"a"', '"', "1", "-", "1e999", "NaN", "null", "\\ud800", "9" * 400, " "]


@given(text=st.lists(st.sampled_from(_JSON_WORDS), max_size=60).map("".join) | st.text(max_size=100))
def test_json_is_a_value_or_a_refusal(text: str) -> None:
    with contextlib.suppress(ValueError):
        json.dumps(parse_json(text, 2**16))


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of a run that ended before its first tick: nearly all of it is structure."""
    folder = tmp_path_factory.mktemp("record")
    layout = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
    RecordWriter(folder, meta={"version": "0"}, layout=layout, rates_hz={"daq": 30_000}).close()
    return folder / "trial.h5"


@pytest.mark.soak
@settings(max_examples=max(MOST // 10, 10))  # each takes a child process
@given(data=st.data())
def test_a_record_with_any_bytes_changed_is_read_or_refused(record: Path, data: st.DataObject) -> None:
    content = bytearray(record.read_bytes())
    where = st.integers(0, 8191) | st.integers(0, len(content) - 1)
    for place, new in data.draw(st.lists(st.tuples(where, st.binary(min_size=1, max_size=8)), max_size=20)):
        content[place : place + len(new)] = new
    del content[data.draw(st.just(len(content)) | st.integers(0, len(content))) :]
    changed = record.with_name("changed.h5")
    changed.write_bytes(content)
    with contextlib.suppress(RecordError):
        assert isinstance(read_trial(changed), TrialRecord)
        read_digests(changed)


_PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10)
_NAMES = ("device", "kind", "every", "delay_ms", "seconds", "pressed", "count", "direction")
_DO = ("inject_fault", "e_stop", "stops")


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SerialLines]:
    """The serial devices of a simulated rig, with all their commands."""
    memory = SimulatorMemory(tmp_path_factory.mktemp("rig"), load_config("sim_wire"))
    lines = SerialLines(memory)
    yield lines
    for line in lines.lines.values():
        line.close()
    memory.close()


@pytest.mark.slow
@given(data=st.data())
def test_a_command_to_simulated_devices_is_answered(serial: SerialLines, data: st.DataObject) -> None:
    value = _PLAIN | st.sampled_from(sorted(serial.lines)) | st.lists(_PLAIN, max_size=3)
    keys = st.sampled_from(_NAMES) | st.text(max_size=5)
    command = data.draw(st.dictionaries(keys, value, max_size=5)) | {"do": data.draw(st.sampled_from(_DO))}
    if data.draw(st.booleans()):
        command["device"] = data.draw(st.sampled_from(sorted(serial.lines)))
    answer = dispatch(json.dumps(command).encode(), serial.handlers)
    assert isinstance(answer["ok"], bool)
    json.dumps(answer, allow_nan=False)


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A control socket that is served."""
    path = tmp_path_factory.mktemp("socket") / "control"
    server, serving = ControlServer(path, {"echo": lambda command: command}), [True]
    thread = threading.Thread(target=server.serve, args=(lambda: serving[0], 0.01))
    thread.start()
    yield path
    serving[0] = False
    thread.join()
    server.close()


@settings(max_examples=max(MOST // 4, 25))
@given(pieces=st.lists(st.binary(max_size=50) | st.sampled_from([b"\n", b'{"do": "echo"}\n', b"{", b"\0"]), max_size=8))
def test_whatever_came_before_it_the_next_client_is_answered(control: Path, pieces: list[bytes]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one, contextlib.suppress(OSError):
        one.connect(str(control))
        for piece in pieces:
            one.sendall(piece)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.connect(str(control))
        other.sendall(b'{"do": "echo", "number": 7}\n')
        with other.makefile() as answers:
            assert json.loads(answers.readline()) == {"ok": True, "number": 7}
