"""Short trials with each kind of device; their records are verified and replayed."""

import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.messages.fault import Fault

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # wall-clock seconds, of which a busy machine may need many
WHEELS = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")
PAIRS = zip(WHEELS[::2], WHEELS[1::2], strict=True)
CONTROLLERS = ", ".join(f"{{port: '', channel_1: {one}, channel_2: {two}}}" for one, two in PAIRS)
# served in addition to the devices of the rig's config
ROBOTEQ = f"devices.drives={{driver: roboteq, max_rpm: 3000, gear_ratio: 100, controllers: [{CONTROLLERS}]}}"
VALVES = ("left_extend", "left_retract", "right_extend", "right_retract")
LINES = ", ".join(f"{valve}: cDAQ1Mod2/port0/line{i}" for i, valve in enumerate(VALVES))
NI_VALVES = f"devices.valves={{driver: ni, lines: {{{LINES}}}, watchdog_ms: 100}}"
THREE_BUSES = (
    "devices.drives.ports=['', '', '']",
    *(f"devices.drives.controllers.{bus}.bus={bus}" for bus in range(3)),
)
NO_SUMMARY = ("ticks missing",)  # skipped ticks would be in a summary, which is not written here


@pytest.mark.ci_cases("RoboClaws on three buses", "Roboteqs and NI valves")
@pytest.mark.parametrize(
    "settings",
    [(), THREE_BUSES, (ROBOTEQ, NI_VALVES)],
    ids=["RoboClaws and a relay board", "RoboClaws on three buses", "Roboteqs and NI valves"],
)
def test_a_trial_runs_to_its_end_verifies_and_replays(trial, settings):
    done = trial(None, *settings)
    assert done.error is None
    assert done.faults == []
    assert done.stopped_ns is not None
    assert [check for check in verify(done.folder) if not check.ok and check.item not in NO_SUMMARY] == []
    assert replay(done.folder).differences == []


def test_when_one_of_three_buses_is_unplugged_the_others_are_stopped(trial):
    """Each by a stop on its own bus; the disconnected one by its time-out."""
    done = trial(lambda run: run.inject_fault("roboclaw_2", "disconnect"), *THREE_BUSES)
    assert done.faults[0] is Fault.LINK_LOST
    for bus, address, what, within_ms in (
        ("roboclaw", 0x80, "stops", 20),
        ("roboclaw_2", 0x81, "timeouts", 102),
        ("roboclaw_3", 0x82, "stops", 20),
    ):
        assert set(done.seen_ms(what, bus)) == {address}
        assert done.seen_ms(what, bus)[address] <= within_ms
        assert done.seen_ms("starts", bus) == {}


@pytest.mark.ci_cases("roboteq_2")
@pytest.mark.parametrize("device", ["roboteq", "roboteq_2", "roboteq_3"])
def test_when_a_roboteq_falls_silent_all_wheels_stop(trial, device):
    """The silent one by its watchdog, which holds its wheels at rest: its closed loop has no other stop."""
    before, after = [], []

    def act(run):
        before.extend(run.simulated_rig.driven_radps())
        run.inject_fault(device, "off")
        run.host.sleep(0.102)
        after.extend(run.simulated_rig.driven_radps())

    done = trial(act, ROBOTEQ, NI_VALVES)
    assert done.faults[0] is Fault.LINK_LOST
    assert min(before) > 0.1
    assert after == [0.0] * 6
    assert done.run.simulated_rig.driven_radps() == [0.0] * 6


def test_ni_valves_go_off_by_ni_s_watchdog_when_their_worker_is_gone(trial):
    done = trial(lambda run: run.kill("valves"), ROBOTEQ, NI_VALVES)
    assert done.faults[0] is Fault.PROCESS_LOST
    assert not any(done.run.simulated_rig.lines().values())


def test_two_trials_are_alike_to_the_last_byte_but_for_what_stages_took(trial):
    import h5py

    files = [h5py.File(trial().folder / "trial.h5") for _ in range(2)]
    for name in ("tick", "daq/raw", "daq/t_ns", "events"):
        one, other = (file[name][()].tobytes() for file in files)
        assert one == other, name
    for file in files:
        file.close()
