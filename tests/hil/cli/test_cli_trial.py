"""`hil trial`, `hil check` and `hil report` as a new user runs them, and Ctrl-C."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import h5py
import pytest

import hil
from hil.cli import run
from hil.experiments.impact.experiment import ImpactState
from hil.recording import read_trial

ROOT = Path(hil.__path__[0]).parent
QUICK = tuple(
    part
    for override in (
        "trial.start_distance_m=0.03",
        "trial.ramp_s=0.1",
        "trial.settle_s=0.5",
        "record.after_s=0.5",
        "telemetry.endpoint=''",
    )
    for part in ("--set", override)
)
PNG = b"\x89PNG\r\n\x1a\n"


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def hil_process(*arguments: str | Path, cwd: Path, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hil.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False, **more)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("HIL_DEBUG", raising=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A finished run, to be copied before it is changed."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    assert run(["trial", "sim_impact", *QUICK, "--seed", "5", "--out", str(folder)]) == 0
    return folder


@pytest.mark.slow
def test_a_trial_prints_its_table_and_leaves_its_files_in_a_folder_named_by_time_config_and_angle(tmp_path, capsys):
    assert run(["trial", "sim_impact", *QUICK, "--set", "trial.angle_deg=72.5"]) == 0
    printed = capsys.readouterr()
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("Z_sim_impact_72.5")
    assert {path.name for path in folder.iterdir()} == {"trial.h5", "summary.json", "trial.png"}
    assert (folder / "trial.png").read_bytes()[:8] == PNG
    lines = printed.out.splitlines()
    assert any("accepted" in line and "yes" in line for line in lines)
    assert any("obstacle angle" in line and "72.5 °" in line for line in lines)
    assert lines[-1] == f"run folder: runs/{folder.name}"
    assert "running: impact, 72.5 deg" in printed.err


@pytest.mark.slow
def test_json_prints_nothing_else_on_stdout_and_the_same_as_the_file(tmp_path, capsys):
    status = run(["trial", "rig_configs/sim_impact.yaml", *QUICK, "--seed", "9", "--json", "--out", "run"])
    summary = json.loads(capsys.readouterr().out)
    assert status == 0
    assert summary == json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["seed"] == 9
    assert "seed: 9" in read_trial(tmp_path / "run", trusted=True).meta["config"]


@pytest.mark.slow
def test_a_trial_that_aborts_ends_with_status_one_and_says_why(capsys):
    weak = ["--set", "drives={torque_limit_Nm: 0.1, gear_friction_Nm: 0.05}", "--set", "trial.timeout_s=1"]
    status = run(["trial", "sim_impact", *QUICK, *weak])
    printed = capsys.readouterr().out
    assert status == 1
    assert "no impact within trial.timeout_s, 1 s" in printed


@pytest.mark.slow
def test_a_refused_arming_ends_with_status_three_and_never_moves(tmp_path, capsys):
    assert run(["trial", "sim_impact", *QUICK, "--set", "limits.noise_V=1e-6", "--out", "run", "--json"]) == 3
    summary = json.loads(capsys.readouterr().out)
    assert summary["accepted"] is False
    assert [reason.partition(" is ")[0] for reason in summary["reasons"]] == [
        f"not armed: sensor {name} noise" for name in ("top", "lower_left", "lower_right")
    ]
    tick = read_trial(tmp_path / "run", trusted=True).tick
    assert (tick["cut"] == 1).all()
    assert tick["state"][-1] == ImpactState.ABORTED
    assert ImpactState.RUN_UP not in tick["state"]


def test_check_lists_every_item_and_passes(capsys):
    assert run(["check", "sim_impact", "--set", "telemetry.endpoint=''"]) == 0
    printed = capsys.readouterr().out
    for item in ("simulated DAQ", "fault latch", "sensor top noise", "disk space", "Safe on a slope", "telemetry port"):
        assert item in printed
    assert "NO" not in printed


def test_check_as_json_names_what_failed_and_ends_with_status_three(capsys):
    limits = ("--set", "limits.noise_V=1e-6", "--set", "telemetry.endpoint=''")
    assert run(["check", "sim_impact", "--json", *limits]) == 3
    items = json.loads(capsys.readouterr().out)
    assert all(set(item) == {"item", "ok", "found", "allowed", "to_do"} for item in items)
    assert all(bool(item["to_do"]) != item["ok"] for item in items)
    failed = [item["item"] for item in items if not item["ok"]]
    assert failed == [f"sensor {name} noise" for name in ("top", "lower_left", "lower_right")]
    assert not list(Path().iterdir())  # a check creates no files


@pytest.mark.slow
def test_report_draws_the_same_figure_again_and_prints_the_table(finished, tmp_path, capsys):
    shutil.copytree(finished, Path("mine") / finished.name)  # a figure names its run, which is its folder
    before = Path("mine/run/trial.png").read_bytes()
    Path("mine/run/trial.png").unlink()
    assert run(["report", "mine/run"]) == 0
    printed = capsys.readouterr().out
    assert before[:8] == PNG
    assert Path("mine/run/trial.png").read_bytes() == before
    assert "accepted" in printed
    assert printed.splitlines()[-1] == "figure: mine/run/trial.png"


def test_a_folder_that_would_shadow_ours_is_refused_with_both_places(tmp_path):
    Path("models").mkdir()
    Path("models/__init__.py").write_text("raise SystemExit('not ours')\n")
    done = hil_process("trial", "sim_impact", *QUICK, cwd=tmp_path)
    assert done.returncode == 2
    assert str(tmp_path / "models") in done.stderr
    assert str(ROOT / "models") in done.stderr
    assert "Traceback" not in done.stderr
    assert not Path("runs").exists()


@pytest.mark.slow
def test_a_busy_telemetry_port_is_only_a_warning(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        endpoint = f"telemetry.endpoint=tcp://127.0.0.1:{other.getsockname()[1]}"
        assert run(["trial", "sim_impact", *QUICK, "--set", endpoint]) == 0
        assert "warning: no telemetry" in capsys.readouterr().err
        assert run(["check", "sim_impact", "--set", endpoint]) == 0
        assert "warning" in capsys.readouterr().out


def test_an_out_that_is_a_file_ends_with_status_two_and_one_sentence(tmp_path, capsys):
    Path("file").write_text("mine")
    assert run(["trial", "sim_impact", *QUICK, "--out", "file"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "run folder file" in said
    assert Path("file").read_text() == "mine"


@pytest.fixture
def unwritable(tmp_path):
    """A folder with an empty folder `given` in it, neither of which can be written to."""
    place = tmp_path / "unwritable"
    (place / "given").mkdir(parents=True)
    if os.geteuid() != 0:
        (place / "given").chmod(0o555)
        place.chmod(0o555)
        yield place
        place.chmod(0o755)
        return
    mounts = (
        ["mount", "--bind", place, place],
        ["mount", "-o", "remount,bind,ro", place],
    )  # root may write anywhere else
    try:
        for command in mounts:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"root, and no read-only folder can be mounted: {done.stderr.strip()}")
        yield place
    finally:
        subprocess.run(["umount", place], capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("out", [(), ("--out", "given")], ids=["default", "given"])
def test_a_folder_without_write_permission_ends_with_status_two_and_one_sentence(unwritable, out):
    done = hil_process("trial", "sim_impact", *QUICK, *out, cwd=unwritable)
    assert done.returncode == 2, done.stderr
    (said,) = done.stderr.splitlines()
    assert "give another with --out" in said
    assert list(unwritable.rglob("*")) == [unwritable / "given"]


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory) -> dict[int, tuple[subprocess.CompletedProcess[str], Path]]:
    """Three long trials at once, each sent its signal once it is under way."""
    settings = ("trial.start_distance_m=5", "trial.speed_mps=0.01", "trial.timeout_s=600", "telemetry.endpoint=''")
    long = [part for setting in settings for part in ("--set", setting)]  # none ends before its signal
    place = tmp_path_factory.mktemp("interrupted")
    processes = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        command = [sys.executable, "-m", "hil.cli", "trial", "sim_impact", *long, "--out", str(place / number.name)]
        processes[number] = subprocess.Popen(
            command, cwd=place, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    try:
        for number, process in processes.items():
            wait_for_run_up(place / number.name / "trial.h5", process)
            process.send_signal(number)
        done = {}
        for number, process in processes.items():
            out, err = process.communicate()
            done[number] = (
                subprocess.CompletedProcess(process.args, process.returncode, out, err),
                place / number.name,
            )
        return done
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def wait_for_run_up(path: Path, process: subprocess.Popen[str]) -> None:
    while process.poll() is None:
        try:
            with h5py.File(path, "r", swmr=True) as file:
                if (file["tick"]["state"] == ImpactState.RUN_UP).sum() > 50:
                    return
        except (OSError, ValueError):  # not there yet, or not yet ready for readers
            pass
        time.sleep(0.02)
    pytest.fail(f"ended before its run-up, with exit status {process.poll()}")


@pytest.mark.ci_cases("SIGTERM")
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_the_trial_in_safe_with_its_record_closed(interrupted, number):
    done, folder = interrupted[number]
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    with h5py.File(folder / "trial.h5", "r"):  # refused if it was left open for writing
        pass
    record = read_trial(folder, trusted=True)
    (event,) = record.events[record.events["id"] > 0]
    assert event["id"] == 18
    assert event["detail"] == f"operator: {number.name}".encode()
    at = record.tick["tick"] >= event["tick"]
    assert at.sum() >= 1000
    assert (record.tick["safe"][at] == 1).all()
    assert (record.tick["cut"][at] == 1).all()
    assert (record.tick["set_speed_radps"][at] == 0).all()
    assert record.tick["cut"][~at][-1] == 0  # it was driving
    assert record.tick["state"][-1] == ImpactState.ABORTED
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["aborted"] is True
    assert summary["reasons"] == [f"fault 18: operator: {number.name}"]
    assert (folder / "trial.png").read_bytes()[:8] == PNG
    assert f"fault 18: operator: {number.name}" in done.stdout


@pytest.mark.slow
def test_repeated_runs_have_a_folder_and_a_line_of_json_each(tmp_path, capsys):
    assert run(["trial", "sim_impact", *QUICK, "--repeat", "2", "--json", "--out", "series"]) == 0
    lines = capsys.readouterr().out.splitlines()
    summaries = [json.loads(line) for line in lines]
    files = [tmp_path / "series" / name / "summary.json" for name in ("run_1", "run_2")]
    assert [json.loads(file.read_text()) for file in files] == summaries
    assert summaries[0]["impact_speed_mps"] == summaries[1]["impact_speed_mps"]


def test_repeated_runs_into_a_folder_with_something_in_it_are_refused(tmp_path, capsys):
    (tmp_path / "series").mkdir()
    (tmp_path / "series" / "note.txt").touch()
    assert run(["trial", "sim_impact", *QUICK, "--repeat", "2", "--out", "series"]) == 2
    assert "is not empty (note.txt)" in capsys.readouterr().err


def test_repeated_runs_on_a_real_rig_are_refused_where_nobody_can_say_that_the_rover_is_back(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert run(["run", "mars_dome", "--repeat", "2"]) == 2
    assert "no terminal to say on that the rover is back" in capsys.readouterr().err
