"""A console whose process is killed while it holds the operator lease of a run in real time (row 19)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from hil.app.faults.injection import PROCESSES, Case, Expected, Injection, Outcome, preparation
from hil.app.faults.process_faults import END_S, MOMENT_S, READY_S, SLOW_RAMP, end_processes, judge, start_ns_of
from hil.app.faults.virtual_run import DRIVES, RIG, SETTINGS, virtual_config
from hil.app.operate import OPENING
from hil.messages.fault import Fault
from hil.messages.fault_bounds import STOP_WRITTEN_NS
from hil.messages.operator_input import Arm, Start
from hil.operator.client import CommandClient, CommandError
from hil.operator.runtime_folder import read_token
from hil.safety.fault_table import FAULT_TABLE
from hil.safety.fault_table.row import period_ms
from hil.simulator.connection import read_endpoints, spawn_simulator
from hil.simulator.control_socket import ControlClient

# The console and the client that arms and starts share a name, and so the lease.
NAME = "console"
OPERATED = (*SETTINGS, *SLOW_RAMP, "operator.console_lost=stop", "operator.endpoint=tcp://127.0.0.1:*")


def console_process_cases() -> Iterator[Case]:
    """A console that is killed in the run-up of a trial that `hil operate` makes."""
    config = virtual_config()
    detect_ms = (FAULT_TABLE[Fault.CONSOLE_LOST].bound_for(config) or 0.0) + period_ms(config)
    expected = Expected(frozenset({Fault.CONSOLE_LOST}), detect_ms, detect_ms + STOP_WRITTEN_NS * 1e-6)
    injection = Injection(Fault.CONSOLE_LOST, "killed", "console process", "run_up", PROCESSES, RIG)
    yield Case(injection, expected, _run)


def _run(expected: Expected) -> Outcome:
    with ExitStack() as stack:
        out = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hil-faults-"))) / "operated"
        run = out / "run_1"
        with preparation(CommandError, ValueError):
            endpoints = spawn_simulator(virtual_config(), stack)
            control = stack.enter_context(ControlClient(read_endpoints(endpoints)["control"]))
            settings = [part for item in OPERATED for part in ("--set", item)]
            options = ["--endpoints", str(endpoints), "--out", str(out), "--json", *settings]
            operate = _started("operate", RIG, *options, stdout=subprocess.PIPE)
            stack.callback(end_processes, operate, out / OPENING)
            assert operate.stdout is not None
            client, console = _driving(stack, control, json.loads(operate.stdout.readline()), run)
        time.sleep(MOMENT_S)
        start_ns = start_ns_of(run)
        acted_ns = time.monotonic_ns()
        console.kill()
        client.wait_until(lambda status: not status.get("running"), END_S)
        operate.send_signal(signal.SIGINT)
        operate.wait(END_S)
        if start_ns is None:
            return Outcome(disturbed="the trial ended by itself before the console was killed", injected=False)
        return judge(control, run, start_ns, acted_ns, expected)


def _driving(
    stack: ExitStack, control: ControlClient, doors: dict[str, Any], run: Path
) -> tuple[CommandClient, subprocess.Popen[bytes]]:
    """Lead a trial to its run-up. Returns the client that did, and its console. Raises CommandError."""
    endpoint, token_file = doors["command_endpoint"], Path(doors["token_file"])
    client = stack.enter_context(closing(CommandClient(endpoint, token=read_token(token_file), name=NAME)))
    client.wait_until(_before_its_end(run, lambda status: status.get("state") == "idle"), READY_S)
    hold = ("lease", "--hold", "--endpoint", endpoint, "--token-file", str(token_file), "--name", NAME)
    console = _started("command", *hold, stdout=subprocess.DEVNULL)
    stack.callback(console.wait)
    stack.callback(console.kill)
    client.wait_until(_before_its_end(run, lambda status: status.get("holder") == NAME), READY_S)
    client.ask(Arm())
    client.wait_until(_before_its_end(run, lambda status: status.get("state") == "armed"), READY_S)
    client.ask(Start())
    client.wait_until(_before_its_end(run, lambda _: bool(control.ask("stops", device=DRIVES)["starts"])), READY_S)
    return client, console


def _before_its_end(run: Path, reached: Callable[[dict[str, Any]], bool]) -> Callable[[dict[str, Any]], bool]:
    """Whether a run has come to something. Raises CommandError: it has ended before."""

    def look(status: dict[str, Any]) -> bool:
        if status.get("runs"):
            raise CommandError(f"{run.name} ended before its console was killed: {status.get('message')}")
        return reached(status)

    return look


def _started(*words: str, stdout: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "hil.cli", *words]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL, start_new_session=True)
