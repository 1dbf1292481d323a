"""The loop's side: workers that fail in each way they can."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drivers.interfaces import DeviceError
from hil.links.rows import trouble_row
from hil.safety import Fault
from hil.workers import crew as crew_module
from hil.workers import process
from hil.workers.crew import SILENT_NS, Crew
from hil.workers.recorder import _complain

READY = "import json, sys; print(json.dumps({'ready': True, 'granted': []}), flush=True); "


@pytest.fixture
def crew(shared, monkeypatch):
    """A crew whose workers are what `played` says."""
    played = {}
    start = subprocess.Popen

    def popen(command, **how):
        if "-m" not in command:  # somebody else's
            return start(command, **how)
        name = command[command.index("-m") + 1].rpartition(".")[2]
        return start([sys.executable, "-c", played[name]], **how)

    monkeypatch.setattr(process.subprocess, "Popen", popen)
    crew = Crew(shared)
    crew.played = played
    return crew


def started(crew, name, code):
    crew.played[name] = code
    crew.start(name)
    return crew._processes[name].pid


def gone(process):
    return not Path(f"/proc/{process}").exists()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os, time; os.close(1); time.sleep(0.1); os._exit(3)", "far_end: its process ended with status 3"),
        ("import sys; sys.exit(3)", "far_end: its process ended with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "far_end: its process ended with status -9"),
        ("import json; print(json.dumps({'error': 'DAQ: not there'}))", "DAQ: not there"),
        ("import sys; sys.stdin.read()", "far_end: its process was not ready within 0.5 s"),
        ("import signal, sys; signal.signal(15, signal.SIG_IGN); import time; time.sleep(99)", "far_end: .* 0.5 s"),
    ],
)
def test_a_worker_that_cannot_begin_is_named_and_none_is_left(crew, monkeypatch, code, said):
    monkeypatch.setattr(crew_module, "END_OTHERS_S", 0.2)
    with crew:
        processes = [started(crew, "recorder", READY + "sys.stdin.read()"), started(crew, "far_end", code)]
        crew.wait_ready("recorder")
        if "0.5 s" in said:
            monkeypatch.setattr(crew_module, "READY_S", 0.5)
        else:  # its end follows; a busy machine may take its time
            monkeypatch.setattr(crew_module, "DYING_S", 60.0)
        with pytest.raises(DeviceError, match=said):
            crew.wait_ready("far_end")
    assert all(map(gone, processes))


def test_none_is_left_when_the_loop_fails(crew):
    processes = []
    with pytest.raises(ZeroDivisionError), crew:  # noqa: PT012
        processes += [started(crew, name, READY + "sys.stdin.read()") for name in ("far_end", "recorder", "watchdog")]
        raise ZeroDivisionError
    assert all(map(gone, processes))


def test_a_worker_that_is_gone_is_noticed_at_the_next_beat_that_is_due(crew, shared):
    with crew:
        for name in ("recorder", "far_end", "watchdog"):
            started(crew, name, READY + "sys.stdin.read()")
            crew.wait_ready(name)
        assert crew.alarm() is None  # none has beaten yet
        shared.heartbeat.beat("far_end", time.monotonic_ns() - 2 * SILENT_NS["far_end"])
        alarm = crew.alarm()
    assert alarm.fault is Fault.PROCESS_LOST
    assert alarm.detail.startswith("far_end: its process has been silent for ")


def test_a_recorder_that_cannot_write_is_told(crew, shared):
    _complain(shared, OSError(28, "No space left on device"))
    alarm = crew.alarm()
    assert alarm.fault is Fault.DISK_FULL
    assert "No space left" in alarm.detail


def test_a_recorder_that_does_not_finish_is_gone_before_its_file_is_recovered(crew, monkeypatch):
    monkeypatch.setitem(crew_module.END_S, "recorder", 0.2)
    with crew:
        recorder = started(crew, "recorder", "import signal; signal.signal(15, signal.SIG_IGN); " + READY + "input()")
        crew.wait_ready("recorder")
        assert not crew.close_record()
        assert gone(recorder)
    assert not crew.record_closed


def test_what_a_worker_prints_does_not_come_between_its_words(shared):
    code = f"from hil.workers.life import Life; life = Life({os.getpid()}); print('noise'); life.ready()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == '{"ready": true, "granted": []}\n'
    assert done.stderr == "noise\n"


WORKER = """
import os, sys, time
from hil.workers.life import Life

life = Life(int(sys.argv[1]))
os.write(int(sys.argv[2]), b"begun ")
until = time.monotonic() + 300.0
while not life.ending and time.monotonic() < until:
    time.sleep(0.01)
os.write(int(sys.argv[2]), b"ended" if life.ending else b"lived on")
"""
PARENT = """
import os, subprocess, sys, time
pipe = int(sys.argv[2])
subprocess.Popen([sys.executable, "-c", sys.argv[1], str(os.getpid()), str(pipe)], pass_fds=[pipe])
time.sleep(600)
"""


def test_a_worker_ends_by_itself_when_the_loop_process_is_killed():
    read, write = os.pipe()
    parent = subprocess.Popen([sys.executable, "-c", PARENT, WORKER, str(write)], pass_fds=[write])
    os.close(write)
    assert os.read(read, 10) == b"begun "
    parent.kill()
    parent.wait()
    assert os.read(read, 10) == b"ended"
    assert os.read(read, 10) == b""  # nobody has the pipe any more
    os.close(read)


def test_a_worker_whose_parent_was_gone_before_it_looked_ends():
    code = "from hil.workers.life import Life; life = Life(1 << 22); print(life.ending and life.orphaned)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "True\n"


def test_what_a_worker_has_met_before_the_run_keeps_it_from_beginning(crew, shared):
    """With its own words: it is no fault of the run that there is not."""
    crew.begin()
    shared.troubles["valves"].write(trouble_row(13, "valves: no answer"))
    with pytest.raises(DeviceError, match="valves: no answer"):
        crew.begin()
