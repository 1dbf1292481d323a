"""A program of the user is told how a run has ended; whatever it does, the run is as without it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from hil.app import run as app
from hil.app.check.host import check_host
from hil.app.notification import notify, notify_end
from hil.app.notification_process import FAILED, run_program
from hil.app.notification_process import main as tell
from hil.config import Config, ConfigError, load_config

WAIT_S = 60.0
QUICK = (
    "trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
    "record.sensors=burst", "telemetry.endpoint=''",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_started_before_or_left_running(monkeypatch):
    started = []
    monkeypatch.setattr("hil.app.notification._started", started)
    yield
    for process in started:
        if process is not None:  # of a test in which nothing is started
            process.wait(WAIT_S)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Makes a program in the user's folder, of a body in Python."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    folder = tmp_path / "user" / "rover-hil" / "notify"
    folder.mkdir(parents=True)

    def make(name: str, body: str) -> Path:
        path = folder / name
        path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{body}\n")
        path.chmod(0o700)
        return path

    return make


def with_command(*command: str, timeout_s: float = 30.0) -> Config:
    return load_config("sim_impact", [*QUICK, f"notify.command={[*command]!r}", f"notify.timeout_s={timeout_s}"], 3)


def replace_start(monkeypatch, start):
    """Let `start` stand for Popen in this module alone: others start git to know their version."""
    double = SimpleNamespace(Popen=start, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr("hil.app.notification.subprocess", double)


def wait_for(path: Path) -> str:
    give_up = time.monotonic() + WAIT_S
    while not (path.is_file() and path.read_text()):
        assert time.monotonic() < give_up, f"{path} was not written"
        time.sleep(0.02)
    return path.read_text()


@pytest.mark.slow
def test_a_run_tells_its_folder_config_state_and_reasons(programs, tmp_path):
    out, run = tmp_path / "told", tmp_path / "run"
    run.mkdir()
    programs(
        "tell",
        "part = sys.argv[1] + '.part'; open(part, 'w').write('\\n'.join(sys.argv[2:])); os.rename(part, sys.argv[1])",
    )
    config = with_command("tell", str(out), "{config} {state}", "{folder}", "{words}; $HOME `id`")
    outcome = app.run_experiment(config, run, lambda _: None, figure=False)
    first, folder, words = wait_for(out).split("\n")
    assert first == "sim_impact done"
    assert Path(folder) == run
    assert words.startswith("accepted" if outcome.summary["accepted"] else "not accepted")
    assert words.endswith("; $HOME `id`")  # no shell has read it


@pytest.mark.slow
def test_a_run_does_not_wait_for_a_program_that_hangs_and_is_as_without_it(programs, tmp_path):
    marks = tmp_path / "started"
    # a shell: it has started long before its time is over
    programs("hang", "").write_text(f"#!/bin/sh\necho $$ > '{marks}'\nexec sleep 3600\n")
    folders = [tmp_path / "with", tmp_path / "without"]
    for folder in folders:
        folder.mkdir()
    outcome = app.run_experiment(with_command("hang", timeout_s=4.0), folders[0], lambda _: None, figure=False)
    assert outcome.exit_code == 0  # it is back, although the program would run for an hour
    without = app.run_experiment(with_command(), folders[1], lambda _: None, figure=False)
    assert outcome.summary["peak_force_N"] == without.summary["peak_force_N"]
    said = wait_for(folders[0] / FAILED)
    assert "not done after 4 s, killed" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(marks.read_text()), 0)
    assert not (folders[1] / FAILED).exists()


@pytest.mark.slow
def test_a_rig_that_cannot_be_opened_is_told_as_failed(programs, tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(
        app, "notify", lambda _settings, _rig, folder, state, words, _: said.append((folder, state, words))
    )
    monkeypatch.setattr(app, "open_backend", lambda *_, **__: (_ for _ in ()).throw(OSError("no rig")))
    with pytest.raises(OSError, match="no rig"):
        app.run_experiment(with_command("tell"), tmp_path, lambda _: None, figure=False)
    assert said == [(tmp_path, "failed", "no rig")]


@pytest.mark.slow
def test_one_of_many_runs_tells_nobody(monkeypatch, tmp_path):
    from hil.campaign.trial import _run_in

    called = []
    replace_start(monkeypatch, lambda *arguments, **_: called.append(arguments))
    _run_in(with_command("tell"), tmp_path, figure=False)
    app.run(with_command("tell"))
    assert called == []


@pytest.mark.parametrize(
    ("exit_code", "summary", "state", "words"),
    [
        (0, {"accepted": True}, "done", "accepted"),
        (0, {"accepted": False, "reasons": ["veer"]}, "done", "not accepted; veer"),
        (1, {"reasons": ["fault 6, {folder}"]}, "fault", "not accepted; fault 6, {folder}"),
        (3, {"reasons": ["noise"]}, "refused", "not accepted; noise"),
    ],
)
def test_state_and_words_are_those_of_the_run_and_are_not_read_again(
    exit_code, summary, state, words, monkeypatch, tmp_path
):
    started = []
    replace_start(monkeypatch, lambda command, **_: started.append(command))
    notify_end(
        with_command("tell", "{state}", "{words}").notify, "sim_impact", tmp_path, exit_code, summary, lambda _: None
    )
    ((*_, program, found, said),) = started
    assert Path(program).name == "tell"
    assert (found, said) == (state, words)


def test_without_a_command_nothing_is_started(monkeypatch, tmp_path):
    replace_start(monkeypatch, lambda *_, **__: pytest.fail("started"))
    notify(with_command().notify, "sim_impact", tmp_path, "done", "accepted", lambda _: None)


def test_a_process_that_cannot_be_started_is_one_line_of_progress(monkeypatch, tmp_path):
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no more processes")

    replace_start(monkeypatch, refuse)
    lines: list[str] = []
    notify(with_command("tell").notify, "sim_impact", tmp_path, "done", "accepted", lines.append)
    assert lines == ["notify.command cannot be started: no more processes"]


@pytest.mark.parametrize("name", ["/bin/sh", "../sh", "a b", "", ".hidden", "$(id)"])
def test_a_config_can_name_no_program_outside_the_users_own_folder(name):
    with pytest.raises(ConfigError, match=r"notify\.command"):
        with_command(name)


def test_an_unknown_placeholder_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="folder, config, state, words"):
        with_command("tell", "{summary}")


def test_what_is_wrong_with_the_program_is_said_with_what_is_allowed(programs, tmp_path):
    missing = tmp_path / "user" / "rover-hil" / "notify" / "missing"
    assert "No such file" in run_program(1.0, missing, [])
    plain = programs("plain", "")
    plain.chmod(0o600)
    assert "chmod u+x" in run_program(1.0, plain, [])
    plain.chmod(0o777)
    assert "other users can change it" in run_program(1.0, plain, [])


def test_the_check_of_a_rig_names_a_program_that_is_missing(programs):
    def notification():
        return [check for check in check_host(with_command("later")) if check.item == "notification"]

    (check,) = notification()
    assert not check.ok
    assert "No such file" in check.found
    programs("later", "")
    assert notification()[0].ok
    assert not [check for check in check_host(with_command()) if check.item == "notification"]


@pytest.mark.slow
def test_a_program_that_fails_is_said_on_stderr_and_beside_the_record(programs, tmp_path, capsys, monkeypatch):
    for limit in ("resource.setrlimit", "os.setpriority", "os.sched_setscheduler"):
        monkeypatch.setattr(limit, lambda *_: None)  # of this process, which goes on with other tests
    bad = programs("bad", "sys.stderr.write('no \\x1b[31m network'); sys.exit(3)")
    assert tell(["60", str(tmp_path), str(bad)]) == 1
    said = capsys.readouterr().err
    assert "ended with status 3, it says: no \\x1b[31m network" in said
    assert "status 3" in (tmp_path / FAILED).read_text()
    good = programs("good", "")
    assert run_program(30.0, good, []) == ""
