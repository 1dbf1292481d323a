"""The reaction of the watchdog to heartbeats, with a clock controlled by the test."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from hil.ipc.shared_types import START
from hil.messages.fault import LOOP_HUNG_NS, LOOP_SILENT_NS, WORKER_SILENT_NS
from hil.processes import watchdog
from hil.processes.watchdog import PERIOD_NS, Watchdog, end_all, watch
from hil.realtime.clock import Stall, StallMonitor

LOOP, FAR_END = 111, 222
NOW_NS = 9_000_000_000


@pytest.fixture
def killed(monkeypatch):
    found = []
    monkeypatch.setattr(watchdog, "_kill", found.append)
    return found


@pytest.fixture
def dog(shared, killed):
    return Watchdog(shared, LOOP, {"recorder": 333, "simulated_rig": FAR_END}, {})


def events(shared):
    rows = shared.watchdog_events.reader("test").read(10)
    return {row["name"].decode(): row for row in rows}


def beat(shared, **ages_ns):
    for name, age_ns in ages_ns.items():
        shared.heartbeat.beat(name, NOW_NS - age_ns)


def test_nobody_is_silent_before_the_first_beat(dog, shared, killed):
    dog.look(NOW_NS)
    assert (killed, events(shared)) == ([], {})


def test_what_beats_in_time_is_left_alone(dog, shared, killed):
    beat(shared, loop=LOOP_SILENT_NS, loop_turn=LOOP_HUNG_NS, simulated_rig=WORKER_SILENT_NS, recorder=10**12)
    dog.look(NOW_NS)
    assert (killed, events(shared)) == ([], {})


def test_a_loop_without_good_ticks_is_noted_and_not_killed(dog, shared, killed):
    beat(shared, loop=LOOP_SILENT_NS + 1, loop_turn=0)
    dog.look(NOW_NS)
    dog.look(NOW_NS + 1)
    assert killed == []
    assert list(events(shared)) == ["loop_silent"]


def test_a_hung_loop_is_killed(dog, shared, killed):
    beat(shared, loop=LOOP_HUNG_NS + 1, loop_turn=LOOP_HUNG_NS + 1)
    dog.look(NOW_NS)
    assert killed == [LOOP]
    assert set(events(shared)) == {"loop_silent", "loop_hung"}


def test_a_silent_worker_with_a_device_is_killed_once(dog, shared, killed):
    beat(shared, simulated_rig=WORKER_SILENT_NS + 1)
    dog.look(NOW_NS)
    dog.look(NOW_NS + 1)
    assert killed == [FAR_END]
    assert list(events(shared)) == ["simulated_rig_silent"]


@pytest.mark.parametrize("age_ms", [0, 4, 16, 19])
def test_a_worker_is_looked_at_when_its_silence_would_be_too_long(dog, shared, killed, age_ms):
    """Not a period later: the watchdog sleeps until then."""
    beat(shared, simulated_rig=age_ms * 1_000_000)
    now_ns = NOW_NS
    while not killed:
        now_ns = dog.next_ns(now_ns)
        dog.look(now_ns)
    assert now_ns == NOW_NS - age_ms * 1_000_000 + WORKER_SILENT_NS + 1


def test_a_worker_that_is_still_silent_after_the_machine_stood_still_is_killed_and_the_note_says_so(
    dog, shared, killed
):
    dog.look(NOW_NS - 31_000_000)
    beat(shared, simulated_rig=WORKER_SILENT_NS + 1)
    dog.look(NOW_NS)
    assert killed == []
    dog.look(NOW_NS + PERIOD_NS)
    assert killed == [FAR_END]
    words = "simulated_rig: silent, killed; this machine kept the watchdog waiting for 31 ms"
    assert events(shared)["simulated_rig_silent"]["detail"].decode() == words


def test_who_was_silent_while_the_watchdog_itself_was_kept_waiting_is_asked_again(dog, shared, killed):
    """All processes stood still for 2 s, and the loop is the last to run again: it lives, with its rig stopped."""
    dog.look(NOW_NS)
    beat(shared, loop=0, loop_turn=0, simulated_rig=0)
    now_ns = NOW_NS + 2 * LOOP_HUNG_NS
    dog.look(now_ns)
    shared.heartbeat.beat("simulated_rig", now_ns + 1)
    for after_ms in range(5, 55, 5):
        dog.look(now_ns + after_ms * 1_000_000)
        shared.heartbeat.beat("simulated_rig", now_ns + after_ms * 1_000_000)
    assert killed == []


def test_a_loop_that_hangs_on_after_the_machine_stood_still_is_killed_a_second_later(dog, shared, killed):
    dog.look(NOW_NS)
    beat(shared, loop=0, loop_turn=0)
    woken_ns = NOW_NS + 2 * LOOP_HUNG_NS
    for after_ns in range(0, LOOP_HUNG_NS, PERIOD_NS):
        dog.look(woken_ns + after_ns)
    assert killed == []
    dog.look(woken_ns + LOOP_HUNG_NS)
    assert killed == [LOOP]


def test_a_note_carries_the_time_of_the_run(dog, shared, killed):
    """Samples are kept around the first fault: a fault at time 0 would discard those of an impact."""
    start = np.zeros(1, START)
    start["start_ns"] = NOW_NS - 3_000_000_000
    shared.start.write(start)
    beat(shared, simulated_rig=WORKER_SILENT_NS + 1)
    dog.look(NOW_NS)
    row = events(shared)["simulated_rig_silent"]
    assert (row["t_ns"], row["tick"]) == (3_000_000_000, 3000)
    assert row["value"] == pytest.approx(20.000001)


@pytest.mark.parametrize(("over", "t_ns"), [(1, 3_000_000_000), (0, 0)])
def test_a_worker_that_is_killed_after_the_run_is_noted_with_the_time_since_its_start(dog, shared, killed, over, t_ns):
    """Before the next run has begun, its memory holds no start any more."""
    start = np.zeros(1, START)
    start["start_ns"], start["over"] = (NOW_NS - t_ns if t_ns else 0), over
    shared.start.write(start)
    beat(shared, simulated_rig=WORKER_SILENT_NS + 1)
    dog.look(NOW_NS)
    assert events(shared)["simulated_rig_silent"]["t_ns"] == t_ns


@pytest.mark.parametrize("silent", [True, False])
def test_between_two_runs_a_stall_is_noted_only_if_it_may_have_silenced_a_worker(dog, shared, killed, silent):
    """Others would be events of a run that is over."""
    start = np.zeros(1, START)
    start["start_ns"], start["over"] = NOW_NS - 3_000_000_000, 1
    shared.start.write(start)
    beat(shared, simulated_rig=WORKER_SILENT_NS + silent)
    dog.look(NOW_NS)
    dog.note_stalls([Stall(NOW_NS - 25_000_000, 31_000_000)], real_time=True)
    assert list(events(shared)) == (["simulated_rig_silent", "machine stall"] if silent else [])


STUBBORN = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); sys.stdin.read()"
POLITE = "import sys; print(flush=True); sys.stdin.read()"


def test_all_are_ended_the_stubborn_by_force():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    workers = [subprocess.Popen([sys.executable, "-c", code], **pipes) for code in (STUBBORN, POLITE)]
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for worker in workers:
        worker.stdout.readline()
    end_all([gone.pid, *(worker.pid for worker in workers)], 0.2)
    assert [worker.wait() for worker in workers] == [-9, -15]
    for worker in workers:
        worker.stdin.close()
        worker.stdout.close()


class SleepsTooLong:
    """A host that sleeps 6 ms longer than asked, once; then the watchdog is asked to end."""

    def __init__(self, lifecycle):
        self._lifecycle, self._now_ns, self._sleeps = lifecycle, NOW_NS, [0, 6_000_000, 0]

    def now_ns(self):
        return self._now_ns

    def sleep(self, seconds):
        self._now_ns += round(seconds * 1e9) + self._sleeps.pop(0)
        self._lifecycle.ending = not self._sleeps


def test_each_wake_up_of_the_watchdog_itself_shows_a_stall_of_the_machine(dog, shared):
    """The threads that measure wake up each 10 ms, and a stall of 6 ms may lie between two of their wake-ups."""
    start = np.zeros(1, START)
    start["start_ns"] = NOW_NS
    shared.start.write(start)
    lifecycle = SimpleNamespace(ending=False, orphaned=False, ready=lambda granted: None)
    watch(dog, shared, lifecycle, host=SleepsTooLong(lifecycle), monitor=StallMonitor())
    (stall,) = events(shared).values()
    assert stall["value"] == pytest.approx(6.0)


class KeptWaiting(SleepsTooLong):
    """A host that is kept waiting for 100 ms at each look at its clock."""

    def now_ns(self):
        self._now_ns += 100_000_000
        return self._now_ns

    def sleep(self, seconds):
        assert seconds >= 0.0  # `time.sleep` refuses it
        super().sleep(seconds)


def test_a_watchdog_that_is_kept_waiting_until_it_has_to_look_again_goes_on(dog, shared):
    lifecycle = SimpleNamespace(ending=False, orphaned=False, ready=lambda granted: None)
    watch(dog, shared, lifecycle, host=KeptWaiting(lifecycle))
    assert lifecycle.ending
