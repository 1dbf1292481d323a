"""Any error in a tick ends in Safe: the rig cut, the record closed, the reason reported (faults 1, 3, 27)."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import h5py
import msgspec
import numpy as np
import pytest

from drivers.interfaces import DeviceError
from hil.app import run as app
from hil.app.faults.lockstep_cases import METHODS
from hil.config import load_config
from hil.experiments.impact.experiment import ImpactExperiment, ImpactState
from hil.recording import TrialRecord, read_trial
from hil.runtime.loop import TICKS_AFTER_FAULT

pytestmark = pytest.mark.slow

QUICK = (
    "trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
    "telemetry.endpoint=''",
)  # fmt: skip
ALL_ON = ((True, True), (True, True))


class UnspeakableError(Exception):
    """It cannot even be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@dataclass
class Run:
    """A trial that can be changed between its setup and its run."""

    folder: Path
    rig: app.Rig | None = None
    recorder: Any = None
    publisher: Any = None
    exit_code: int = -1
    summary: dict[str, Any] = field(default_factory=dict)
    raised_ns: list[int] = field(default_factory=list)  # plant times
    drives: list[tuple[int, bool, tuple[float, ...]]] = field(default_factory=list)  # commands to the plant

    @property
    def plant(self):
        return self.rig.simulated_rig.plant

    def owner(self, stage: str) -> Any:
        if stage in ("recorder", "publisher"):
            return getattr(self, stage)
        return self.rig.simulated_rig if stage == "simulated_rig" else getattr(self.rig.cycle, stage)

    def breaks(self, where: str, state: ImpactState, error: BaseException, always: bool = False) -> None:
        """Make a real method raise once the trial is in a given state; the valves are on then."""
        stage, method = where.split(".")
        real = getattr(self.owner(stage), method)

        def raising(*args, **kwargs):
            due = self.rig.cycle.experiment.state is state and self.plant.t_ns > 350_000_000
            if (due and not self.raised_ns) or (always and self.raised_ns):
                self.raised_ns.append(self.plant.t_ns)
                self.plant.set_valves(ALL_ON)
                raise error
            return real(*args, **kwargs)

        setattr(self.owner(stage), method, raising)

    def record(self) -> TrialRecord:
        """The record, with its faults as its only events."""
        with h5py.File(self.folder / "trial.h5", "r") as file:  # a file still open for writing is refused here
            assert set(file) == {"daq", "events", "meta", "tick", "timing"}
        record = read_trial(self.folder, trusted=True)
        return dataclasses.replace(record, events=record.events[record.events["id"] > 0])


@pytest.fixture
def run(tmp_path, monkeypatch):
    def start(tamper=lambda _: None, *overrides, folder=tmp_path / "run", drawn=False) -> Run:
        folder.mkdir(exist_ok=True)
        if not drawn:  # saves half the time
            monkeypatch.setattr(ImpactExperiment, "draw", lambda *_: None)
        run = Run(folder)
        build = app.open_backend

        def build_and_tamper(*args):
            run.rig = build(*args)
            run.recorder, run.publisher = run.rig.file_sink.recorder, run.rig.file_sink.publisher
            obey = run.plant.set_drives

            def set_drives(speed_radps, cut, duty=()):
                run.drives.append((run.plant.t_ns, cut, speed_radps))
                obey(speed_radps, cut, duty)

            run.plant.set_drives = set_drives
            tamper(run)
            return run.rig

        monkeypatch.setattr(app, "open_backend", build_and_tamper)
        outcome = app.run_experiment(load_config("sim_impact", [*QUICK, *overrides]), folder, progress=lambda _: None)
        run.exit_code, run.summary = outcome.exit_code, outcome.summary
        return run

    return start


def assert_stopped(run: Run) -> None:
    """The plant was cut before its next step after the fault, stayed cut, and its valves are off."""
    after = [(t_ns, cut, speeds) for t_ns, cut, speeds in run.drives if t_ns >= run.raised_ns[0]]
    assert any(t_ns == run.raised_ns[0] and cut for t_ns, cut, _ in after)
    first_cut = next(i for i, (_, cut, _) in enumerate(after) if cut)
    assert all(cut and not any(speeds) for _, cut, speeds in after[first_cut:])
    assert not run.plant._state.cylinders.valve.any()
    assert (run.plant._state.drives.cut == 1.0).all()


def assert_reported(run: Run) -> None:
    """Exit status and summary report that the trial failed and why; the summary on disk is the one returned."""
    assert run.exit_code == 1
    assert run.summary["aborted"] is True
    assert run.summary["accepted"] is False
    assert any(reason.startswith("fault ") for reason in run.summary["reasons"])
    assert json.loads((run.folder / "summary.json").read_text()) == run.summary


# Those of the case table, and what has no stage of its own.
STAGES = (
    *map(".".join, METHODS), "recorder.tick", "recorder.block", "publisher.tick", "simulated_rig.advance",
)  # fmt: skip
# With these gone the figure has less to draw; it takes longer than the trial, so only these draw it.
SPOIL_THE_RECORD = ("tick_logger.record", "recorder.tick", "recorder.block")


@pytest.mark.parametrize("state", [ImpactState.RUN_UP, ImpactState.IMPACT], ids=["run_up", "impact"])
@pytest.mark.parametrize("where", STAGES)
def test_an_exception_in_any_stage_cuts_at_once_and_is_recorded(run, where, state):
    done = run(lambda run: run.breaks(where, state, ValueError("planted")))
    assert len(done.raised_ns) == 1
    assert_stopped(done)
    assert_reported(done)
    record = done.record()
    (event,) = record.events
    assert (event["id"], event["name"], event["detail"]) == (27, b"exception", b"ValueError: planted")
    assert "fault 27: ValueError: planted" in done.summary["reasons"]
    later = record.tick["tick"] > event["tick"]
    assert later.sum() >= TICKS_AFTER_FAULT >= 1000
    assert (record.tick["safe"][later] == 1).all()
    assert (record.tick["cut"][later] == 1).all()
    assert record.tick["state"][-1] == ImpactState.ABORTED


@pytest.mark.ci_cases("rig_io.sample", "recorder.block", "simulated_rig.advance")
@pytest.mark.parametrize("where", STAGES)
def test_an_exception_in_every_tick_from_now_on_ends_the_same_way(run, where):
    drawn = where in SPOIL_THE_RECORD
    done = run(lambda run: run.breaks(where, ImpactState.RUN_UP, DeviceError("gone"), always=True), drawn=drawn)
    assert not drawn or (done.folder / "trial.png").read_bytes()[:4] == b"\x89PNG"
    assert len(done.raised_ns) > 300  # a block comes every other tick only
    assert_stopped(done)
    assert_reported(done)
    events = done.record().events
    assert events["id"].tolist()[0] == 27


KINDS = [
    KeyError("key"),
    MemoryError(),
    RecursionError("deep"),
    ZeroDivisionError("none"),
    StopIteration(),
    AssertionError(),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "odd"),
    OSError("a name that is no text: \udcff"),
    np.linalg.LinAlgError("singular"),
    ExceptionGroup("several", [ValueError("one")]),
    UnspeakableError(),
]


@pytest.mark.parametrize("error", KINDS, ids=lambda error: type(error).__name__)
def test_any_kind_of_exception_is_recorded_by_its_name(run, error):
    odd = isinstance(error, OSError | UnspeakableError)  # the figure shows the text
    done = run(lambda run: run.breaks("estimator.estimate", ImpactState.RUN_UP, error), drawn=odd)
    assert (done.folder / "trial.png").exists() == odd
    assert_stopped(done)
    assert_reported(done)
    (event,) = done.record().events
    assert event["id"] == 27
    assert event["detail"].startswith(type(error).__name__.encode())


def test_a_recorder_that_cannot_note_the_fault_does_not_keep_the_rig_from_stopping(run):
    def tamper(run):
        full = OSError(28, "No space left on device")
        run.breaks("recorder.tick", ImpactState.RUN_UP, full, always=True)
        run.recorder.event = Mock(side_effect=full)

    done = run(tamper)
    assert_stopped(done)
    assert_reported(done)
    assert len(done.record().events) == 0


def test_a_drive_link_that_fails_does_not_keep_the_valves_on(run):
    def tamper(run):
        run.breaks("rig_io.command", ImpactState.RUN_UP, DeviceError("first"))

        def silent(command):
            if run.raised_ns:
                raise DeviceError("drives gone")
            run.plant.set_drives((0.0,) * 6, True)
            run.rig.simulated_rig.drives.acknowledged_ns = command.t_ns

        run.rig.simulated_rig.drives.write = silent

    done = run(tamper, "trial.timeout_s=1")
    assert done.exit_code == 1
    assert not done.plant._state.cylinders.valve.any()


def test_a_fault_in_the_last_tick_is_not_passed_over(run):
    done = run(lambda run: run.breaks("tick_logger.record", ImpactState.DONE, ValueError("late")))
    assert len(done.raised_ns) == 1
    assert_reported(done)
    assert done.record().events["id"].tolist() == [27]


def spoil(run: Run, channel: int, value: float, blocks: int) -> None:
    """The DAQ returns `value` somewhere in some blocks, in the middle of the run-up."""
    read, left = run.rig.simulated_rig.devices["daq"].read, [blocks]

    def spoilt(t_ns):
        block = read(t_ns)
        if block is None or t_ns < 400_000_000 or not left[0]:
            return block
        left[0] -= 1
        run.raised_ns.append(run.plant.t_ns)
        volts = block.values.copy()
        volts[7, channel] = value
        return msgspec.structs.replace(block, values=volts)

    run.rig.simulated_rig.devices["daq"].read = spoilt


@pytest.mark.parametrize(("channel", "value"), [(0, np.nan), (1, np.inf), (2, -np.inf)])
def test_three_reads_in_a_row_that_are_not_finite_end_in_safe(run, channel, value):
    done = run(lambda run: spoil(run, channel, value, 3))
    assert_reported(done)
    record = done.record()
    (event,) = record.events
    assert event["id"] == 3
    assert event["t_ns"] == done.raised_ns[-1]  # the same tick
    assert record.tick["cut"][record.tick["tick"] == event["tick"]] == 1
    assert np.isfinite(record.tick["force_N"]).all()


def test_two_such_reads_are_left_out_and_the_trial_goes_on(run):
    done = run(lambda run: spoil(run, 1, np.nan, 2))
    assert len(done.raised_ns) == 2
    assert done.exit_code == 0
    assert done.summary["accepted"] is True
    assert done.summary["contact_force_peak_N"] > 100


@pytest.mark.parametrize("rate_hz", [100, 1000, 4000])
@pytest.mark.parametrize("silent_from_s", [0.1, 0.4], ids=["before_arming", "run_up"])
def test_a_daq_that_stops_delivering_ends_in_safe_within_ten_ms_and_a_tick(run, rate_hz, silent_from_s):
    newest = []

    def tamper(run):
        read = run.rig.simulated_rig.devices["daq"].read

        def silent(t_ns):
            if t_ns > silent_from_s * 1e9:
                return None
            block = read(t_ns)
            if block is not None:
                newest.append(int(block.t_ns[-1]))
            return block

        run.rig.simulated_rig.devices["daq"].read = silent

    done = run(tamper, f"loop.rate_hz={rate_hz}")
    assert_reported(done)
    record = done.record()
    (event,) = record.events
    assert event["id"] == 1
    assert 10e6 < event["t_ns"] - newest[-1] <= 10e6 + 1e9 / rate_hz
    reacted = record.tick["tick"] >= event["tick"]
    assert (record.tick["cut"][reacted] == 1).all()
    assert (record.tick["set_speed_radps"][reacted] == 0).all()
