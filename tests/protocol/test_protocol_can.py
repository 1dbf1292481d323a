"""Trials with the wheel drives on a CAN bus, through adapter, bus and drives to the last byte."""

import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.faults.protocol_cases import SETTINGS
from hil.messages.fault import Fault

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # wall-clock seconds, of which a busy machine may need many
NO_SUMMARY = ("ticks missing",)  # skipped ticks would be in a summary, which is not written here
NODES = set(range(1, 7))


@pytest.fixture
def on_can(trial):
    """Runs a short trial on that rig."""

    def run(act=None, *settings):
        return trial(act, *SETTINGS, *settings, config="sim_cia402_wire")

    return run


def test_a_trial_runs_to_its_end_verifies_and_replays_and_one_frame_has_cut_all_drives(on_can):
    done = on_can()
    assert (done.error, done.faults) == (None, [])
    assert done.stopped_ns is not None
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []
    stops = done.run.ask("stops", device="cia402")["stops"]
    assert {node for node, _ in stops} == NODES
    assert len({t_ns for _, t_ns in stops}) == 1


def test_at_rpm_and_without_measured_power_it_is_the_same_trial(on_can):
    drives = "devices.drives"
    done = on_can(
        None, f"{drives}.velocity_unit=rpm", f"{drives}.counts_per_turn=null", f"{drives}.measures_power=false",
        f"{drives}.gear_ratio=1000", f"{drives}.acceleration_radps2=null",
    )  # fmt: skip
    assert (done.error, done.faults) == (None, [])
    assert done.stopped_ns is not None


def test_when_the_adapter_is_unplugged_every_drive_stops_by_its_own_dead_man(on_can):
    done = on_can(lambda run: run.inject_fault("cia402", "disconnect"))
    assert done.faults[0] is Fault.LINK_LOST
    assert set(done.seen_ms("timeouts", "cia402")) == NODES
    assert max(done.seen_ms("timeouts", "cia402").values()) <= 102
    assert done.seen_ms("starts", "cia402") == {}


def test_when_its_worker_is_killed_the_watchdog_stops_all_drives_on_the_port_that_is_free_again(on_can):
    done = on_can(lambda run: run.kill("drives"))
    assert done.faults[0] is Fault.PROCESS_LOST
    assert set(done.seen_ms("stops", "cia402")) == NODES
    assert max(done.seen_ms("stops", "cia402").values()) <= 30
    assert done.seen_ms("starts", "cia402") == {}
