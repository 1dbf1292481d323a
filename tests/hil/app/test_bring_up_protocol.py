"""The bring-up commands against a simulated rig at the protocol level; all tests here share one rig."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hil
from hil.cli import run
from hil.recording import read_trial
from hil.simulator.connection import NAMES, read_endpoints
from hil.simulator.control_socket import ControlClient, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stalls")]
ROOT = Path(hil.__path__[0]).parent
CONFIG = (
    "telemetry.endpoint=''",
    "devices.daq.e_stop=cDAQ1Mod4/port0/line0",
    "devices.valves.baud=38400",
    "devices.valves.pressure_registers={left_extend: 0, left_retract: 1, right_extend: 2, right_retract: 3, "
    "kPa_per_count: 0.1}",
)
SET = tuple(part for override in CONFIG for part in ("--set", override))
# Checks that may fail on a busy machine: how often and how late processes run.
OF_TIME = {"DAQ sample age", "sample rate", "rate of the drives"}


@pytest.fixture(scope="module")
def endpoints(tmp_path_factory):
    file = tmp_path_factory.mktemp("rig") / "endpoints.json"
    command = [sys.executable, "-P", "-m", "hil.cli", "sim", "sim_wire", "--endpoints", str(file), *SET]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    try:
        assert wait_for(lambda: file.exists() or process.poll() is not None, 600), "no simulated rig within 600 s"
        assert process.poll() is None, process.stderr.read().decode()
        yield file
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def checked(endpoints, capsys, *more):
    status = run(["check", "sim_wire", "--endpoints", str(endpoints), *SET, *more, "--quick", "--json"])
    return status, {item["item"]: item for item in json.loads(capsys.readouterr().out)}


def failed(items):
    return {name for name, item in items.items() if not item["ok"]} - OF_TIME


def test_check_asks_every_device_and_moves_none(endpoints, capsys):
    with ControlClient(read_endpoints(endpoints)["control"]) as control:
        before = control.ask("truth")
        status, items = checked(endpoints, capsys)
        after = control.ask("truth")
        late = control.ask("lateness")["late"]
    assert after["hit_ns"] == before["hit_ns"]
    assert not list(Path().iterdir())
    if late and any("no answer" in items[name]["found"] for name in failed(items)):
        return  # the simulated devices were late themselves, and report it
    assert failed(items) == set()
    assert status in (0, 3)
    claws = [item for name, item in items.items() if name.startswith("address 0x8")]
    assert len(claws) == 3
    assert all("USB Roboclaw 2x15a v4.2.8, 12.0 V, 0.00 A and 0.00 A, no trouble" in item["found"] for item in claws)
    assert "cDAQ1Mod1" in items["NI-DAQ"]["found"]
    assert "released" in items["emergency stop"]["found"]
    assert "0 and 0 kPa" in items["pressures"]["found"]


def test_check_finds_a_wrong_address_and_a_pressed_emergency_stop_and_asks_the_others_all_the_same(endpoints, capsys):
    with ControlClient(read_endpoints(endpoints)["control"]) as control:
        try:
            control.ask("e_stop", device="daq", pressed=True)
            status, items = checked(endpoints, capsys, "--set", "devices.drives.controllers.1.address=0x85")
        finally:
            control.ask("e_stop", device="daq", pressed=False)
    assert status == 2
    assert failed(items) == {"wheel drives", "emergency stop"}
    assert "0x85" in items["wheel drives"]["found"]
    assert items["valves"]["ok"]


def test_devices_finds_the_keys_of_the_config(endpoints, capsys):
    assert run(["devices", "sim_wire", "--endpoints", str(endpoints), "--json", *SET]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [key["found"] for key in found["keys"]] == [True] * 6
    assert "simulated IEPE input" in [device["product"] for device in found["ni"][0]["devices"]]


@pytest.mark.parametrize(
    "arguments",
    [
        ("jog", "sim_wire", "--wheel", "middle_right", "--speed", "-0.03", "--for", "0.6"),
        ("valve", "sim_wire", "right", "retract", "--for", "0.8"),
    ],
    ids=["jog", "valve"],
)
def test_a_motion_is_made_or_the_summary_says_what_kept_it(endpoints, capsys, arguments):
    """The motion is tested in virtual time (tests/protocol); here a busy machine may end it in Safe."""
    status = run([*arguments, "--endpoints", str(endpoints), *SET, "--yes", "--json", "--out", "run"])
    printed = capsys.readouterr()
    if status == 2:  # it could not start: a device did not answer in time
        assert "no answer" in printed.err or "DAQ" in printed.err
        return
    if "hil: not armed: without real-time rights" in printed.err:
        assert status == 3
        return
    assert printed.out, (status, printed.err)
    summary = json.loads(printed.out)
    assert status in ((1, 3) if summary["reasons"] else (0,))
    assert all(reason.startswith(("fault ", "not armed: ")) for reason in summary["reasons"])
    last = read_trial(Path("run")).tick[-1]
    assert last["safe"] == any(reason.startswith("fault ") for reason in summary["reasons"])


def test_endpoints_that_are_none_say_how_to_get_some(tmp_path, capsys):
    (tmp_path / "empty.json").write_text(json.dumps(dict.fromkeys(NAMES[1:], "x")))
    for file in ("empty.json", "missing.json"):
        assert run(["check", "sim_wire", "--endpoints", file]) == 2
        assert "hil sim CONFIG --endpoints FILE" in capsys.readouterr().err
