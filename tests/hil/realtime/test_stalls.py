"""Stalls of the machine: what counts as one, and that a process which only wakes up detects them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from hil.realtime.clock import PERIOD_NS, STALL_NS, Stall, StallMonitor, merged

MS = 1_000_000
# Measures wake-ups, and prints the stalls once its input is closed.
WAKES = """
import sys
from hil.realtime.clock import StallMonitor, measured_wakeups
monitor, found = StallMonitor(), []
with measured_wakeups(monitor):
    print("awake", flush=True)
    sys.stdin.read()
for stall in monitor.take():
    print(*stall, flush=True)
"""


def test_a_wakeup_as_late_as_allowed_is_no_stall():
    monitor = StallMonitor()
    monitor.woke(0, STALL_NS)
    assert monitor.take() == []


def test_a_stall_begins_when_the_wakeup_was_due_and_lasts_until_it_came():
    monitor = StallMonitor()
    monitor.woke(100 * MS, 131 * MS)
    assert monitor.take() == [Stall(100 * MS, 31 * MS)]


def test_a_stall_is_taken_once():
    monitor = StallMonitor()
    monitor.woke(0, 31 * MS)
    assert len(monitor.take()) == 1
    assert monitor.take() == []


def test_stalls_of_several_processors_at_the_same_time_are_one():
    both = [Stall(102 * MS, 30 * MS), Stall(100 * MS, 31 * MS), Stall(200 * MS, 5 * MS)]
    assert merged(both) == [Stall(100 * MS, 32 * MS), Stall(200 * MS, 5 * MS)]


def test_a_stall_within_a_longer_one_does_not_make_it_longer():
    assert merged([Stall(100 * MS, 50 * MS), Stall(110 * MS, 10 * MS)]) == [Stall(100 * MS, 50 * MS)]


def test_a_process_that_is_stopped_sees_a_stall_as_long_as_it_stood_still():
    with subprocess.Popen(
        [sys.executable, "-c", WAKES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "awake\n"
        stood_still = []
        for _ in range(5):  # a busy machine may not let it sleep again before it is stopped
            time.sleep(0.03)
            os.kill(process.pid, signal.SIGSTOP)
            while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
                time.sleep(0.001)  # on a busy machine the signal takes effect when the process is scheduled next
            stopped_ns = time.monotonic_ns()
            time.sleep(0.03)
            stood_still.append((stopped_ns, time.monotonic_ns()))
            os.kill(process.pid, signal.SIGCONT)
        said, _ = process.communicate()
    stalls = [Stall(*map(int, line.split())) for line in said.splitlines()]
    # a wake-up was due at most one period after the process was stopped
    assert any(
        stall.began_ns <= stopped_ns + PERIOD_NS and stall.began_ns + stall.length_ns >= went_on_ns
        for stall in stalls
        for stopped_ns, went_on_ns in stood_still
    )
