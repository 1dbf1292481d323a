"""Trials in real time with real processes and one simulated rig; for trials in virtual time see tests/protocol."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil.app.faults.process_cases import processes_of
from hil.app.faults.protocol_cases import Step, protocol_cases
from hil.app.run import open_backend
from hil.app.run_loop import Signals, rights_wanted, run_loop
from hil.config import Config, load_config
from hil.config.rig import Rig
from hil.ipc.shared_types import START
from hil.simulator.control_socket import ControlClient, wait_for

# The wheels run from 0.3 s on and touch at 1.7 s; faults are injected between these times.
MOMENT_S = 0.7
SETTINGS = (
    "trial.start_distance_m=0.1", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
    "telemetry.endpoint=''", "devices.daq.e_stop=cDAQ1Mod4/port0/line0", "devices.valves.baud=38400",
    "devices.valves.pressure_registers={left_extend: 0, left_retract: 1, right_extend: 2, right_retract: 3, "
    "kPa_per_count: 0.1}",
)  # fmt: skip
READY_S = 300.0


def overrides(settings) -> list[str]:
    """Settings as command-line arguments."""
    return [part for item in settings for part in ("--set", item)]


def tree_of(process: int) -> list[int]:
    """Process ids of a process and of all its descendants."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(pid for child in children for pid in tree_of(int(child)))]


@dataclass
class Wire:
    """A running simulated rig.

    Attributes:
        config: its name.
        settings: its overrides.
        endpoints: its endpoints file.
        ports: contents of that file.
        process: its id.
        workers: of the trial that runs on it, by name.
    """

    config: str
    settings: tuple[str, ...]
    endpoints: Path
    ports: dict[str, str]
    control: ControlClient = field(repr=False)
    process: int = 0
    workers: dict[str, int] = field(default_factory=dict)

    @property
    def arguments(self) -> list[str]:
        """Of a command for this rig."""
        return [self.config, "--endpoints", str(self.endpoints), *overrides(self.settings)]

    def inject_fault(self, device: str, kind: str, **how) -> int:
        """Inject a fault of a device; returns the time of the command [ns]."""
        self.control.ask("inject_fault", device=device, kind=kind, **how)
        return time.monotonic_ns()

    def press(self, device: str, pressed: bool = True) -> int:
        """Press or release an emergency stop; returns the time of the command [ns]."""
        self.control.ask("e_stop", device=device, pressed=pressed)
        return time.monotonic_ns()

    def seen(self, what: str, since_ns: int, device: str = "roboclaw") -> dict[int, int]:
        """Events recorded by the controllers of a bus since a time: by address, the time of the first [ns]."""
        found: dict[int, int] = {}
        for address, at_ns in self.control.ask("stops", device=device)[what]:
            if at_ns >= since_ns:
                found.setdefault(address, at_ns)
        return found

    def ask(self, do: str, **command) -> dict[str, Any]:
        """Send the rig a command."""
        return self.control.ask(do, **command)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a worker of the trial."""
        os.kill(self.workers[name], number)

    def mend(self) -> None:
        """Remove all injected faults."""
        for device in [name for name in self.ports if name != "control"]:
            self.control.ask("inject_fault", device=device, kind="reconnect")
        for device in {"roboclaw", "daq"} & set(self.ports):
            self.press(device, False)


Act = Callable[[dict[str, int]], int]


@pytest.fixture
def trial(wire, tmp_path, finished_trial) -> Callable[..., Any]:
    """Run a trial in this process, with its workers in other processes, and disturb it in the middle."""

    def trial(act: Act | None, *settings: str, at_s: float = MOMENT_S) -> Any:
        config = load_config(wire.config, [*wire.settings, *settings])
        folder = tmp_path / "run"
        folder.mkdir()
        return _run(config, finished_trial(wire.control.ask, folder), wire, act, at_s)

    wire.mend()
    yield trial
    wire.mend()


@pytest.fixture
def injected(wire, trial) -> Callable[..., Any]:
    """Make a run with the steps of a case of the fault table; the fault noticed first must be one of its rows."""

    def injected(device: str, kind: str, *more: Step) -> Any:
        found = (case for case in protocol_cases() if (case.device, case.kind, case.state) == (device, kind, "run_up"))
        (case,) = found

        def act(workers: dict[str, int]) -> int:
            wire.workers, acted_ns = workers, time.monotonic_ns()
            for step in (*case.act, *more):
                step(wire)
            return acted_ns

        run = trial(act)
        assert run.faults[0] in case.expected.rows
        assert case.expected.says in run.events[0].alarm.detail
        return run

    return injected


def _run(config: Config, run: Any, wire: Wire, act: Act | None, at_s: float) -> Any:
    with ExitStack() as stack:
        rig = open_backend(Rig(config), run.folder, lambda _: None, stack, endpoints=wire.endpoints)
        shared, workers = rig.shared, {name: process.pid for name, process in rig._supervisor._processes.items()}
        start, over = np.zeros(1, START), threading.Event()

        def in_the_middle() -> None:
            wait_for(lambda: over.is_set() or shared.start.read(start) > 0, READY_S, 0.002)
            run.start_ns = int(start["start_ns"][0])
            if not over.is_set() and act is not None:
                time.sleep(max(run.start_ns * 1e-9 + at_s - time.monotonic(), 0.0))
                run.acted_ns = act(workers)

        thread = threading.Thread(target=in_the_middle)
        thread.start()
        try:
            run_loop(rig, Signals(), lambda _: None, wanted=rights_wanted(config.realtime, config.clock, config.rig))
        finally:
            over.set()
            thread.join()
        run.events, run.stopped_ns = list(rig.cycle.safety.events), rig.cycle.tick_logger.stopped_ns
        run.take_healths(shared)
    return run


@dataclass
class Loop:
    """A trial in a separate process group, which may be stopped and killed."""

    process: subprocess.Popen
    run: Path

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None


@pytest.fixture
def loop(wire, tmp_path) -> Loop:
    """A trial started with the command-line program."""
    run = tmp_path / "run"
    command = [sys.executable, "-P", "-m", "hil.cli", "trial", *wire.arguments]
    wire.mend()
    with open(tmp_path / "said", "w") as said:
        process = subprocess.Popen([*command, "--out", str(run)], stdout=said, stderr=said, start_new_session=True)
        try:
            yield Loop(process, run)
        finally:
            for left in processes_of(run).values():
                os.kill(left, 9)
            process.wait()
    wire.mend()


@pytest.fixture
def stand_still(loop, wire) -> Callable[[float], None]:
    """Suspend all processes of a trial and of its simulated rig for a time [s], like a stall of the machine."""

    def stand_still(seconds: float) -> None:
        processes = [*tree_of(loop.process.pid), *tree_of(wire.process)]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        time.sleep(seconds)
        for process in processes:
            os.kill(process, signal.SIGCONT)

    return stand_still


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Start simulated rigs with the command-line program; all end with the module: each uses a third of a processor."""
    with ExitStack() as stack:

        def serve(config: str, *settings: str) -> Wire:
            endpoints = tmp_path_factory.mktemp("wire") / "endpoints.json"
            command = [sys.executable, "-P", "-m", "hil.cli", "sim", config, "--endpoints", str(endpoints)]
            process = subprocess.Popen([*command, *overrides(settings)], stderr=subprocess.DEVNULL)

            def end() -> None:
                process.terminate()
                process.wait()

            stack.callback(end)
            assert wait_for(lambda: endpoints.exists() or process.poll() is not None, READY_S)
            ports = json.loads(endpoints.read_text())
            return Wire(
                config, settings, endpoints, ports, stack.enter_context(ControlClient(ports["control"])), process.pid
            )

        yield serve


@pytest.fixture(scope="module")
def wire(serve) -> Wire:
    """The rig shared by the tests of a module: three RoboClaws on a bus, a relay board, NI inputs."""
    return serve("sim_wire", *SETTINGS)
