"""Juno with two simulated RoboClaws only: no force sensors, no valves, four wheels."""

import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.experiments.drive import DrivingState
from hil.ipc.run_memory import LINKS
from hil.messages.fault import Fault
from hil.recording import read_trial

pytestmark = pytest.mark.timeout(900)  # wall-clock seconds, of which a busy machine may need many
SHORT = "drive.steps=[{for_s: 1.5, speed_mps: 0.05}, {for_s: 1, speed_mps: 0.05, turn_mps: 0.02}]"
SLOPE = "ground.pitch_deg=10"
NO_SUMMARY = ("ticks missing",)  # skipped ticks would be in a summary, which is not written here


@pytest.fixture
def drive(trial):
    """Run a drive of Juno and disturb it in the middle."""

    def drive(act=None, *settings):
        return trial(act, SHORT, *settings, config="sim_juno_wire")

    return drive


@pytest.mark.ci_cases("level")
@pytest.mark.slow
@pytest.mark.parametrize("settings", [(), (SLOPE,)], ids=["level", "up a slope"])
def test_a_drive_runs_to_its_end_verifies_and_replays(drive, settings):
    done = drive(None, *settings)
    assert done.error is None
    assert done.faults == []
    assert done.run.rig.cycle.experiment.state == DrivingState.DONE
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []
    record = read_trial(done.folder, trusted=True)
    assert record.raw.size == record.blocks.size == 0
    driven = record.tick[record.tick["state"] == DrivingState.DRIVE]
    assert driven["wheel_speed_radps"][-1].shape == (4,)
    left, right = driven["wheel_speed_radps"][-1, [0, 1]]
    assert right > left > 0.05  # in the second step it turns left
    assert driven["speed_mps"].sum() * 1e-3 > 0.5 * 0.05 * 2.5  # at least half of the distance of the rims


@pytest.mark.slow
def test_only_the_drives_have_a_worker_and_two_controllers_are_told_to_stop(drive):
    done = drive()
    assert set(done.run.processes.by_name) & set(LINKS) == {"drives"}
    assert {address for address, _ in done.all_seen("starts")} == {0x80, 0x81}
    assert done.runs_at_the_end() == set()
    assert "modbus" not in done.run.simulated_rig.endpoints
    assert "daq" not in done.run.simulated_rig.endpoints


@pytest.mark.slow
def test_an_unplugged_bus_ends_the_drive_and_each_controller_stops_by_itself(drive):
    done = drive(lambda run: run.inject_fault("roboclaw", "disconnect"))
    assert done.faults[0] is Fault.LINK_LOST
    assert set(done.seen_ms("timeouts")) == {0x80, 0x81}
    assert done.seen_ms("starts") == {}


@pytest.mark.slow
def test_the_watchdog_stops_the_wheels_of_a_drives_worker_that_is_gone(drive):
    done = drive(lambda run: run.kill("drives"))
    assert Fault.PROCESS_LOST in done.faults
    assert set(done.seen_ms("stops")) == {0x80, 0x81}
    assert done.runs_at_the_end() == set()
