"""Several runs on one rig: between runs the workers hold the devices cut, are watched, and accept no commands."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import numpy as np
import pytest

from drivers.interfaces import DeviceError
from drivers.messages import DriveCommand
from hil.analysis.recovery import holes, recover
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.faults.protocol_cases import press
from hil.experiments.impact.experiment import ImpactState
from hil.ipc.run_memory import FOLDER
from hil.ipc.shared_devices import shared_device
from hil.messages.fault import Fault
from hil.messages.link_messages import HEALTH
from hil.messages.operator_input import Arm, ClearFault, EStop, Start, Stop
from hil.recording import read_trial

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # wall-clock seconds, of which a busy machine may need many
ADDRESSES = {0x80, 0x81, 0x82}
ALL_SAMPLES = "record.sensors=all"


def rests(run, seconds=0.5):
    run.host.sleep(seconds)


def states(folder):
    return set(read_trial(folder, trusted=True).tick["state"].tolist())


def whole(folder):
    """A record begins with the first tick of its run, and has no row of another run."""
    record = read_trial(folder, trusted=True)
    assert record.tick["tick"].tolist() == list(range(1, len(record.tick) + 1))
    assert record.blocks["sequence"].tolist() == list(range(1, len(record.blocks) + 1))
    assert (np.diff(record.daq_t_ns) > 0).all()
    assert not (folder / FOLDER).exists()
    return record


def test_each_run_reaches_its_end_and_has_a_record_of_its_own_that_replays(trial):
    done = trial(None, ALL_SAMPLES, again=2, between=rests)
    assert done.error is None
    assert done.faults == []
    for folder in (done.folder, *done.more):
        record = whole(folder)
        assert {ImpactState.ARMED, ImpactState.RUN_UP, ImpactState.IMPACT, ImpactState.DONE} <= states(folder)
        assert record.events["name"].tolist().count(b"impact") == 1
        assert replay(folder).differences == []
        assert [check.item for check in verify(folder) if not check.ok] == []


def test_the_rover_stands_at_its_start_place_again_and_the_sensors_are_zeroed_anew(trial):
    done = trial(None, again=1, between=rests)
    first, second = (read_trial(folder, trusted=True) for folder in (done.folder, *done.more))
    hits = [record.events["t_ns"][record.events["name"] == b"impact"][0] for record in (first, second)]
    assert hits[0] == pytest.approx(hits[1], abs=20_000_000)  # the phases of the lines differ, the distance does not
    armed = [int(record.tick["tick"][record.tick["state"] == ImpactState.ARMED][0]) for record in (first, second)]
    assert min(armed) > 200  # of 1 ms: the time over which the sensors are averaged


def test_between_two_runs_the_controllers_are_asked_on_and_none_starts_or_times_out(trial):
    held = {}

    def between(run):
        rates, row = [], np.zeros(1, HEALTH)
        held["from_ns"] = run.time.now_ns
        for _ in range(10):
            run.host.sleep(0.2)
            run.shared.healths["drives"].read(row)
            rates.append((int(row["open"][0]), float(row["rate_hz"][0]), float(row["age_ms"][0])))
        held["to_ns"], held["health"] = run.time.now_ns, rates

    done = trial(None, again=1, between=between)

    def inside(what):
        return [at_ns for _, at_ns in done.all_seen(what) if held["from_ns"] <= at_ns <= held["to_ns"]]

    assert done.error is None
    assert inside("starts") == []
    assert inside("timeouts") == []
    assert all(is_open and rate_hz > 10.0 and age_ms < 100.0 for is_open, rate_hz, age_ms in held["health"])


def test_between_two_runs_no_command_is_taken_and_the_next_run_does_not_find_it(trial):
    def between(run):
        rests(run)
        run.held_ns = run.time.now_ns
        shared_device(run.shared, "drives").write(DriveCommand(1, False, (1.0,) * 6))
        rests(run)
        run.freed_ns = run.time.now_ns

    done = trial(None, again=1, between=between)
    begun_ns = done.start_ns + 250_000_000  # nothing is armed before
    assert [at for _, at in done.all_seen("starts") if done.run.held_ns <= at <= begun_ns] == []


@pytest.mark.ci_cases("is killed")
@pytest.mark.parametrize("how", ["hangs", "is killed"])
def test_a_worker_that_is_lost_between_two_runs_is_named_its_bus_is_stopped_and_no_run_begins(trial, how):
    names = []

    def between(run):
        rests(run)
        noted = run.shared.watchdog_events.reader("test", newest=True)
        if how == "hangs":
            run.signal("drives", signal.SIGSTOP)  # the watchdog kills it
        else:
            run.kill("drives")
        rests(run)
        names.extend(name.decode() for name in noted.read(10)["name"].tolist())

    done = trial(None, again=1, between=between)
    assert sorted(names) == ["drives_silent", "stopped by the watchdog"]
    assert isinstance(done.error, DeviceError)
    assert re.match(
        r"drives: its process ended with status -9 \(watchdog, after 2\d\.\d ms, allowed 20: silent, killed\); "
        "no further run can be made",
        str(done.error),
    )
    assert list(done.more[0].iterdir()) == []
    assert len(read_trial(done.folder, trusted=True).tick) > 500  # of the first run nothing is lost


@pytest.mark.soak
def test_a_machine_that_stood_still_between_two_runs_costs_no_worker_and_the_next_run_is_made(trial):
    """The watchdog was kept waiting itself, so it asks again before it kills."""

    def between(run):
        rests(run)
        run.time.stall(30_000_000, devices=True)
        rests(run)

    done = trial(None, again=1, between=between)
    assert done.error is None
    assert len(read_trial(done.more[0], trusted=True).tick) > 500


def test_a_bus_that_was_unplugged_between_two_runs_and_came_back_runs_again(trial):
    def between(run):
        run.inject_fault("roboclaw", "disconnect")
        rests(run)
        run.inject_fault("roboclaw", "reconnect")
        rests(run, 3.0)

    done = trial(None, again=1, between=between)
    assert done.error is None
    assert done.faults == []
    assert ImpactState.DONE in states(done.more[0])


@pytest.mark.soak
def test_a_bus_that_stays_unplugged_keeps_the_next_run_from_beginning_and_says_so(trial):
    done = trial(None, again=1, between=lambda run: run.inject_fault("roboclaw", "disconnect"))
    assert isinstance(done.error, DeviceError)
    assert "wheel drives" in str(done.error)
    assert not read_trial(done.more[0], trusted=True).tick.size


@pytest.mark.ci_cases("True")
@pytest.mark.parametrize("released", [True, False])
def test_an_emergency_stop_between_two_runs_keeps_the_next_from_beginning_until_it_is_released(trial, released):
    def between(run):
        press("daq")(run)
        rests(run)
        if released:
            press("daq", pressed=False)(run)
            rests(run)

    done = trial(None, again=1, between=between)
    if released:
        assert done.error is None
        assert ImpactState.DONE in states(done.more[0])
    else:
        assert "emergency stop is pressed" in str(done.error)


def test_an_unattended_run_after_a_fault_moves_nothing_for_nobody_has_cleared_it(trial):
    done = trial(lambda run: run.rig.loop.stop("button"), ALL_SAMPLES, again=1, between=rests)
    record = whole(done.more[0])
    assert (record.tick["safe"] == 1).all()
    assert states(done.more[0]) == {ImpactState.ABORTED}
    assert record.events["name"].tolist().count(b"latched before") == 1
    assert [at_ns for _, at_ns in done.all_seen("starts") if at_ns > done.start_ns] == []
    assert replay(done.more[0]).differences == []


def test_the_operator_clears_the_fault_of_the_run_before_and_drives_again(trial):
    """Fault by fault, in the run that it is latched in."""

    def act(run):
        run.rig.rig_io.operator.put(EStop("button"))
        run.host.sleep(0.1)
        run.rig.rig_io.operator.put(Stop())
        first_ns = run.start_ns
        while run.start_ns == first_ns:
            run.host.sleep(0.01)
        for at_s, command in (
            (0.4, Arm()),
            (0.6, ClearFault(int(Fault.STOP_BY_OPERATOR))),
            (0.8, Arm()),
            (1.0, Start()),
        ):
            run.until(at_s)
            run.rig.rig_io.operator.put(command)

    done = trial(act, ALL_SAMPLES, at_s=0.4, attended=True, again=1, between=rests)
    assert done.error is None
    assert done.faults == []
    record = whole(done.more[0])
    at = {bytes(event["name"]).decode(): int(event["tick"]) for event in record.events}
    safe = record.tick["safe"]
    assert safe[: at["operator clear"] - 1].all()
    assert not safe[at["operator clear"] :].any()
    assert states(done.more[0]) == {
        ImpactState.IDLE,
        ImpactState.ARMED,
        ImpactState.RUN_UP,
        ImpactState.IMPACT,
        ImpactState.SETTLE,
        ImpactState.DONE,
    }
    assert replay(done.more[0]).differences == []
    assert [check.item for check in verify(done.more[0]) if not check.ok] == []


def test_a_loop_killed_in_its_second_run_leaves_that_run_whole_and_nothing_of_the_first_in_it(trial):
    def act(run):
        first_ns = run.start_ns
        while run.start_ns == first_ns:
            run.host.sleep(0.01)
        run.until(0.7)
        for process in run.processes.by_name.values():
            process.kill()
        run.kill_loop()
        run.host.sleep(0.2)

    done = trial(act, again=1, between=rests)
    done.run.close()
    recover(done.more[0])
    record = read_trial(done.more[0], trusted=True)
    assert holes(record.tick["tick"]) == ()
    assert record.tick["tick"][0] == 1
    assert 690 <= len(record.tick) <= 710
    assert b"impact" not in record.events["name"].tolist()
    whole(done.folder)


@pytest.mark.soak
def test_runs_on_one_rig_leave_no_mapping_behind(trial, tmp_path):
    done = trial(None, again=1)
    done.run.close()
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()
