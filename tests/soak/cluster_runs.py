"""A long sweep on a Dask cluster that loses a worker and its scheduler on the way; `make soak PART=cluster RUNS=10000`.

The table must equal, to the byte, that of the same sweep in one process. Memory of the client, the scheduler and the
workers, and the processor time for a run, are printed for each tenth of the sweep: neither may grow.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy, as `hil sweep` does

from hil.campaign.sweep import SweepRun, expand_sweep, run_sweep
from hil.campaign.workers import cluster, this_process
from hil.config.rig import one_of_each_kind
from hil.realtime.clock import processor_name

# An impact after 1 cm: a second of virtual time.
SHORT = (
    "trial.start_distance_m=0.01", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.1",
    "telemetry.endpoint=''",
)  # fmt: skip
# A worker else keeps what it sampled of its stacks, for an hour.
WITHOUT_PROFILE = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
# Of the runs, how many are done when a worker, and when the scheduler is killed.
WORKER_AT, SCHEDULER_AT = 0.3, 0.6
PARTS = 10
# What may be more at the end than after the second tenth: memory of a process [MB], and the share of time for a run.
MOST_GROWTH_MB, MOST_DEARER = 40.0, 0.15
_TICKS_S = os.sysconf("SC_CLK_TCK")


class LoopbackCluster:
    """A scheduler and workers on this computer, each started again when it has ended, as a supervisor does.

    Args:
        folder: for what they write.
        workers: how many.
    """

    def __init__(self, folder: Path, workers: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        local = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder), "--death-timeout", "20")
        self._commands = {
            "scheduler": ("dask_scheduler", "--port", str(port)),
            **{f"worker {number}": ("dask_worker", self.address, *local) for number in range(1, workers + 1)},
        }
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.restarts = 0
        self._over = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise)

    def __enter__(self) -> LoopbackCluster:
        for name in self._commands:
            self._start(name)
        self._supervisor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._supervisor.join()
        for process in self._processes.values():
            process.kill()
            process.wait()

    def kill(self, name: str) -> None:
        """Kill one of its processes."""
        self._processes[name].kill()

    def pids(self) -> dict[str, int]:
        """Its processes by name."""
        return {name: process.pid for name, process in self._processes.items()}

    def _start(self, name: str) -> None:
        program, *options = self._commands[name]
        command = [
            sys.executable,
            "-m",
            f"distributed.cli.{program}",
            *options,
            "--host",
            "127.0.0.1",
            "--no-dashboard",
        ]
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._processes[name] = subprocess.Popen(command, env=os.environ | WITHOUT_PROFILE, **quiet)

    def _supervise(self) -> None:
        while not self._over.wait(0.2):
            for name, process in list(self._processes.items()):
                if process.poll() is not None:
                    self._start(name)
                    self.restarts += 1


class Watch:
    """Reports nothing; kills at its time, and looks at memory and processor time after each part of the sweep."""

    def __init__(self, there: LoopbackCluster, runs: int, say: Callable[[str], None]) -> None:
        self._there, self._say = there, say
        self._kills = {max(round(WORKER_AT * runs), 1): "worker 1", max(round(SCHEDULER_AT * runs), 2): "scheduler"}
        self._part = max(runs // PARTS, 1)
        self._before = self._look()
        self.lines: list[str] = []
        self.parts: list[dict[str, Any]] = []

    def text(self, line: str) -> None:
        """Keep what is said."""
        self.lines.append(line)

    def done(self, count: int, total: int) -> None:
        """A run is done."""
        if name := self._kills.pop(count, None):
            self._say(f"{count} of {total} runs: {name} is killed")
            self._there.kill(name)
        if count % self._part == 0:
            self._end_part(count)

    def _end_part(self, count: int) -> None:
        now, before = self._look(), self._before
        self._before = now
        same = [name for name, (pid, *_) in now["of"].items() if before["of"].get(name, (0,))[0] == pid]
        part = {
            "runs": count,
            "wall_ms": (now["wall_s"] - before["wall_s"]) / self._part * 1e3,
            "client_ms": (now["client_s"] - before["client_s"]) / self._part * 1e3,
            # of workers that were there all the time
            "workers_ms": sum(now["of"][name][1] - before["of"][name][1] for name in same if name != "scheduler")
            / self._part * 1e3,
            "undisturbed": len(same) == len(now["of"]),
            "MB": {"client": now["client_MB"], **{name: memory for name, (_, _, memory) in now["of"].items()}},
        }  # fmt: skip
        self.parts.append(part)
        memory = ", ".join(f"{name} {size:.0f}" for name, size in part["MB"].items())
        self._say(
            f"{count:6d} runs: {part['wall_ms']:6.1f} ms a run, processor {part['client_ms']:5.1f} client, "
            f"{part['workers_ms']:6.1f} workers{'' if part['undisturbed'] else ' (killed meanwhile)'}; MB: {memory}"
        )

    def _look(self) -> dict[str, Any]:
        of = {}
        for name, pid in self._there.pids().items():
            try:
                of[name] = (pid, *_used(pid))
            except OSError:  # it has just been killed
                of[name] = (0, 0.0, 0.0)
        client_s, client_MB = _used(os.getpid())
        return {"wall_s": time.monotonic(), "client_s": client_s, "client_MB": client_MB, "of": of}


def _used(pid: int) -> tuple[float, float]:
    """Processor time [s] and resident memory [MB] of a process. Raises OSError: it is gone."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_S, int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def grown(parts: Sequence[dict[str, Any]]) -> list[str]:
    """What grew between the second tenth of a sweep and its end, a sentence each."""
    if len(parts) < PARTS:
        return []
    findings, early, late = [], parts[1], parts[-1]
    for name, size in late["MB"].items():
        if size - early["MB"][name] > MOST_GROWTH_MB:
            findings.append(
                f"memory of {name}: {early['MB'][name]:.0f} MB after {early['runs']} runs, {size:.0f} MB now"
            )
    calm = [part for part in parts[1:] if part["undisturbed"]]
    for who in ("client_ms", "workers_ms"):
        first, last = (median(part[who] for part in some) for some in (calm[:3], calm[-3:]))
        if last > (1.0 + MOST_DEARER) * first + 0.5:
            findings.append(f"processor time for a run, {who}: {first:.1f} first, {last:.1f} at the end")
    return findings


def sweep(runs: Sequence[SweepRun], folder: Path, place: Callable[[], Any], watch: Any) -> bytes:
    """The table of a sweep."""
    folder.mkdir()
    run_sweep(runs, folder / "sweep.csv", "csv", place, watch, lambda: False)
    return (folder / "sweep.csv").read_bytes()


class Silent:
    """Reports nothing."""

    def text(self, _: str) -> None:
        """Nothing."""

    def done(self, _: int, __: int) -> None:
        """Nothing."""


@contextmanager
def cluster_of(workers: int) -> Iterator[tuple[Path, LoopbackCluster]]:
    """A cluster, and a folder."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hil-cluster-")))
        yield folder, stack.enter_context(LoopbackCluster(folder, workers))


def check(count: int, workers: int, say: Callable[[str], None]) -> tuple[list[str], Watch]:
    """Make a sweep of so many runs twice. Returns what is wrong, a sentence each, and what was seen on the way."""
    runs = expand_sweep("sim_impact", [f"seed=1:{count}:1"], SHORT, None)
    kinds = one_of_each_kind([run.config for run in runs])
    with cluster_of(workers) as (folder, there):
        watch = Watch(there, count, say)
        far = sweep(runs, folder / "far", lambda: cluster(there.address, kinds, watch.text), watch)
        say(f"{there.restarts} processes were started again; now the same in one process")
        here = sweep(runs, folder / "here", partial(this_process, kinds, lambda _: None), Silent())
    wrong = [] if far == here else ["the table of the cluster is not that of one process"]
    lines = "\n".join(watch.lines)
    wrong += [] if "is gone: what it had is run again" in lines else ["the loss of the scheduler went unnoticed"]
    return wrong + grown(watch.parts), watch


def main() -> int:
    """Check, print, and write what was found where it is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{options.runs} runs on {options.workers} workers, {processor_name()}", flush=True)
    wrong, watch = check(options.runs, options.workers, partial(print, flush=True))
    if options.json:
        options.json.write_text(json.dumps({"wrong": wrong, "parts": watch.parts}, indent=1))
    print("\n".join(wrong) or "the table equals that of one process; nothing grew")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
