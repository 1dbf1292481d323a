"""Wheel loads controlled over simulated devices: valves on a relay board at 9600 baud, a module with regulators."""

import json

import numpy as np
import pytest

from drivers.modbus.simulated.relay_board import RelayBoard
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.messages.fault import Fault
from hil.recording import read_trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # wall-clock seconds, of which a busy machine may need many
NO_SUMMARY = ("file digest", "summary digest", "summary")  # a summary is not written here
SHORT = "normal_force.steps=[{for_s: 0.4, mode: passive}, {for_s: 1.5, mode: uniform}]"
CONTROLLED_S = 1.6  # pressures are up by then


@pytest.fixture
def drive(trial):
    """Run the drive and disturb it while the loads are controlled."""

    def drive(act=None, *settings, at_s=CONTROLLED_S):
        return trial(act, SHORT, *settings, config="sim_normal_force_wire", at_s=at_s)

    return drive


def board_of(run):
    """The simulated relay board of the valves."""
    bus = run.simulated_rig._serial.lines["modbus"].device
    return next(slave for slave in bus._slaves if isinstance(slave, RelayBoard))


def is_safe(done):
    rig = done.run.simulated_rig
    return not any(rig.powered()) and not any(rig.set_Pa())


def test_a_drive_moves_valves_and_regulators_verifies_and_replays(drive):
    done = drive()
    assert done.faults == []
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []
    tick = read_trial(done.folder, trusted=True).tick
    controlled = tick[(tick["state"] == tick["state"][600]) & (tick["load_mode"] > 0)]
    assert controlled["regulator_Pa"].max(axis=0).min() > 20e3  # each of three
    reached = controlled["pressure_Pa"][-1].max(axis=1)
    assert reached == pytest.approx(controlled["regulator_Pa"][-1], abs=40e3)  # a period of the link behind
    passive, shared = tick["normal_force_N"][[600, controlled["tick"][-1]]]
    assert np.std(shared) < 0.6 * np.std(passive)


@pytest.mark.soak
def test_on_off_valves_on_a_relay_board_of_9600_baud_reach_the_best_within_four_seconds(trial):
    steps = "normal_force.steps=[{for_s: 0.5, mode: passive}, {for_s: 3.5, mode: uniform}]"
    on_off = "cylinders.regulators=none", "devices.valves.regulators=null"
    done = trial(None, steps, *on_off, config="sim_normal_force_wire")
    assert done.faults == []
    found = json.loads((done.folder / "summary.json").read_text(encoding="utf-8"))["normal_force"]
    assert found["spread_after"] == pytest.approx(found["spread_best"], abs=0.03)
    assert found["settle_s"] <= 4.0
    assert found["switchings_per_s"] < 5.0


def test_a_lost_line_of_the_regulators_ends_the_drive_with_the_valves_off(drive):
    """The regulators are closed by the watchdog of their module."""
    before = []

    def act(run):
        before.extend([run.simulated_rig.powered(), run.simulated_rig.set_Pa()])
        run.inject_fault("modbus_2", "disconnect")

    done = drive(act)
    assert done.faults[0] is Fault.LINK_LOST
    assert any(before[0])
    assert all(before[1])
    in_safe = (tick := read_trial(done.folder, trusted=True).tick)[tick["safe"] == 1]
    assert not in_safe["valves"].any()
    assert not in_safe["regulator_Pa"].any()
    assert not any(done.run.simulated_rig.powered())
    done.run.host.sleep(0.6)
    assert is_safe(done)


def test_when_their_worker_is_gone_the_watchdog_switches_off_and_closes(drive):
    done = drive(lambda run: run.kill("valves"))
    assert done.faults[0] is Fault.PROCESS_LOST
    assert is_safe(done)


def test_a_valve_that_sticks_under_a_moved_regulator_is_found_by_its_pressure_and_ends_in_safe(drive):
    """The load controller is patient here: it would let go of the cylinders itself, before or after."""
    slow = "normal_force.follow_s=9", "devices.valves.moves_within_s=0.2"
    slow += (
        "normal_force.steps=[{for_s: 0.4, mode: passive}, {for_s: 2, mode: uniform}]",
    )  # the pressure has to stand
    done = drive(lambda run: board_of(run).stuck.add(0), *slow, at_s=0.3)
    assert done.faults == [Fault.VALVE_STUCK]
    assert is_safe(done)
    details = read_trial(done.folder, trusted=True).events["detail"].tolist()
    assert any(b"valve left_extend is on with its regulator at" in detail for detail in details)


@pytest.mark.soak
def test_valves_that_follow_moved_regulators_over_their_link_trip_nothing(drive):
    assert drive(None, "devices.valves.moves_within_s=0.2").faults == []
