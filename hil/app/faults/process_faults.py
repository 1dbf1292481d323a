"""Processes of a trial in real time that are killed or stopped by the operating system (rows 12, 18, 23, 29).

The times are those of this computer. What it or the simulated rig did late beside a fault is named; a time over its
bound then says nothing about the controller.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hil.analysis.recovery import recover
from hil.app.faults.injection import PROCESSES, Case, Expected, Injection, Outcome, preparation, times_wrong
from hil.app.faults.virtual_run import DRIVES, OF_THE_LOOP, RIG, SETTINGS, stopped_ms, virtual_config
from hil.config import Config
from hil.ipc.lateness import Late
from hil.ipc.run_memory import FOLDER, RunMemory
from hil.ipc.shared_types import START
from hil.ipc.shm import ShmError
from hil.messages.fault import Fault
from hil.messages.fault_bounds import LOOP_SILENT_NS, RECORD_LOST_NS, STOP_WRITTEN_NS, WATCHDOG_SILENT_NS
from hil.processes.disturbances import STALL, late_words
from hil.recording import read_trial
from hil.safety.fault_table import FAULT_TABLE
from hil.safety.fault_table.row import period_ms
from hil.simulator.connection import read_endpoints, spawn_simulator
from hil.simulator.control_socket import ControlClient, wait_for

WORKER_LOST = 29
READY_S, END_S, STOPPED_S = 120.0, 120.0, 0.3
# From the start of the wheels to the signal [s]; they run for 2 s. Their ramp is slow: on a machine that skips ticks a
# steep one is over the limits (fault 9).
MOMENT_S = 0.3
SLOW_RAMP = ("trial.ramp_s=0.5", "trial.start_distance_m=0.15")


@dataclass(frozen=True)
class Strike:
    """A signal to a process of a trial.

    Attributes:
        row: of the fault table.
        kind: of the fault.
        process: name of the process.
        signal: its number.
        faults: one of which must be noticed first.
        detect_ms: longest time until it is noticed [ms].
        react_ms: longest time until all drives have stopped [ms].
    """

    row: int
    kind: str
    process: str
    signal: signal.Signals
    faults: frozenset[int]
    detect_ms: float
    react_ms: float


def strikes(config: Config) -> Iterator[Strike]:
    """Every signal to every process whose end stops the drives."""
    lost, tick_ms = frozenset({int(Fault.PROCESS_LOST)}), period_ms(config)
    written_ms = STOP_WRITTEN_NS * 1e-6
    dead_man_ms = FAULT_TABLE[Fault.PROCESS_LOST].bound_for(config) or 0.0
    worker_ms = FAULT_TABLE[WORKER_LOST].bound_for(config) or 0.0
    watchdog_ms, logged_ms = WATCHDOG_SILENT_NS * 1e-6 + tick_ms, LOOP_SILENT_NS * 1e-6 + 2.0 * tick_ms
    for kind, number in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP)):
        row = Fault.PROCESS_LOST
        yield Strike(row, kind, "loop", number, lost, logged_ms, dead_man_ms)
        yield Strike(WORKER_LOST, kind, "drives", number, lost, worker_ms, worker_ms)
        yield Strike(row, kind, "watchdog", number, lost, watchdog_ms, watchdog_ms + written_ms)
    stop = Fault.STOP_BY_OPERATOR
    yield Strike(stop, "Ctrl-C", "loop", signal.SIGINT, frozenset({int(stop)}), tick_ms, tick_ms + written_ms)


def process_cases() -> Iterator[Case]:
    """Each of them in the run-up of a trial."""
    for strike in strikes(virtual_config()):
        injection = Injection(strike.row, strike.kind, f"{strike.process} process", "run_up", PROCESSES, RIG)
        yield Case(injection, Expected(strike.faults, strike.detect_ms, strike.react_ms), partial(_run, strike))


def _run(strike: Strike, expected: Expected) -> Outcome:
    with ExitStack() as stack:
        run = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hil-faults-"))) / "run"
        with preparation():
            endpoints = spawn_simulator(virtual_config(), stack)
            control = stack.enter_context(ControlClient(read_endpoints(endpoints)["control"]))
        settings = [part for item in (*SETTINGS, *SLOW_RAMP) for part in ("--set", item)]
        command = [sys.executable, "-P", "-m", "hil.cli", "trial", RIG, "--endpoints", str(endpoints)]
        trial = subprocess.Popen(
            [*command, "--out", str(run), *settings],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        stack.callback(end_processes, trial, run)

        def driven() -> bool:
            return trial.poll() is not None or bool(control.ask("stops", device=DRIVES)["starts"])

        with preparation():
            wait_for(driven, READY_S, 0.02)
        time.sleep(MOMENT_S)
        start_ns = start_ns_of(run)
        processes = processes_of(run)
        if trial.poll() is not None or start_ns is None or strike.process not in processes:
            return Outcome(disturbed="the trial ended by itself before the signal", injected=False)
        acted_ns = time.monotonic_ns()
        os.kill(processes[strike.process], strike.signal)
        if strike.signal == signal.SIGSTOP:
            time.sleep(STOPPED_S)
            with suppress(ProcessLookupError):  # the watchdog has killed it
                os.kill(processes[strike.process], signal.SIGCONT)
        with suppress(subprocess.TimeoutExpired):
            trial.wait(END_S)
        wait_for(lambda: not processes_of(run), END_S, 0.05)
        return judge(control, run, start_ns, acted_ns, expected)


def judge(control: ControlClient, run: Path, start_ns: int, acted_ns: int, expected: Expected) -> Outcome:
    """What came of a signal, by the record and by what the simulated controllers saw.

    Args:
        control: of the simulated rig.
        run: folder of the run, which is over.
        start_ns: T = 0 of the run on CLOCK_MONOTONIC [ns].
        acted_ns: when the signal was sent, on the same clock [ns].
        expected: what must come of it.
    """
    if (run / FOLDER).is_dir():
        recover(run)
    record, seen = read_trial(run), control.ask("stops", device=DRIVES)
    own = record.events[(record.events["id"] > 0) & ~np.char.startswith(record.events["name"], OF_THE_LOOP)]
    if len(own) and start_ns + int(own["t_ns"][0]) < acted_ns:
        return Outcome(disturbed=f"the trial was in Safe before the signal, fault {own['id'][0]}", injected=False)
    wrong: list[str] = []
    reacted_ms = stopped_ms(seen, acted_ns)
    if reacted_ms is None:
        return Outcome(disturbed="the drives had stopped before the signal", injected=False)
    if reacted_ms == math.inf:
        wrong.append("not every controller has stopped")
        reacted_ms = None
    if any(at_ns > acted_ns for _, at_ns in seen["starts"]):
        wrong.append("a controller was started again after the fault")
    lost_ms = (acted_ns - start_ns - int(record.tick["t_ns"][-1])) * 1e-6
    if lost_ms > RECORD_LOST_NS * 1e-6:
        wrong.append(f"record: {lost_ms:.0f} ms of ticks lost, allowed: {RECORD_LOST_NS * 1e-6:g}")
    faults = record.events[record.events["id"] > 0]
    first = faults[0] if len(faults) else None
    detected_ms = None if first is None else max(start_ns + int(first["t_ns"]) - acted_ns, 0) * 1e-6
    if first is None or first["id"] not in expected.rows:
        wrong.append("not noticed" if first is None else f"noticed as fault {first['id']}")
    late = [Late(*one) for one in control.ask("lateness", since_ns=acted_ns)["late"]]
    stalls = record.events[record.events["name"] == STALL.encode()]
    beside = [late_words(max(late, key=lambda one: one.late_ns))] if late else []
    beside += [bytes(stalls[0]["detail"]).decode(errors="replace")] if len(stalls) else []
    slow = times_wrong(expected, detected_ms, reacted_ms)
    return Outcome(
        detected_ms, reacted_ms, (*wrong, *([] if beside else slow)), "; ".join(slow), "; ".join(beside if slow else ())
    )


def processes_of(run: Path) -> dict[str, int]:
    """Process ids of a run by their names: all with its folder in their command line."""
    found: dict[str, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if str(run) in words:
                module = next((word for word in words if word.startswith("hil.")), "")
                name = "loop" if module == "hil.cli" else module.rpartition(".")[2]
                found[words[-2] if name == "link_process" else name] = int(entry.name)
    return found


def start_ns_of(run: Path) -> int | None:
    """T = 0 of a run on CLOCK_MONOTONIC [ns]; None: it has not begun."""
    start = np.zeros(1, START)
    with suppress(OSError, ValueError, ShmError):
        shared = RunMemory(run)
        shared.leave()
        shared.start.read(start)
        shared.close()
        return int(start["start_ns"][0]) or None
    return None


def end_processes(trial: subprocess.Popen[bytes], run: Path) -> None:
    """End a process that makes runs, and whatever is left of them: all of them were started here."""
    trial.kill()
    for process in processes_of(run).values():
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    trial.wait()
