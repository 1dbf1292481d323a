"""Supervision by the loop: workers that fail in every possible way."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drivers.interfaces import DeviceError, Health
from drivers.reported import DeviceReport
from hil.ipc.shared_types import NO_FAULT, fault_message
from hil.messages.fault import Fault
from hil.messages.link_messages import event_row, health_row
from hil.processes import lifecycle
from hil.processes import supervisor as supervisor_module
from hil.processes.disturbances import stall_event
from hil.processes.supervisor import SILENT_NS, WorkerSupervisor
from hil.realtime.clock import Stall
from hil.recording.recorder import _report_disk_full

READY = "import json, sys; print(json.dumps({'ready': True, 'granted': []}), flush=True); "


@pytest.fixture
def supervisor(shared, monkeypatch):
    """A supervisor whose workers run the code in `played`."""
    played = {}
    start = subprocess.Popen

    def popen(command, **how):
        if "-m" not in command:  # not a worker
            return start(command, **how)
        name = command[command.index("hil.processes") + 1]
        return start([sys.executable, "-c", played[name]], **how)

    monkeypatch.setattr(lifecycle.subprocess, "Popen", popen)
    supervisor = WorkerSupervisor(shared)
    supervisor.played = played
    return supervisor


def started(supervisor, name, code):
    supervisor.played[name] = code
    supervisor.start(name)
    return supervisor._processes[name].pid


def gone(process):
    return not Path(f"/proc/{lifecycle}").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "import os, time; os.close(1); time.sleep(0.1); os._exit(3)",
            "simulated_rig: its process ended with status 3",
        ),
        ("import sys; sys.exit(3)", "simulated_rig: its process ended with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "simulated_rig: its process ended with status -9"),
        ("import json; print(json.dumps({'error': 'DAQ: not there'}))", "DAQ: not there"),
        ("import sys; sys.stdin.read()", "simulated_rig: its process was not ready within 0.5 s"),
        (
            "import signal, sys; signal.signal(15, signal.SIG_IGN); import time; time.sleep(99)",
            "simulated_rig: .* 0.5 s",
        ),
    ],
)
def test_a_worker_that_cannot_begin_is_named_and_none_is_left(supervisor, monkeypatch, code, said):
    monkeypatch.setattr(supervisor_module, "END_OTHERS_S", 0.2)
    with supervisor:
        processes = [
            started(supervisor, "recorder", READY + "sys.stdin.read()"),
            started(supervisor, "simulated_rig", code),
        ]
        supervisor.wait_ready("recorder")
        if "0.5 s" in said:
            monkeypatch.setattr(supervisor_module, "READY_S", 0.5)
        else:  # it ends soon; on a busy machine that may take longer
            monkeypatch.setattr(supervisor_module, "DYING_S", 60.0)
        with pytest.raises(DeviceError, match=said):
            supervisor.wait_ready("simulated_rig")
    assert all(map(gone, processes))


def test_none_is_left_when_the_loop_fails(supervisor):
    processes = []
    with pytest.raises(ZeroDivisionError), supervisor:  # noqa: PT012
        processes += [
            started(supervisor, name, READY + "sys.stdin.read()") for name in ("simulated_rig", "recorder", "watchdog")
        ]
        raise ZeroDivisionError
    assert all(map(gone, processes))


def test_a_worker_that_is_gone_is_noticed_at_the_next_beat_that_is_due(supervisor, shared):
    with supervisor:
        for name in ("recorder", "simulated_rig", "watchdog"):
            started(supervisor, name, READY + "sys.stdin.read()")
            supervisor.wait_ready(name)
        assert supervisor.alarm() is None  # no heartbeat yet
        shared.heartbeat.beat("simulated_rig", time.monotonic_ns() - 2 * SILENT_NS["simulated_rig"])
        alarm = supervisor.alarm()
    assert alarm.fault is Fault.PROCESS_LOST
    assert alarm.detail.startswith("simulated_rig: its process has been silent for ")


def test_a_killed_watchdog_is_named_in_the_record_beside_another_process_that_is_lost(supervisor, shared):
    """Fault 12 is recorded once: whoever is silent, too, is an event of its own."""
    with supervisor:
        for name in ("simulated_rig", "watchdog"):
            started(supervisor, name, READY + "sys.stdin.read()")
            supervisor.wait_ready(name)
            shared.heartbeat.beat(name, time.monotonic_ns() - 2 * SILENT_NS[name])
        details = {supervisor.alarm().detail[:14] for _ in range(3)}
    assert details == {"simulated_rig:"}
    (row,) = shared.events.reader("test").read(10)
    assert (row["id"], row["name"]) == (0, b"process silent")
    assert row["detail"].startswith(b"watchdog: its process has been silent for ")


def test_a_process_that_is_lost_hides_no_fault_that_a_worker_reports(supervisor, shared):
    with supervisor:
        started(supervisor, "simulated_rig", READY + "sys.stdin.read()")
        supervisor.wait_ready("simulated_rig")
        shared.heartbeat.beat("simulated_rig", time.monotonic_ns() - 2 * SILENT_NS["simulated_rig"])
        shared.fault_mailboxes["drives"][Fault.LINK_LOST].write(fault_message(Fault.LINK_LOST, "drives: no answer"))
        shared.fault_mailboxes["daq"][Fault.STOP_BY_OPERATOR].write(
            fault_message(Fault.STOP_BY_OPERATOR, "daq: pressed")
        )
        alarms = [alarm for look in (supervisor.alarm, *supervisor.reports) if (alarm := look())]
    faults = {alarm.fault for alarm in alarms}
    assert faults == {Fault.PROCESS_LOST, Fault.LINK_LOST, Fault.STOP_BY_OPERATOR}
    assert {alarm.detail for alarm in alarms} >= {"drives: no answer", "daq: pressed"}


def test_a_fault_that_a_worker_reports_is_an_alarm_in_each_tick_until_the_worker_takes_it_back(supervisor, shared):
    def faults():
        return [alarm.fault for report in supervisor.reports if (alarm := report())]

    box = shared.fault_mailboxes["drives"][Fault.LINK_LOST]
    assert faults() == []
    box.write(fault_message(Fault.LINK_LOST, "drives: no answer"))
    assert [faults() for _ in range(3)] == [[Fault.LINK_LOST]] * 3
    box.write(fault_message(NO_FAULT, ""))
    assert faults() == []
    box.write(fault_message(Fault.FRAMES_DAMAGED, "drives: damaged"))
    assert faults() == [Fault.FRAMES_DAMAGED]


def test_what_a_device_reports_is_marked_once_a_run_but_for_what_latches_safe(supervisor, shared):
    def alarms():
        return [(alarm.detail, alarm.only_marked) for report in supervisor.reports if (alarm := report())]

    def tell(*words, link="drives"):
        reports = tuple(DeviceReport("fault" in one, one) for one in words)
        shared.healths[link].write(health_row(Health(link, True, 0, "", reports=reports), 1))

    tell("warm")
    assert [alarms() for _ in range(2)] == [[("drives: warm", True)], []]
    shared.fault_mailboxes["drives"][Fault.DEVICE_FAULT].write(fault_message(Fault.DEVICE_FAULT, "drives: M1 fault"))
    tell("warm", "M1 fault", "M2 fault")
    latched = ("drives: M1 fault", False)
    assert [alarms() for _ in range(2)] == [[latched, ("drives: M2 fault", True)], [latched]]
    tell("fault", link="valves")
    shared.fault_mailboxes["valves"][Fault.DEVICE_FAULT].write(fault_message(Fault.DEVICE_FAULT, "valves: fault"))
    assert ("valves: fault", True) in alarms()  # the fault itself is recorded once only


def test_a_worker_that_the_watchdog_has_killed_is_named_with_its_note_and_the_stall_that_it_found_then(
    supervisor, shared
):
    """A stall that was logged before the note may be of another run."""
    note = event_row(
        12, "simulated_rig_silent", 3000, 3_000_000_000, 21.26, 20.0, detail="simulated_rig: silent, killed"
    )
    of_another_run, of_this = (
        stall_event(Stall(2_980_000_000, length_ns), 0, 1000, real_time=True) for length_ns in (90_000_000, 31_000_000)
    )
    for row in (of_another_run, note, of_this):
        shared.watchdog_events.append(row)
    with supervisor:
        started(supervisor, "simulated_rig", "import os; os.kill(os.getpid(), 9)")
        supervisor._processes["simulated_rig"].status(60.0)
        assert supervisor.lost() == (
            "simulated_rig: its process ended with status -9 (watchdog, after 21.3 ms, allowed 20: silent, killed; "
            "at that time: this machine stood still for 31 ms at 2.980 s)"
        )


def test_a_recorder_that_cannot_write_is_told(supervisor, shared):
    _report_disk_full(shared, OSError(28, "No space left on device"))
    (alarm,) = (alarm for report in supervisor.reports if (alarm := report()))
    assert alarm.fault is Fault.DISK_FULL
    assert "No space left" in alarm.detail


def test_a_recorder_that_does_not_finish_is_gone_before_its_file_is_recovered(supervisor, monkeypatch):
    monkeypatch.setitem(supervisor_module.END_S, "recorder", 0.2)
    with supervisor:
        recorder = started(
            supervisor, "recorder", "import signal; signal.signal(15, signal.SIG_IGN); " + READY + "input()"
        )
        supervisor.wait_ready("recorder")
        assert not supervisor.close_record()
        assert gone(recorder)
    assert not supervisor.record_closed


def test_what_a_worker_prints_does_not_come_between_its_words(shared):
    code = (
        f"from hil.processes.lifecycle import WorkerLifecycle; life = WorkerLifecycle({os.getpid()}); "
        "print('noise'); life.ready()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == '{"ready": true, "granted": []}\n'
    assert done.stderr == "noise\n"


WORKER = """
import os, sys, time
from hil.processes.lifecycle import WorkerLifecycle

life = WorkerLifecycle(int(sys.argv[1]))
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
    assert os.read(read, 10) == b""  # no process has the pipe open any more
    os.close(read)


def test_a_worker_whose_parent_was_gone_before_it_looked_ends():
    code = (
        "from hil.processes.lifecycle import WorkerLifecycle; life = WorkerLifecycle(1 << 22); "
        "print(life.ending and life.orphaned)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "True\n"


def test_what_a_worker_has_met_before_the_run_keeps_it_from_beginning(supervisor, shared):
    """With the message of the worker: there is no run yet that could have a fault."""
    supervisor.check_started()
    shared.fault_mailboxes["valves"][Fault.LINK_LOST].write(fault_message(13, "valves: no answer"))
    with pytest.raises(DeviceError, match="valves: no answer"):
        supervisor.check_started()
