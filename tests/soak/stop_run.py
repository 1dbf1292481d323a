"""SIGKILL of the drives worker, and when the simulated controllers stop: `python tests/soak/stop_run.py --kills 200`.

Row 29 of the fault table. Worker, watchdog and simulated controllers are those of a run, each in its process; this
process is the loop. A process of the highest priority measures stalls of the machine meanwhile.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hil.app.driver_factory import DriverFactory, at_endpoints
from hil.config import load_config
from hil.config.rig_setup import rig_setup
from hil.ipc.run_memory import RunMemory, write_stops
from hil.ipc.shared_types import START
from hil.processes.supervisor import WorkerSupervisor
from hil.realtime import RightsWanted, rights
from hil.realtime.rights import memory_of
from hil.simulator.memory import SimulatorMemory
from hil.simulator.rig_server import RigProcess

ALLOWED_MS = 40.0
WAIT_MS = 400.0
STALL_MS = 2.0
SPEED_RADPS = 0.5
MS = 1_000_000


@dataclass
class Kill:
    """One kill: when each controller stopped after it [ms], and stalls of the machine since, begin and length [ms]."""

    stopped_ms: dict[int, float]
    timeouts: int
    stalls: list[tuple[float, float]]

    @property
    def last_ms(self):
        return max(self.stopped_ms.values()) if len(self.stopped_ms) == 3 else float("inf")

    @property
    def ok(self):
        return self.last_ms <= ALLOWED_MS or bool(self.stalls)

    def __str__(self):
        stopped = ", ".join(f"{address:#x} {ms:.1f} ms" for address, ms in sorted(self.stopped_ms.items())) or "none"
        stood = "; ".join(f"the machine stood still for {ms:.1f} ms at {at:.1f} ms" for at, ms in self.stalls)
        return f"stopped: {stopped}; own time-outs: {self.timeouts}; {stood or 'no stall'}"


def measure_stalls(path):
    """Until killed: write one line per late wake-up, its due and actual time [ns of CLOCK_MONOTONIC]."""
    with rights(RightsWanted(fifo_priority=98, lock_memory=True, freeze_gc=True)), open(path, "w", buffering=1) as out:
        before = time.monotonic_ns()
        while True:
            time.sleep(0.001)
            now = time.monotonic_ns()
            if now - before > (1.0 + STALL_MS) * MS:
                print(before + MS, now, file=out)
            before = now


class Bench:
    """Simulated controllers for all kills, and a new worker and watchdog for each kill."""

    def __init__(self, stack):
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stops_")))
        config = load_config("sim_wire", ["telemetry.endpoint=''"])
        wire = self._folder / "wire"
        wire.mkdir()
        self._memory = SimulatorMemory(wire, config)
        self._serial = stack.enter_context(RigProcess("serial", wire))
        self.config = at_endpoints(config, {**self._serial.message["endpoints"], "daq": "127.0.0.1:1"})
        self._stalls = self._folder / "stalls"
        self._stalls.touch()
        watcher = subprocess.Popen([sys.executable, __file__, "--stalls", str(self._stalls)])
        stack.callback(watcher.wait)
        stack.callback(watcher.kill)
        self.worker_MB = []

    def kill(self, number, sort, chance):
        """One kill, after the worker has driven the wheels for a while."""
        run = self._folder / f"run_{number}"
        run.mkdir()
        shared = RunMemory(run, self.config, {"version": "soak"})
        drives = DriverFactory(self.config.devices, rig_setup(self.config)).device("drives")
        write_stops(shared, {"drives": drives.stop_frames()})
        with WorkerSupervisor(shared) as supervisor:
            supervisor.start("drives")
            supervisor.start_watchdog()
            supervisor.wait_ready("drives")
            supervisor.wait_ready("watchdog")
            pid = supervisor._processes["drives"].pid
            self.worker_MB.append(memory_of(pid).share_MB)
            loop = _Loop(shared)
            loop.go_on(0.1, cut=True)
            loop.go_on(chance.uniform(0.2, 0.5))
            os.kill(pid, sort)
            killed_ns = time.monotonic_ns()
            loop.go_on(WAIT_MS * 1e-3)
        shared.leave()
        seen = self._serial.ask({"do": "stops", "device": "roboclaw"})
        found = {}
        for address, at_ns in seen["stops"]:
            if at_ns >= killed_ns:
                found.setdefault(address, (at_ns - killed_ns) / MS)
        until_ns = killed_ns + max(found.values(), default=WAIT_MS) * MS
        stalls = [tuple(map(int, line.split())) for line in self._stalls.read_text().splitlines()]
        during = [((a - killed_ns) / MS, (b - a) / MS) for a, b in stalls if b > killed_ns and a < until_ns]
        return Kill(found, sum(at >= killed_ns for _, at in seen["timeouts"]), during)


class _Loop:
    """The loop's heartbeat and commands for the worker."""

    def __init__(self, shared):
        self._shared, self._command = shared, np.zeros(1, shared.device_commands["drives"].dtype)
        start = np.zeros(1, START)
        start["start_ns"] = self._start_ns = time.monotonic_ns()
        shared.start.write(start)

    def go_on(self, seconds, cut=False):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            now_ns = time.monotonic_ns()
            self._shared.heartbeat.beat("loop", now_ns)
            self._shared.heartbeat.beat("loop_turn", now_ns)
            self._command["t_ns"], self._command["cut"] = now_ns - self._start_ns, cut
            self._command["speed_radps"] = 0.0 if cut else SPEED_RADPS
            self._shared.device_commands["drives"].write(self._command)
            time.sleep(0.002)


def main():
    """Run all kills and print the results; exit status 1 if a stop was late without a stall of the machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--signal", choices=("KILL", "STOP"), default="KILL")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--stalls", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stalls:
        measure_stalls(arguments.stalls)
    chance, sort, kills = random.Random(arguments.seed), signal.Signals[f"SIG{arguments.signal}"], []
    with ExitStack() as stack:
        bench = Bench(stack)
        priority = bench.config.realtime.fifo_priority
        stack.enter_context(rights(RightsWanted(fifo_priority=priority, freeze_gc=True)))
        for number in range(arguments.kills):
            kills.append(bench.kill(number, sort, chance))
            if kills[-1].last_ms > ALLOWED_MS:
                print(f"kill {number}: {kills[-1]}", flush=True)
    times = np.array([kill.last_ms for kill in kills])
    p50, p99, top = np.quantile(times, (0.5, 0.99, 1.0), method="higher").tolist()
    late, uncovered = int((times > ALLOWED_MS).sum()), sum(not kill.ok for kill in kills)
    print(
        f"last stop byte after SIG{arguments.signal}: p50 {p50:.1f} ms, p99 {p99:.1f}, longest {top:.1f}; "
        f"{late} of {len(kills)} later than {ALLOWED_MS:g} ms, {uncovered} of them without a stall; "
        f"worker {max(bench.worker_MB):.0f} MB"
    )
    if arguments.json:
        figures = {"kills": len(kills), "p50_ms": p50, "p99_ms": p99, "max_ms": top, "late": late,
                   "without_stall": uncovered, "times_ms": times.tolist()}  # fmt: skip
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    sys.exit(uncovered > 0)


if __name__ == "__main__":
    main()
