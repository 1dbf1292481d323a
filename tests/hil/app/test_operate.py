"""The resident process makes the runs that its operator asks for, and none that nobody does."""

from __future__ import annotations

import numpy as np
import pytest

from drivers.interfaces import DeviceError
from hil.analysis.replay import replay
from hil.app import run
from hil.app.backends import SimulatedRigLateError
from hil.app.run import open_backend
from hil.messages.operator_input import (
    Arm,
    Campaign,
    ClearFault,
    Jog,
    JogJoint,
    LeaseChange,
    RefusedCommands,
    Start,
    Stop,
    Valve,
)
from hil.recording import read_trial
from hil.recording.run_folder import summary_of

from .conftest import CONSOLE_LOST, DRIVE, STOP_BY_OPERATOR, drives, moved, names, wrong


@pytest.mark.slow
def test_a_run_is_armed_started_and_stopped_by_commands_and_the_next_one_follows(rig):
    for number in (1, 2):
        drives(rig)
        rig.host.sleep(0.2)
        rig.ask(Stop("enough"))
        status = rig.until(state="idle", runs=number)
        assert status["run"].endswith(f"run_{number}")
        assert status["summary"]["aborted"]
    rig.end()
    for number in (1, 2):
        folder = rig.folder / f"run_{number}"
        assert [name for name in names(folder) if name.startswith("operator")] == [
            "operator arm", "operator start", "operator stop",
        ]  # fmt: skip
        assert wrong(folder) == []
        assert moved(folder)
    assert replay(folder).differences == []
    assert sorted(path.name for path in rig.folder.iterdir()) == ["run_1", "run_2"]


@pytest.mark.slow
def test_while_the_loop_runs_the_status_is_never_older_than_100_ms(rig):
    drives(rig)
    times = []
    for _ in range(30):
        rig.host.sleep(0.01)
        times.append(rig.status["t_ns"])
    assert rig.host.now_ns() - times[0] > 290_000_000  # virtual time
    assert max(np.diff(times)) <= 100_000_000
    assert len(set(times)) >= 5
    rig.ask(Stop())
    rig.until(state="idle")
    rig.end()


def test_a_run_whose_folder_cannot_be_made_is_refused_and_the_rig_stays_open(rig):
    (rig.folder / "run_1").write_text("in the way")
    rig.ask(Arm())
    rig.host.sleep(0.2)
    assert "cannot be made" in rig.status["refused"][0]
    drives(rig)
    rig.ask(Stop())
    rig.until(state="idle", runs=1)
    rig.end()


def test_nothing_runs_that_nobody_has_armed(rig):
    rig.ask(Start(), Stop(), LeaseChange("Ada", "taken"), RefusedCommands(3, "no_lease"))
    rig.host.sleep(0.2)
    assert rig.status["state"] == "idle"
    rig.end()
    assert "start refused: no run is armed; arm first" in rig.said
    assert list(rig.folder.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [Arm(), Jog(("all",), 0.02, 1.0), JogJoint("front_left_walking", 5.0, 2.0, 1.0), Valve("left", "extend", 1.0)],
)
def test_nothing_moves_for_a_command_while_no_client_holds_the_lease(operated, command):
    rig = operated("sim_impact", *DRIVE)
    rig.until(state="idle")
    rig.ask(command)
    rig.host.sleep(0.2)
    rig.end()
    assert "no client holds the operator lease" in rig.said[-1]
    assert list(rig.folder.iterdir()) == []


@pytest.mark.slow
def test_a_jog_turns_the_wheel_that_was_named_and_ends_by_itself(rig):
    rig.ask(Jog(("front_left",), 0.02, 0.3))
    status = rig.until(state="idle", runs=1)
    assert status["summary"]["accepted"]
    rig.end()
    speeds = read_trial(rig.folder / "run_1", trusted=True).tick["set_speed_radps"]
    assert (abs(speeds).max(axis=0) > 0.0).tolist() == [True, *5 * [False]]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stop", "lease"])
def test_a_jog_ends_when_it_is_stopped_or_the_console_is_lost_whatever_the_config_says_of_runs(operated, how):
    rig = operated("sim_impact", *DRIVE, "operator.console_lost=finish")
    rig.until(state="idle")
    rig.take_lease()
    rig.ask(Valve("left", "extend", 10.0))
    rig.until(state="move")
    if how == "stop":
        rig.ask(Stop("released"))
    else:
        rig.lose_lease()
    status = rig.until(state="idle", runs=1)
    assert [fault["number"] for fault in status["faults"]] == ([] if how == "stop" else [CONSOLE_LOST])
    rig.end()
    ticks = read_trial(rig.folder / "run_1", trusted=True).tick
    powered = ticks["valves"].any(axis=(1, 2))
    assert 0 < powered.sum() < 1500
    assert not powered[-1]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (Jog(("fifth_wheel",), 0.02, 1.0), "fifth_wheel"),
        (Jog(("all",), 0.02, 60.0), "jog.seconds"),
        (Valve("middle", "extend", 1.0), "middle_extend"),
        (JogJoint("front_left_walking", 5.0, 2.0, 1.0), "no joint is driven"),
        (Campaign("start"), "start hil operate with --plan PLAN"),
        (ClearFault(18), "fault 18 is not latched"),
        (Start(), "no run is armed; arm first"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason_and_the_process_goes_on(rig, command, why):
    rig.ask(command)
    rig.host.sleep(0.2)
    assert rig.status["state"] == "idle"
    assert why in rig.status["refused"][0]
    rig.end()
    assert "refused" in rig.said[-1]
    assert why in rig.said[-1]


def test_a_jog_that_was_asked_for_during_a_run_is_not_made_after_it(rig):
    drives(rig)
    rig.ask(Jog(("all",), 0.02, 1.0))
    rig.until(message="jog refused: a run is on")
    rig.ask(Stop())
    rig.until(state="idle")
    rig.host.sleep(0.5)
    assert rig.status["runs"] == 1
    rig.end()


def test_a_rig_is_not_armed_by_a_command_that_came_while_it_was_opened(operated):
    opening = []

    def opener(*arguments, **more):
        opening.append(True)
        rig.take_lease()
        rig.ask(Arm(), Start())
        return open_backend(*arguments, **more)

    rig = operated("sim_impact", *DRIVE, opener=opener)
    rig.until(state="idle", message="ready: take the lease and arm")
    rig.host.sleep(0.5)
    assert opening
    assert rig.status["state"] == "idle"
    assert rig.status["runs"] == 0
    rig.end()
    assert "arm refused: it came while the process was busy" in rig.said


def test_a_stop_that_came_where_nothing_moved_is_not_called_refused(operated):
    def opener(*arguments, **more):
        rig.ask(Stop("Escape"))
        return open_backend(*arguments, **more)

    rig = operated("sim_impact", *DRIVE, opener=opener)
    rig.until(state="idle", message="ready: take the lease and arm")
    rig.end()
    assert not [line for line in rig.said if "refused" in line]


@pytest.mark.slow
def test_a_rig_that_fails_is_closed_and_opened_again_by_the_next_arm(operated):
    opened = []

    def opener(config, folder, progress, stack, **more):
        opened.append(open_backend(config, folder, progress, stack, **more))
        if len(opened) == 1:
            opened[0].start_clock = fail
        return opened[-1]

    def fail():
        raise DeviceError("drives: roboclaw 0x80 does not answer")

    rig = operated("sim_impact", *DRIVE, opener=opener)
    rig.until(state="idle")
    rig.take_lease()
    rig.ask(Arm())
    assert "roboclaw 0x80 does not answer" in rig.until(state="closed")["message"]
    drives(rig)
    rig.ask(Stop())
    rig.until(state="idle")
    rig.end()
    assert len(opened) == 2
    assert summary_of(rig.folder / "run_1")["reasons"] == ["ended early: drives: roboclaw 0x80 does not answer"]
    assert wrong(rig.folder / "run_2") == []


def test_a_simulated_rig_that_was_late_itself_is_opened_again_as_for_a_trial(operated, monkeypatch):
    monkeypatch.setattr(run, "PAUSE_S", 0.0)
    opened, closed = [], []

    def opener(config, folder, progress, stack, **more):
        opened.append(folder)
        if len(opened) < run.STARTS:
            stack.callback(closed.append, len(opened))
            raise SimulatedRigLateError("drives: no answer")
        return open_backend(config, folder, progress, stack, **more)

    rig = operated("sim_impact", *DRIVE, opener=opener)
    rig.until(state="idle")
    rig.end()
    assert closed == [1, 2]  # what was open of the rig, before it is opened again
    assert [line for line in rig.said if "again" in line] == [
        f"drives: no answer; nothing was driven, starting again ({start} of {run.STARTS})" for start in (2, 3)
    ]


@pytest.mark.slow
def test_a_signal_ends_a_run_in_safe_and_the_process_with_it(rig):
    folder = drives(rig)
    rig.signal()
    rig.wait_for_the_end()
    assert [fault["number"] for fault in rig.status["faults"]] == [STOP_BY_OPERATOR]
    ticks = read_trial(folder, trusted=True).tick
    assert (ticks["safe"][-1], ticks["cut"][-1]) == (1, 1)
    assert summary_of(folder)["reasons"] == ["fault 18: operator: SIGINT"]


def test_a_rig_that_cannot_be_opened_at_the_start_ends_the_process_with_the_reason(operated):
    def opener(*_, **__):
        raise DeviceError("drives: /dev/roboclaw is not there")

    rig = operated("sim_impact", *DRIVE, opener=opener)
    rig.wait_for_the_end()
    assert str(rig.error) == "drives: /dev/roboclaw is not there"
    assert list(rig.folder.iterdir()) == []
