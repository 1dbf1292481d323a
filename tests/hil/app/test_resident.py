"""Several runs on a rig that is opened once are like separate runs, and leave nothing behind."""

from __future__ import annotations

import gc
import os
import threading
from contextlib import ExitStack

import pytest

from drivers.interfaces import DeviceError
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.lockstep_backend import LockstepBackend
from hil.app.resident import Resident
from hil.app.run import open_backend, run_experiment, run_repeatedly
from hil.app.run_loop import Signals
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.impact.experiment import ImpactExperiment, ImpactState
from hil.messages.fault import Fault
from hil.messages.operator_input import Arm, ClearFault, EStop, Start, Stop
from hil.recording import read_trial
from hil.recording.run_folder import summary_of

pytestmark = pytest.mark.slow

QUICK = (
    "trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
    "telemetry.endpoint=''",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_figure(monkeypatch):
    monkeypatch.setattr(ImpactExperiment, "draw", lambda *_: None)


@pytest.fixture
def folder_of(tmp_path):
    def make(number):
        folder = tmp_path / f"run_{number}"
        folder.mkdir()
        return folder

    return make


def quiet(_):
    """Report no progress."""


def content(folder):
    """Contents of a record as bytes: ticks, events, blocks and samples."""
    record = read_trial(folder, trusted=True)
    return [rows.tobytes() for rows in (record.tick, record.events, record.blocks, record.raw, record.daq_t_ns)]


def wrong(folder):
    """What `hil verify` finds wrong with a run."""
    return [check for check in verify(folder) if not check.ok]


def test_two_runs_on_one_rig_and_two_of_their_own_have_the_same_record(folder_of, tmp_path):
    config = load_config("sim_impact", QUICK, seed=5)
    assert run_repeatedly(Rig(config), 2, folder_of, quiet, figure=False).exit_code == 0
    for number in (2, 3):
        assert run_experiment(config, folder_of(number), quiet, figure=False).exit_code == 0
    records = [content(tmp_path / f"run_{number}") for number in range(4)]
    assert records[0] == records[1] == records[2] == records[3]
    assert len(records[0][0]) > 0
    assert [wrong(tmp_path / f"run_{number}") for number in (0, 1)] == [[], []]


@pytest.mark.parametrize("method", ["start_clock", "hold"])
def test_a_further_run_that_something_ends_early_has_a_summary_that_says_so(folder_of, tmp_path, monkeypatch, method):
    real, calls = getattr(LockstepBackend, method), []

    def fail_in_the_second_run(rig):
        calls.append(rig)
        if len(calls) == 2:
            raise DeviceError("drives: the rig is gone")
        real(rig)

    monkeypatch.setattr(LockstepBackend, method, fail_in_the_second_run)
    with pytest.raises(DeviceError, match="the rig is gone"):
        run_repeatedly(Rig(load_config("sim_impact", QUICK)), 3, folder_of, quiet, figure=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run_0", "run_1"]
    first, second = (summary_of(tmp_path / name) for name in ("run_0", "run_1"))
    assert first["reasons"] == []
    assert second["reasons"] == ([] if method == "hold" else ["ended early: drives: the rig is gone"])
    assert [wrong(tmp_path / name) for name in ("run_0", "run_1")] == [[], []]


@pytest.mark.soak
def test_descriptors_threads_and_mappings_do_not_grow_over_eight_runs(folder_of):
    counts = []

    def count(_):
        gc.collect()
        with open("/proc/self/maps") as maps:
            files = sum("run_" in line for line in maps)
        counts.append((len(os.listdir("/proc/self/fd")), threading.active_count(), files))
        return True

    config = load_config("sim_impact", [*QUICK, "limits.noise_V=0.0001"])  # refused: each run is over soon
    with Signals() as signals, ExitStack() as stack:
        folder = folder_of(0)
        resident = Resident(Rig(config), open_backend(Rig(config), folder, quiet, stack), signals, quiet)
        resident.run(folder, figure=False)
        for number in range(1, 8):
            count(None)
            folder = folder_of(number)
            resident.next_run(folder)
            resident.run(folder, figure=False)
        count(None)
    assert len(counts) == 8
    assert all(last <= first for first, last in zip(counts[0], counts[-1], strict=True)), counts


def test_each_run_is_asked_for_and_the_rest_is_not_made_once_nobody_wants_it(folder_of, tmp_path):
    asked = []

    def go_on(outcome):
        asked.append(outcome.folder.name)
        return len(asked) < 2

    config = load_config("sim_impact", QUICK)
    assert run_repeatedly(Rig(config), 5, folder_of, quiet, figure=False, go_on=go_on).folder.name == "run_1"
    assert asked == ["run_0", "run_1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run_0", "run_1"]


def test_a_run_that_does_not_end_well_is_the_last_one(folder_of, tmp_path):
    config = load_config("sim_impact", [*QUICK, "limits.noise_V=0.0001"])  # arming is refused
    assert run_repeatedly(Rig(config), 3, folder_of, quiet, figure=False).exit_code == 3
    assert [path.name for path in tmp_path.iterdir()] == ["run_0"]


class Operated:
    """An attended rig in lockstep, with commands at given times of each of its runs."""

    def __init__(self, stack, folder, *, daq_is_silent=False):
        self.config = load_config("sim_impact", QUICK)
        rig = open_backend(Rig(self.config), folder, quiet, stack, attended=True)
        self.resident = Resident(Rig(self.config), rig, Signals(), quiet)
        self.folder, self.daq_is_silent = folder, daq_is_silent

    def run(self, commands, folder=None):
        if folder:
            self.resident.next_run(folder)
            self.folder = folder
        rig = self.resident.rig
        if self.daq_is_silent:
            rig.simulated_rig.devices["daq"].read = lambda _: None
        next_tick = rig.loop.clock.next

        def next_and_ask():
            tick = next_tick()
            if (command := commands.get(tick.number)) is not None:
                rig.rig_io.operator.put(command)
            return tick

        rig.loop.clock.next = next_and_ask
        return self.resident.run(self.folder, figure=False)


def test_a_fault_stays_latched_over_the_end_of_a_run_until_the_operator_clears_it(folder_of):
    with ExitStack() as stack:
        rig = Operated(stack, folder_of(0))
        rig.run({300: EStop("button"), 400: Stop()})
        assert rig.resident.faults == ["stop by operator"]
        second = rig.run(
            {300: Arm(), 400: ClearFault(int(Fault.STOP_BY_OPERATOR)), 500: Arm(), 600: Start()}, folder_of(1)
        )
        assert rig.resident.faults == []
    assert second.exit_code == 0
    record = read_trial(second.folder, trusted=True)
    by_tick = dict(zip(record.tick["tick"].tolist(), record.tick["state"].tolist(), strict=True))
    assert [by_tick[tick] for tick in (301, 401, 501)] == [ImpactState.IDLE, ImpactState.IDLE, ImpactState.ARMED]
    assert record.tick["safe"][:399].all()
    assert not record.tick["safe"][399:].any()
    assert replay(second.folder).differences == []
    assert wrong(second.folder) == []


def test_a_fault_whose_cause_is_still_there_latches_again_in_the_next_run(folder_of):
    clear = ClearFault(int(Fault.SENSOR_DROPOUT))
    with ExitStack() as stack:
        rig = Operated(stack, folder_of(0), daq_is_silent=True)
        rig.run({300: Stop()})
        assert rig.resident.faults == ["sensor drop-out"]
        second = rig.run({300: clear, 400: Stop()}, folder_of(1))
        assert rig.resident.faults == ["sensor drop-out"]
    record = read_trial(second.folder, trusted=True)
    assert record.tick["safe"].all()
    assert [name for name in record.events["name"].tolist() if not name.startswith(b"truth: ")] == [
        b"latched before", b"sensor_dropout", b"operator clear", b"operator stop",
    ]  # fmt: skip
    assert wrong(second.folder) == []
