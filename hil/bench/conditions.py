"""The machine of a benchmark, its failed measurements, the start of kernels, and what the processes of a trial use."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from hil.realtime.clock import cpuinfo, processor_name
from hil.realtime.rights import Memory, memory_of


class FailedMeasurements:
    """A list of measurements that failed.

    Attributes:
        items: the measurements, with the reasons.
    """

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self.items: list[dict[str, Any]] = []

    def add(self, what: str, reasons: Sequence[str]) -> None:
        """Add a measurement."""
        self.items.append({"what": what, "reasons": list(reasons)})
        self._progress(f"left out: {what}")


def machine() -> dict[str, Any]:
    """Processor, kernel and Python, and the load of the machine before the benchmark."""
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "virtual": "hypervisor" in cpuinfo("flags"),
        "load_1min_before": round(os.getloadavg()[0], 2),
    }


# in a separate process: numba, once imported, and kernels, once loaded, would not be loaded again here
PROGRAM = """
from hil.config.rig import Rig
from hil.app.warm_up import warm_up
from hil.config import load_config
warm_up(Rig(load_config("sim_impact")))
"""


def start_times_s(cached: int) -> tuple[float, list[float]]:
    """Measure whole processes, including interpreter and imports.

    `cached` processes load the kernels from the cache. Returns time with an empty cache, and the times of the processes
    after it [s].
    """
    with tempfile.TemporaryDirectory(prefix="rover-hil-bench-") as folder:
        return _process_s(folder), [_process_s(folder) for _ in range(cached)]


def _process_s(cache: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "ROVER_HIL_CACHE": cache}, check=True)
    return time.perf_counter() - began


# Memory that each process may use [MB]; at the protocol level, all together.
ALLOWED_MB = {
    "loop": 150.0,
    "daq worker": 150.0,
    "drives worker": 60.0,
    "valves worker": 60.0,
    "recorder": 60.0,
    "watchdog": 60.0,
    "plant_process": 150.0,
    "serial_process": 60.0,
    "daq_process": 130.0,
    "rig_server": 50.0,
}
ALLOWED_IN_ALL_MB = 900.0
_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def cpu_usage(root: int, seconds: float) -> dict[str, float]:
    """Share of one processor, by name, of a process and its descendants, over some time."""
    before = seconds_used(root)
    time.sleep(seconds)
    after = seconds_used(root)
    usage: dict[str, float] = {}
    for process, used in after.items():
        if process in before and (name := process_name(process)):
            usage[name] = usage.get(name, 0.0) + (used - before[process]) / seconds
    return usage


def memory_usage(root: int) -> dict[str, Memory]:
    """Memory, by name, of a process and its descendants [MB]."""
    by_name = {}
    for process in seconds_used(root):
        if name := process_name(process):
            with suppress(OSError):  # gone meanwhile
                by_name[name] = memory_of(process)
    return by_name


def seconds_used(root: int) -> dict[int, float]:
    """Processor time of a process and its descendants so far [s]."""
    parents, used = {}, {}
    for folder in _PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            # the fields after the name in brackets, which may contain any character
            fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # gone meanwhile
            continue
        parents[int(folder.name)], used[int(folder.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS
    descendants = {root}
    while more := {process for process, parent in parents.items() if parent in descendants} - descendants:
        descendants |= more
    return {process: used[process] for process in descendants if process in used}


def process_name(process: int) -> str:
    """What a Python process runs, with the name of its link if it has one; empty for any other process."""
    try:
        words = (_PROC / str(process) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    if "-m" not in words:
        return ""
    module, name, *_ = words[words.index("-m") + 1 :]
    if module == "hil.processes":
        return f"{words[-2]} worker" if name == "link" else name
    return "loop" if module == "hil.cli" else module


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

    A simulated rig that was late itself has the trial begin again, with new processes: they are measured again. The
    trial is ended after `within_s`; processor time is measured over `usage_s`.
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
