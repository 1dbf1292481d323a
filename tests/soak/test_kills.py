"""SIGKILL and SIGSTOP of the processes of a real run; `make soak` does the same 200 times."""

import os
import signal
import subprocess

import numpy as np
import pytest

from hil.app.faults.process_cases import processes_of
from hil.ipc.shared_types import GROUND_TRUTH
from hil.ipc.shm import STALE
from hil.messages.fault import DEAD_MAN_NS
from hil.recording import read_trial

pytestmark = pytest.mark.slow


# A killed loop is in virtual time too (tests/protocol), where each `make test` looks at it.
@pytest.mark.parametrize(
    ("seed", "victim", "moment"),
    [
        (2, "recorder", "settle"),
        pytest.param(1, "loop", "impact", marks=pytest.mark.soak),
        pytest.param(5, "all", "settle", marks=pytest.mark.soak),
    ],
)
def test_a_kill_leaves_no_process_and_a_whole_record(kill_run, tmp_path, seed, victim, moment):
    """On a busy machine the run may end first, in Safe or not armed: then there is no process to kill."""
    kill = kill_run.kill_one(seed, victim, moment, tmp_path)
    assert [wrong for wrong in kill.wrong if not wrong.startswith(kill_run.ENDED_BEFORE)] == []
    assert kill.readable


@pytest.mark.soak  # in virtual time, each `make test` looks at it (tests/protocol)
def test_a_stopped_loop_cannot_drive_again(kill_run, tmp_path):
    """The dead-man cuts 20 ms after the last good tick, by the clock of the simulated rig; SIGCONT changes nothing."""
    period_ns = 1_000_000
    run = tmp_path / "run"
    with open(tmp_path / "said", "w") as said:
        loop = subprocess.Popen(kill_run.trial_command(run, "all"), stdout=said, stderr=said, start_new_session=True)
        try:
            started = kill_run.wait_for_start(run, loop, 0.3)
            if started is None:  # on a busy machine: it was not armed, and there is nothing to stop
                assert loop.returncode == 3, (tmp_path / "said").read_text()
                return
            shared, start_ns = started
            os.kill(loop.pid, signal.SIGSTOP)
            drive, ground_truth = np.zeros(1, shared.newest["drives"].dtype), np.zeros(1, GROUND_TRUTH)
            last_good_ns = shared.heartbeat.last_ns("loop") - start_ns
            while (
                shared.newest["drives"].read(drive) == STALE
                or drive["acknowledged_ns"][0] <= last_good_ns + DEAD_MAN_NS // 2
            ):
                assert loop.poll() is None
            shared.ground_truth.read(ground_truth)
            os.kill(loop.pid, signal.SIGCONT)
            stopped_ns = int(drive["acknowledged_ns"][0])
            kill_run.ended(kill_run.Kill(0, "none", "none", "all"), run, loop)
        finally:
            for process in processes_of(run).values():
                os.kill(process, signal.SIGKILL)
            loop.wait()
    missed = 1 + int(ground_truth["skipped"][0])
    assert last_good_ns + DEAD_MAN_NS - period_ns <= stopped_ns <= last_good_ns + DEAD_MAN_NS + missed * period_ns
    tick = read_trial(run).tick
    after = tick[tick["t_ns"] > stopped_ns + 50 * period_ns]
    assert loop.returncode == 1
    assert len(after) > 100
    assert set(after["drives_acknowledged_ns"].tolist()) == {stopped_ns}
    assert set(after["safe"].tolist()) == {1}
