"""Every run ends with a summary, whatever ended it, and a recovered one can be reported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from drivers.interfaces import DeviceError
from hil.analysis.recovery import KILLED
from hil.analysis.verify import verify
from hil.app import backends
from hil.app.run import run_experiment
from hil.cli import run as hil
from hil.config import load_config
from hil.processes.supervisor import WorkerSupervisor

KILLED_AT_NS = 900_000_000  # after the impact

# Without rights a busy machine would be refused before the run begins.
ANY_PACE = ("clock=realtime", "realtime.measure_s=0")


def failed(folder):
    return [check.item for check in verify(folder) if not check.ok]


def summary_of(folder: Path):
    return json.loads((folder / "summary.json").read_text())


@pytest.fixture
def killed(tmp_path, run_with) -> Path:
    """The folder of a run in virtual time that was killed: a copy of the record while its writer was at it."""
    left, whole = tmp_path / "killed", tmp_path / "whole"
    left.mkdir()
    whole.mkdir()

    def tamper(rig):
        next_tick = rig.loop.clock.next

        def copying():
            tick = next_tick()
            if tick.t_ns == KILLED_AT_NS:
                shutil.copy(whole / "trial.h5", left)
            return tick

        rig.loop.clock.next = copying

    run_with(whole, tamper)
    return left


@pytest.mark.slow
def test_a_killed_run_in_virtual_time_is_recovered_and_reported(killed, capsys):
    assert hil(["report", str(killed)]) == 2
    assert hil(["recover", str(killed)]) == 0
    assert "summary: made from the record" in capsys.readouterr().out
    summary = summary_of(killed)
    assert summary["digests"]["made_by"] == "recovery"
    assert (summary["accepted"], summary["aborted"]) == (False, True)
    assert summary["reasons"][0] == "recovered: killed before its end"
    assert summary["peak_force_N"] > 50.0
    assert summary["contact_force_peak_N"] is None  # noted at the end of a run
    assert failed(killed) == []
    assert hil(["report", str(killed)]) == 0
    table = capsys.readouterr().out
    assert "recovered: killed before its end" in table
    assert "made whole by hil recover" in table
    assert (killed / "trial.png").read_bytes()[:4] == b"\x89PNG"
    assert (killed / KILLED).is_file()


@pytest.mark.slow
def test_a_run_whose_summary_is_missing_gets_it_from_its_record(edited):
    folder = edited("good")
    before = summary_of(folder)
    (folder / "summary.json").unlink()
    assert hil(["recover", str(folder)]) == 0
    after = summary_of(folder)
    for one in (before, after):
        one.pop("digests"), one.pop("real_time_factor")
    assert after == before
    assert failed(folder) == []


def test_a_run_that_ended_by_itself_is_not_recovered(recorded, capsys):
    assert hil(["recover", str(recorded("good"))]) == 2
    assert "it ended by itself" in capsys.readouterr().err


def ends_with(method):
    """A rig that fails there."""

    def tamper(rig):
        def fail(*_):
            raise DeviceError("drives: the rig is gone")

        setattr(rig.rig_io if method == "open" else rig, method, fail)

    return tamper


@pytest.mark.slow
@pytest.mark.parametrize("method", ["open", "start_clock", "hold"])
def test_a_run_whose_rig_is_gone_has_a_summary_that_says_so(tmp_path, run_with, method):
    with pytest.raises(DeviceError, match="the rig is gone"):
        run_with(tmp_path, ends_with(method))
    summary = summary_of(tmp_path)
    assert summary["accepted"] is (method == "hold")  # gone when all was done
    assert summary["reasons"] == ([] if summary["accepted"] else ["ended early: drives: the rig is gone"])
    assert summary["loop"]["ticks"] == (0 if method != "hold" else summary["loop"]["ticks"])
    assert failed(tmp_path) == []
    assert hil(["report", str(tmp_path)]) == 0


@pytest.mark.slow
def test_a_realtime_run_that_could_not_begin_has_a_summary_that_says_so(tmp_path, quick, monkeypatch):
    def fail(_):
        raise DeviceError("simulated_rig: its process ended with status 1")

    monkeypatch.setattr(WorkerSupervisor, "check_started", fail)
    with pytest.raises(DeviceError, match="status 1"):
        run_experiment(load_config("sim_impact", [*quick, *ANY_PACE]), tmp_path, progress=lambda _: None)
    assert summary_of(tmp_path)["reasons"] == ["ended early: simulated_rig: its process ended with status 1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["summary.json", "trial.h5"]
    assert failed(tmp_path) == []


def test_a_rig_that_is_not_ours_to_use_leaves_nothing(tmp_path, monkeypatch):
    def refuse(*_):
        raise DeviceError("process 1 is running on this rig")

    monkeypatch.setattr(backends, "RigLock", refuse)
    with pytest.raises(DeviceError, match="process 1"):
        run_experiment(load_config("sim_impact", ["clock=realtime"]), tmp_path, progress=lambda _: None)
    assert list(tmp_path.iterdir()) == []
