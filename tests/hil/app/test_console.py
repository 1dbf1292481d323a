"""What the resident process shows to clients, and what it takes from them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from unittest.mock import Mock

import msgspec
import numpy as np
import pytest

from hil.app.console import (
    Console,
    ConsoleFault,
    ConsoleQuestion,
    ConsoleSettings,
    ConsoleStatus,
    encoded,
    main_numbers,
)
from hil.config import load_config
from hil.config.operator_settings import MOST_CHANGED
from hil.config.rig import Rig
from hil.experiments.base import Experiment
from hil.experiments.impact.experiment import RUN_UP
from hil.ipc.shared_types import LEASE, MOST_STATUS_BYTES, STATUS, CommandMemory, OperatorWriter
from hil.messages.fault import Fault
from hil.messages.operator_input import Arm, Campaign, EStop, Jog, LeaseChange, Start
from hil.safety.monitor import SafetyMonitor

HALF_SECOND_NS = 500_000_000


class Still:
    """A clock that is set by the test."""

    def __init__(self):
        self.t_ns, self.slept = 10_000_000_000, 0

    def now_ns(self):
        return self.t_ns

    def sleep(self, seconds):
        self.t_ns += round(seconds * 1e9)
        self.slept += 1


@pytest.fixture
def memory(tmp_path):
    made = CommandMemory(tmp_path / "commands", create=True)
    yield made
    made.close()


@pytest.fixture
def host():
    return Still()


@pytest.fixture
def console(memory, host):
    return Console(memory, host)


def shown(memory):
    row = np.zeros(1, STATUS)
    memory.status.read(row)
    return msgspec.json.decode(row["content"].item())


def lease(memory, t_ns, held=1):
    memory.lease.write(np.array([(b"Ada", held, t_ns)], LEASE))


@pytest.mark.parametrize(
    ("held", "age_ns", "holder"), [(1, HALF_SECOND_NS, "Ada"), (1, HALF_SECOND_NS + 1, None), (0, 0, None)]
)
def test_a_lease_holds_for_half_a_second_after_a_heartbeat_unless_it_is_released(
    memory, console, host, held, age_ns, holder
):
    lease(memory, host.t_ns - age_ns, held)
    assert console.holder == holder


def test_nobody_holds_a_lease_that_was_never_taken(console):
    assert console.holder is None


def test_commands_are_taken_one_by_one_and_notices_of_the_server_are_none(memory, console, host):
    writer = OperatorWriter(memory.commands)
    for command in (Arm(), LeaseChange("Ada", "taken"), Start()):
        writer.put(command)
    assert [console.wait(), console.wait(), console.wait()] == [Arm(), Start(), None]
    assert host.slept == 1


def test_in_a_run_all_commands_go_to_the_loop_and_one_for_the_campaign_also_waits_for_its_end(memory, console):
    writer, commands = OperatorWriter(memory.commands), (EStop(), Campaign("pause"), Jog(("all",), 0.02, 1.0))
    for command in commands:
        writer.put(command)
    assert console.read() == commands
    assert console.take_all() == (Campaign("pause"),)


def test_the_status_of_an_idle_process_is_new_at_each_look(memory, console, host):
    times = []
    for _ in range(10):
        console.wait()
        times.append(shown(memory)["t_ns"])
    assert max(np.diff(times)) <= 100_000_000
    assert times == sorted(set(times))


def test_a_status_in_a_run_names_the_holder_until_the_loop_has_seen_that_the_lease_is_lost(
    memory, console, host, tmp_path
):
    """The loop looks every 10 ms; a status between two looks would have neither a holder nor fault 19."""
    experiment = Mock(spec=Experiment, state=RUN_UP, over=False, stopped=False, checks=[])
    safety = SafetyMonitor(Rig(load_config("sim_impact")))
    console.attend(SimpleNamespace(experiment=experiment, safety=safety), tmp_path, Rig(load_config("sim_impact")))
    lease(memory, host.t_ns)
    console.show("preparing", "running: impact")
    host.t_ns += 50_000_000
    assert console.alarm() is None
    console.tick()
    assert shown(memory)["message"] == ""  # it would stay while the run is armed, aborted or safe
    host.t_ns += 50_000_000
    assert console.alarm() is None
    lease(memory, host.t_ns, held=0)
    console.tick()
    assert shown(memory)["holder"] == "Ada"
    host.t_ns += 50_000_000
    assert console.alarm().fault is Fault.CONSOLE_LOST
    console.tick()
    assert shown(memory)["holder"] is None


def test_the_status_shows_the_obstacle_as_it_stands_in_the_newest_run(memory, console, tmp_path):
    for angle_deg in (40.0, 80.0):
        console.attend(Mock(), tmp_path, Rig(load_config("sim_impact", [f"trial.angle_deg={angle_deg}"])))
        console.show()
        assert shown(memory)["obstacle"] == {"angle_deg": angle_deg, "distance_m": 0.3}
    console.attend(Mock(), tmp_path, Rig(load_config("sim_juno")))
    console.show()
    assert shown(memory)["obstacle"] is None


def test_a_status_that_is_too_long_is_cut_and_still_names_every_fault(memory):
    long = "ü" * 3000
    faults = [ConsoleFault(number, "sensor dropout", long) for number in range(10)]
    changed = {
        f"obstacle.leg_stiffness_up_Npm_{number:02d}": -1.2345678901234567e-100 for number in range(MOST_CHANGED)
    }
    status = ConsoleStatus(
        settings=ConsoleSettings(10**6, [long] * 50, changed, long),
        faults=faults, warnings=faults, refused=[long] * 50, run=long, summary={"reasons": [long] * 50},
        question=ConsoleQuestion("ready", long, ("start",)), message=long,
    )  # fmt: skip
    content = encoded(status)
    assert len(content) <= MOST_STATUS_BYTES
    shown = msgspec.json.decode(content)
    assert [fault["number"] for fault in shown["faults"]] == list(range(10))
    assert shown["settings"]["changed"] == changed


def test_a_status_that_fits_is_shown_as_it_is():
    status = ConsoleStatus(message="x" * 2000)
    assert msgspec.json.decode(encoded(status))["message"] == "x" * 2000


def test_of_a_summary_the_verdict_and_the_first_numbers_are_shown():
    summary = {"accepted": True, "reasons": [], "peak_N": 80.5, "seed": 3, "text": "no number", "nothing": math.nan}
    found = main_numbers({**summary, **{f"more_{number}": number for number in range(50)}})
    assert (found["accepted"], found["reasons"], found["peak_N"]) == (True, [], 80.5)
    assert "seed" not in found
    assert len(found) == 2 + 12
