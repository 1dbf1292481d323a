"""If a simulated rig was late itself, the start of a run is tried again; any other failure ends the run."""

import os
import select
import signal
from types import SimpleNamespace

import pytest

from drivers.interfaces import DeviceError
from hil.app import backends
from hil.app import run as app
from hil.app.backends import SimulatedRigLateError
from hil.app.faults.process_cases import processes_of
from hil.app.run_loop import record_meta
from hil.config import load_config
from hil.experiments.impact.experiment import ImpactExperiment
from hil.ipc.run_memory import LateAction
from hil.recording import open_writer, read_trial
from hil.recording.run_folder import summary_of

QUICK = (
    "trial.start_distance_m=0.03",
    "trial.ramp_s=0.1",
    "trial.settle_s=0.5",
    "record.after_s=0.5",
    "telemetry.endpoint=''",
)
LATE = SimulatedRigLateError("drives: no answer; at that time: simulated rig late by 86 ms (serial devices)")


def make_empty_record(rig, folder):
    """What a recorder has written of a run that does not begin."""
    open_writer(folder, rig.config, record_meta(rig)).close()


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """Run a trial whose first starts fail; progress lines, number of starts, and its outcome or exception."""
    monkeypatch.setattr(app, "PAUSE_S", 0.0)
    monkeypatch.setattr(ImpactExperiment, "draw", lambda *_: None)
    opened, build, said = [], app.open_backend, []

    def begin(*failures):
        left = list(failures)

        def open_backend(*arguments):
            opened.append(arguments)
            if left:
                make_empty_record(*arguments[:2])
                raise left.pop(0)
            return build(*arguments)

        monkeypatch.setattr(app, "open_backend", open_backend)
        try:
            outcome = app.run_experiment(load_config("sim_impact", QUICK), tmp_path, said.append, figure=False)
        except DeviceError as error:
            outcome = error
        return said, len(opened), outcome

    return begin


@pytest.mark.slow
def test_a_run_begins_again_where_the_simulated_rig_was_late_itself(begin):
    said, starts, outcome = begin(LATE, LATE)
    assert (starts, outcome.exit_code) == (app.STARTS, 0)
    assert [line for line in said if "again" in line] == [
        f"{LATE}; nothing was driven, starting again ({start} of {app.STARTS})" for start in (2, 3)
    ]


@pytest.mark.slow
def test_a_start_that_is_tried_again_leaves_no_record_and_no_summary_behind(begin, tmp_path):
    _, _, outcome = begin(LATE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["summary.json", "trial.h5"]
    assert summary_of(tmp_path) == outcome.summary
    assert outcome.summary["reasons"] == []
    assert outcome.summary["loop"]["ticks"] == len(read_trial(tmp_path, trusted=True).tick) > 0


@pytest.mark.slow
def test_the_last_start_that_fails_leaves_a_summary_that_says_why(begin, tmp_path):
    begin(*[LATE] * app.STARTS)
    assert summary_of(tmp_path)["reasons"] == [f"ended early: {LATE}"]


@pytest.mark.slow
def test_a_simulated_rig_that_is_late_each_time_ends_the_run(begin):
    _, starts, outcome = begin(*[LATE] * app.STARTS)
    assert starts == app.STARTS
    assert outcome is LATE


@pytest.mark.slow
def test_a_device_that_fails_beside_a_rig_that_was_in_time_ends_the_run_at_once(begin):
    error = DeviceError("drives: no answer")
    _, starts, outcome = begin(error)
    assert starts == 1
    assert outcome is error


@pytest.mark.parametrize("late", [[], [LateAction(5, 86_000_000, "serial devices"), LateAction(7, 4_000_000, "plant")]])
def test_what_a_device_fails_with_names_the_longest_lateness_of_its_simulation(monkeypatch, late):
    rig = backends.RealtimeBackend.__new__(backends.RealtimeBackend)
    rig._began_ns, rig._supervisor = 0, SimpleNamespace(was_silent=lambda _: False)
    monkeypatch.setattr(backends.RealtimeBackend, "_late_since", lambda *_: late)
    with pytest.raises(DeviceError, match=r"^drives: no answer") as caught, rig._lateness_named():
        raise DeviceError("drives: no answer")
    assert isinstance(caught.value, SimulatedRigLateError) == bool(late)
    assert str(caught.value).endswith("simulated rig late by 86 ms (serial devices)") == bool(late)


@pytest.mark.slow
def test_a_simulated_rig_that_is_killed_as_silent_before_the_run_was_late_itself(tmp_path):
    """The watchdog kills it in the first start, once all is ready."""
    said, stopped = [], []

    def progress(line):
        said.append(line)
        if line.startswith("running: ") and not stopped:
            stopped.append(os.pidfd_open(processes_of(tmp_path)["simulated_rig"]))
            signal.pidfd_send_signal(stopped[0], signal.SIGSTOP)
            select.select(stopped, [], [], 60.0)
            os.close(stopped[0])

    config = load_config("sim_impact", [*QUICK, "clock=realtime", "realtime.measure_s=0"])
    outcome = app.run_experiment(config, tmp_path, progress, figure=False)
    again = [line for line in said if "starting again" in line]
    assert again
    assert "simulated_rig: its process ended with status -9 (watchdog, after " in again[0]
    assert outcome.summary["loop"]["ticks"] > 50
