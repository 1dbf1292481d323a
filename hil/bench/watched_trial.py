"""A trial in processes of its own, measured from outside while it runs."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hil.bench.cpu_usage import cpu_usage, memory_usage
from hil.realtime.process_memory import Memory

# The line on stderr with which a trial begins to run.
RUNNING = "running"


class WatchedTrial(NamedTuple):
    """What a trial printed, and what its processes used of the processors and of memory, by name."""

    said: str
    complaints: list[str]
    shares: Mapping[str, float]
    memory: Mapping[str, Memory]


def watched_trial(command: Sequence[str], within_s: float, usage_s: float) -> WatchedTrial:
    """Run a trial and measure its processes once it runs.

    A simulated rig that was late itself has the trial begin again, with new processes: they are measured again.

    Args:
        command: of the trial.
        within_s: it is ended after so long [s].
        usage_s: how long processor time is measured [s].
    """
    complaints: list[str] = []
    shares: dict[str, float] = {}
    memory: dict[str, Memory] = {}
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as said,
        subprocess.Popen(command, stdout=said, stderr=subprocess.PIPE, text=True) as trial,
    ):
        end = threading.Timer(within_s, trial.terminate)
        end.start()
        assert trial.stderr is not None
        for line in trial.stderr:
            complaints.append(line.rstrip())
            if line.startswith(RUNNING):
                shares, memory = cpu_usage(trial.pid, usage_s), memory_usage(trial.pid)
        trial.wait()
        end.cancel()
        said.seek(0)
        return WatchedTrial(said.read(), complaints, shares, memory)
