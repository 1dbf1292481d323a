"""`hil sim` as a user runs it."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hil.bench.conditions import seconds_used as descendants
from hil.cli import run
from hil.simulator.simulated_rig import NAMES

pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path):
    endpoints = tmp_path / "rig.json"
    command = [sys.executable, "-m", "hil.cli", "sim", "sim_wire", "--endpoints", str(endpoints)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as sim:
        while not endpoints.exists() and sim.poll() is None:
            time.sleep(0.05)
        assert endpoints.exists(), sim.communicate()[1]
        yield sim, endpoints
        with suppress(ProcessLookupError):
            sim.kill()


def test_every_endpoint_is_there_for_its_owner_only_and_a_polite_kill_leaves_nothing_behind(served):
    sim, endpoints = served
    places = json.loads(endpoints.read_text())
    assert {"roboclaw", "roboteq", "modbus", "daq", "control"} <= set(places)
    for name in ("roboclaw", "roboteq", "modbus"):
        assert stat.S_ISCHR(Path(places[name]).stat().st_mode)
    assert stat.S_ISSOCK(Path(places["control"]).stat().st_mode)
    folder = Path(places["control"]).parent
    for place in (folder, *(Path(places[name]) for name in ("roboclaw", "roboteq", "modbus", "control"))):
        assert place.stat().st_mode & 0o077 == 0, f"{place} is open to other users"
        assert place.stat().st_uid == os.getuid()
    assert {Path(places[name]).parent for name in ("roboclaw", "roboteq", "modbus")} == {folder}
    processes = descendants(sim.pid)
    assert len(processes) >= 4  # itself, plant, serial devices, device server
    sim.send_signal(signal.SIGTERM)
    assert sim.wait() == 0
    assert not endpoints.exists()
    assert not Path(places["control"]).parent.exists()
    assert [process for process in processes if os.path.exists(f"/proc/{process}")] == []


@pytest.mark.soak
def test_a_killed_one_leaves_no_process_behind(served):
    sim, _ = served
    processes = descendants(sim.pid)
    sim.kill()
    sim.wait()
    while any(_runs(process) for process in processes):  # pytest's timeout ends a wait that is too long
        time.sleep(0.05)


def test_endpoints_without_a_rig_at_the_wire_are_refused(tmp_path, capsys):
    assert run(["trial", "sim_impact", "--out", str(tmp_path / "run"), "--endpoints", str(tmp_path / "rig.json")]) == 2
    assert "simulated_wire" in capsys.readouterr().err


def test_endpoints_that_are_none_say_how_to_get_some(tmp_path, capsys):
    (tmp_path / "empty.json").write_text(json.dumps(dict.fromkeys(NAMES[1:], "x")))
    for file in ("empty.json", "missing.json"):
        assert run(["check", "sim_wire", "--endpoints", str(tmp_path / file)]) == 2
        assert "hil sim CONFIG --endpoints FILE" in capsys.readouterr().err


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it is gone, or went while its state was read
        return False
