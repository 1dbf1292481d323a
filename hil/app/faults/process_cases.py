"""Cases of real processes in real time, killed or stopped by the operating system; and their runner.

The times are those of this computer. What it or the simulated rig did late during a fault is named; a time over its
bound then says nothing about the controller.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from hil.analysis.recovery import recover
from hil.app.faults.case import (
    PROCESSES,
    STOP_MS,
    Case,
    ExpectedOutcome,
    InjectionOutcome,
    NotInjectedError,
    expect,
    preparation,
    within,
)
from hil.app.faults.judge import OF_THE_LOOP, Observation, judge, lost_ticks, started_again, stopped_ms
from hil.app.faults.protocol_cases import DRIVES, WORKER_LOST, Step, fault, protocol_config, send, wait
from hil.app.operate import OPENING
from hil.config import Config
from hil.config.text_io import write_yaml
from hil.ipc.run_memory import FOLDER, LateAction, RunMemory
from hil.ipc.shared_types import START
from hil.ipc.shm import ShmError
from hil.messages.fault import LOOP_SILENT_NS, WATCHDOG_SILENT_NS, Fault
from hil.messages.operator_input import Arm, Start
from hil.operator.client import CommandClient, CommandError
from hil.operator.runtime_folder import read_token
from hil.processes.disturbances import STALL, late_words
from hil.recording import read_trial
from hil.safety.fault_table import ReactionTimes, bound_ms
from hil.simulator.control_socket import ControlClient, wait_for
from hil.simulator.simulated_rig import read_endpoints, spawn_simulator

READY_S, END_S, STOPPED_S = 120.0, 120.0, 0.3
# From the start of the wheels to the signal [s]; they run for 2 s. Their ramp is slow: on a machine that skips ticks a
# steep one is over the limits (fault 9).
MOMENT_S = 0.3
# Exit status of a command whose devices were not opened.
USAGE = 2
SLOW_RAMP = ("trial.ramp_s=0.5", "trial.start_distance_m=0.15")
# Status of the wheel drives: the power stage of a motor has failed.
DRIVER_FAULT = 0x40
# The console and the client that arms and starts share a name, and so the lease.
CONSOLE = "console"
OPERATED = (*SLOW_RAMP, "operator.console_lost=stop", "operator.endpoint=tcp://127.0.0.1:*")


def process_cases() -> Iterator[Case]:
    """Every signal to every process whose end stops the drives, in the run-up of a trial (rows 12, 18, 19, 29, 41)."""
    config, lost, stop = protocol_config(SLOW_RAMP), Fault.PROCESS_LOST, Fault.STOP_BY_OPERATOR
    times = ReactionTimes(config)
    tick_ms = times.tick_ms
    watchdog_ms, logged_ms = WATCHDOG_SILENT_NS * 1e-6 + tick_ms, LOOP_SILENT_NS * 1e-6 + 2.0 * tick_ms
    dead_man_ms, worker_ms = bound_ms(lost, times), bound_ms(WORKER_LOST, times)

    def case(row: int, kind: str, name: str, *steps: Step, expected: ExpectedOutcome) -> Case:
        effective = protocol_config(OPERATED) if name == CONSOLE else config
        return Case(row, kind, f"{name} process", "run_up", PROCESSES, effective, run_case, steps, expected=expected)

    for kind, *more in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP, signal.SIGCONT)):
        for row, name, detect_ms, react_ms in (
            (lost, "loop", logged_ms, dead_man_ms),
            (WORKER_LOST, "drives", worker_ms, worker_ms),
            (lost, "watchdog", watchdog_ms, watchdog_ms + STOP_MS),
        ):
            first, *last = (send(name, number) for number in more)
            steps = (first, wait(STOPPED_S), *last) if last else (first,)
            yield case(row, kind, name, *steps, expected=expect(lost, detect_ms=detect_ms, react_ms=react_ms))
    row, report = Fault.DEVICE_FAULT, fault(DRIVES, "status", status="status", value=DRIVER_FAULT)
    yield case(row, "driver fault", "drives", report, expected=within(times, row))
    ctrl_c, killed = send("loop", signal.SIGINT), send(CONSOLE, signal.SIGKILL)
    yield case(stop, "Ctrl-C", "loop", ctrl_c, expected=expect(stop, detect_ms=tick_ms, react_ms=tick_ms + STOP_MS))
    lost = Fault.CONSOLE_LOST
    yield case(lost, "killed", CONSOLE, killed, expected=within(times, lost, late_ms=tick_ms))


def run_case(case: Case) -> InjectionOutcome:
    """Make a trial by `hil trial`, or by `hil operate` where its console is lost, disturb it, and judge it.

    Raises NotInjectedError.
    """
    name = case.device.removesuffix(" process")
    with ExitStack() as stack:
        trial = (_OperatedTrial if name == CONSOLE else UnattendedTrial)(stack, case.config)
        with preparation(CommandError, ValueError):
            trial.lead_to_run_up()
        time.sleep(MOMENT_S)
        start_ns, processes = start_ns_of(trial.run), trial.find_processes()
        if start_ns is None or name not in processes:
            raise NotInjectedError("the trial ended by itself before the signal")
        acted_ns = time.monotonic_ns()
        for step in case.act:
            step(trial)
        trial.wait_for_end()
        return judge(observed(trial.control, trial.run, start_ns, acted_ns), case.expected)


class UnattendedTrial:
    """A trial by `hil trial` at a separate simulated rig, in processes that can be sent signals.

    Attributes:
        run: folder of the run.
        control: of the simulated rig.
        ask: sends it a command; raises DeviceError.
        sleep: lets time pass.
        processes: ids by name, as `find_processes` has found them last.

    Raises:
        NotInjectedError: the simulated rig did not start.
    """

    def __init__(self, stack: ExitStack, config: Config) -> None:
        self._stack = stack
        self.place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hil-faults-")))
        self.run = self.place / "run"
        self.processes: dict[str, int] = {}
        self._config = self.place / f"{config.name}.yaml"
        self._config.write_text(write_yaml(config.model_dump(mode="json")), encoding="utf-8")
        with preparation():
            self._endpoints = spawn_simulator(config.model_dump_json(), stack)
            self.control = stack.enter_context(ControlClient(read_endpoints(self._endpoints)["control"]))
        self.ask, self.sleep = self.control.ask, time.sleep

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a process, by its name; one that is gone need not continue: the watchdog has killed it."""
        with suppress(*[ProcessLookupError] * (number == signal.SIGCONT)):
            os.kill(self.processes[name], number)

    def lead_to_run_up(self) -> None:
        """Start the trial, and return once its wheels turn. Raises DeviceError."""
        self._main = self._start("trial", self.run, self.run, stdout=subprocess.DEVNULL)
        wait_for(lambda: self._main.poll() is not None or self.driven(), READY_S, 0.02)

    def run_to_end(self) -> str:
        """Make the trial; why its devices were not opened, or an empty text. Raises NotInjectedError: it is endless."""
        self._main = self._start("trial", self.run, self.run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            said = self._main.communicate(timeout=READY_S + END_S)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            self._main.kill()
            self._main.communicate()
            raise NotInjectedError(f"the trial did not end within {READY_S + END_S:g} s") from None
        return said.rpartition("hil: ")[2] if self._main.returncode == USAGE else ""  # after its progress

    def find_processes(self) -> dict[str, int]:
        """The processes of the trial; empty: it is over."""
        self.processes = {} if self._main.poll() is not None else processes_of(self.run)
        return self.processes

    def wait_for_end(self) -> None:
        """Return once the trial is over."""
        with suppress(subprocess.TimeoutExpired):
            self._main.wait(END_S)
        wait_for(lambda: not processes_of(self.run), END_S, 0.05)

    def _start(
        self, command: str, out: Path, folder: Path, *, stdout: int, stderr: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        options = (str(self._config), "--endpoints", str(self._endpoints), "--out", str(out), "--json")
        process = _started(command, *options, stdout=stdout, stderr=stderr)
        self._stack.callback(end_processes, process, folder)
        return process

    def driven(self) -> bool:
        """Whether a wheel drive has been started. Raises DeviceError."""
        return bool(self.ask("stops", device=DRIVES)["starts"])


class _OperatedTrial(UnattendedTrial):
    """A trial by `hil operate`; a separate console holds the operator lease."""

    @override
    def lead_to_run_up(self) -> None:
        """Raises CommandError, too."""
        out = self.place / "operated"
        self.run = out / "run_1"
        self._main = self._start("operate", out, out / OPENING, stdout=subprocess.PIPE)
        assert self._main.stdout is not None
        doors = json.loads(self._main.stdout.readline())
        endpoint, token_file = doors["command_endpoint"], Path(doors["token_file"])
        client = CommandClient(endpoint, token=read_token(token_file), name=CONSOLE)
        self._client = self._stack.enter_context(closing(client))
        self._until(lambda status: status.get("state") == "idle")
        hold = ("lease", "--hold", "--endpoint", endpoint, "--token-file", str(token_file), "--name", CONSOLE)
        console = _started("command", *hold, stdout=subprocess.DEVNULL)
        self._stack.callback(console.wait)
        self._stack.callback(console.kill)
        self.processes = {CONSOLE: console.pid}
        self._until(lambda status: status.get("holder") == CONSOLE)
        client.ask(Arm())
        self._until(lambda status: status.get("state") == "armed")
        client.ask(Start())
        self._until(lambda _: self.driven())

    @override
    def find_processes(self) -> dict[str, int]:
        return self.processes

    @override
    def wait_for_end(self) -> None:
        self._client.wait_until(lambda status: not status.get("running"), END_S)
        self._main.send_signal(signal.SIGINT)
        self._main.wait(END_S)

    def _until(self, reached: Callable[[dict[str, Any]], bool]) -> None:
        self._client.wait_until(before_its_end(self.run, reached), READY_S)


def before_its_end(run: Path, reached: Callable[[dict[str, Any]], bool]) -> Callable[[dict[str, Any]], bool]:
    """Whether a run has come to something. Raises CommandError: it has ended before."""

    def look(status: dict[str, Any]) -> bool:
        if status.get("runs"):
            raise CommandError(f"{run.name} ended before its console was killed: {status.get('message')}")
        return reached(status)

    return look


def observed(control: ControlClient, run: Path, start_ns: int, acted_ns: int) -> Observation:
    """What is left of a trial in real time, by the record and by what the simulated controllers saw.

    Args:
        control: of the simulated rig.
        run: folder of the run, which is over.
        start_ns: T = 0 of the run on CLOCK_MONOTONIC [ns].
        acted_ns: when the signal was sent, on the same clock [ns].

    Raises:
        NotInjectedError: the trial or its drives had stopped before.
    """
    if (run / FOLDER).is_dir():
        recover(run)
    record, seen, injected_ns = read_trial(run), control.ask("stops", device=DRIVES), acted_ns - start_ns
    own = record.events[(record.events["id"] > 0) & ~np.char.startswith(record.events["name"], OF_THE_LOOP)]
    if len(own) and own["t_ns"][0] < injected_ns:
        raise NotInjectedError(f"the trial was in Safe before the signal, fault {own['id'][0]}")
    if (reacted_ms := stopped_ms(seen, acted_ns)) is None:
        raise NotInjectedError("the drives had stopped before the signal")
    wrong = (*started_again(seen, acted_ns), *lost_ticks(record.tick, injected_ns))
    late = [LateAction(*one) for one in control.ask("lateness", since_ns=acted_ns)["late"]]
    stalls = record.events[record.events["name"] == STALL.encode()]
    disturbed = [late_words(max(late, key=lambda one: one.late_ns))] if late else []
    disturbed += [bytes(stalls[0]["detail"]).decode(errors="replace")] if len(stalls) else []
    return Observation(record.events, injected_ns, reacted_ms, wrong, late=tuple(disturbed))


def processes_of(run: Path) -> dict[str, int]:
    """Process ids of a run by their names: all with its folder in their command line."""
    found: dict[str, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if str(run) in words:
                name = words[words.index("hil.processes") + 1] if "hil.processes" in words else "loop"
                found[words[-2] if name == "link" else name] = int(entry.name)
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


def _started(*words: str, stdout: int, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "hil.cli", *words]
    return subprocess.Popen(command, stdout=stdout, stderr=stderr, start_new_session=True)
