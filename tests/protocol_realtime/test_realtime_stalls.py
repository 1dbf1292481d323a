"""A machine that stalls in the middle of a trial: a fault, and its text names the stall."""

import json
import random

import pytest

from hil.messages.fault import Fault
from hil.processes.disturbances import STALL
from hil.realtime.clock import PERIOD_NS
from hil.recording import read_trial

# A simulated device that is late while the run starts ends the run: this test needs a quiet machine. That a stall ends
# in Safe is tested in virtual time by tests/protocol/test_protocol_stalls.py.
pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("stalls")]

# The wheels run from 0.3 s on and touch at 1.7 s.
MOMENT_S = 0.7
STILL_S = 0.03
# Shortest measured stall: a thread's wake-up was due at most one period after the thread was stopped, that of a
# simulated device at most 5 ms after.
LEAST_MS = (STILL_S * 1e9 - PERIOD_NS) * 1e-6
RIG_LEAST_MS = STILL_S * 1e3 - 5.0


def test_a_machine_that_stands_still_ends_a_trial_in_safe_and_is_named_beside_the_fault(loop, stand_still, kill_run):
    # at any moment of a tick, a block, a transaction
    assert kill_run.wait_for_start(loop.run, loop.process, MOMENT_S + random.random() * 0.1)
    stand_still(STILL_S)
    loop.process.wait()
    events, summary = read_trial(loop.run).events, json.loads((loop.run / "summary.json").read_text())
    stalls = events[events["name"] == STALL.encode()]
    assert stalls["value"].max() >= LEAST_MS
    assert summary["machine"]["longest_ms"] >= LEAST_MS
    assert summary["aborted"]
    late = events[events["id"] == Fault.LOOP_LATE]
    assert late.size  # the loop was stopped for longer than a tick may be late
    if late[0]["t_ns"] >= stalls[stalls["value"].argmax()]["t_ns"]:  # otherwise the machine was too busy before
        [reason] = [reason for reason in summary["reasons"] if reason.startswith(f"fault {Fault.LOOP_LATE}:")]
        assert f"; at that time: {stalls[stalls['value'].argmax()]['detail'].decode()}" in reason
    # besides the machine's stall, the simulated rig reports its own lateness
    assert summary["simulated_rig"]["longest_ms"] >= RIG_LEAST_MS
    assert any(item["detail"].startswith("simulated rig late by ") for item in summary["simulated_rig"]["late"])
