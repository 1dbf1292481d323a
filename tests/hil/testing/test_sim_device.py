"""`hil sim DEVICE`, as a program in another language uses it: a path, and JSON lines."""

import json
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from hil.cli import run
from hil.testing.serving import DEVICES, make


@pytest.fixture
def served(tmp_path):
    started = []

    def start(*arguments):
        command = [sys.executable, "-m", "hil.cli", "sim", *arguments]
        started.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, text=True)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def ask(process, **command):
    process.stdin.write(json.dumps(command) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@pytest.mark.slow
def test_a_program_in_any_language_uses_a_device_by_path_and_json_lines(served, tmp_path):
    process = served("roboclaw", "--set", "addresses=[0x80, 0x81]", "--json", "--endpoints", "here.json")
    place = json.loads(process.stdout.readline())
    assert place == {"device": "roboclaw", "path": place["path"], "baud": 115200}
    assert json.loads((tmp_path / "here.json").read_text()) == {"roboclaw": place["path"]}
    assert Path(place["path"]).is_char_device()
    assert ask(process, do="get", key="wheels.3.speed_radps") == {"ok": True, "value": 0.0}
    assert ask(process, do="set", key="controllers.129.m2.count", value=77) == {"ok": True}
    assert ask(process, do="get", key="controllers.129.m2.count") == {"ok": True, "value": 77}
    assert ask(process, do="press_e_stop") == {"ok": True}
    assert ask(process, do="get", key="controllers.128.e_stop") == {"ok": True, "value": True}
    assert ask(process, do="inject_fault", kind="late", seconds=1) == {"ok": True}
    for wrong in ("_bus", "wheels.7.speed_radps", "wheels.0", "close", "wheels.0.nonsense"):
        assert not ask(process, do="get", key=wrong)["ok"], wrong
    assert "allowed: late" in ask(process, do="inject_fault", kind="tired")["error"]
    process.stdin.close()  # nobody commands it any more: it is still served
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    assert not Path(place["path"]).exists()
    assert not (tmp_path / "here.json").exists()


@pytest.mark.slow
def test_without_json_the_first_line_says_where_it_is(served):
    process = served("relay_board")
    name, _, path = process.stdout.readline().strip().partition(": ")
    assert name == "relay_board"
    assert Path(path).is_char_device()
    assert ask(process, do="set", key="coils.1", value=True) == {"ok": True}
    assert ask(process, do="get", key="cylinders.powered.1") == {"ok": True, "value": True}
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0


@pytest.mark.parametrize("name", DEVICES)
def test_every_device_can_be_served(name):
    with make(name, {}) as device:
        assert device.name == name
        assert getattr(device, "path", None) or device.address


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["roboclaw", "--set", "adresses=[0x80]"], "setting 'adresses' found; allowed: addresses, baud"),
        (["roboclaw", "--set", "addresses=[1]"], "0x80 to 0x87"),
        (["relay_board", "--set", "coils"], "NAME=VALUE"),
        (["relay_board", "--seed", "1"], "has no seed"),
        (["sim_wire", "--json"], "--endpoints FILE"),
        (["relay_board", "--endpoints", "no/such/folder"], "No such file"),
    ],
)
def test_what_a_device_cannot_be_ends_with_status_two(arguments, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["sim", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_a_name_of_both_a_config_and_a_device_is_the_config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    device_of = import_module("hil.cli.sim")._device_of
    assert device_of("roboclaw") == "roboclaw"
    Path("roboclaw").write_text("name: mine")
    assert device_of("roboclaw") is None
    assert device_of("sim_wire") is None
