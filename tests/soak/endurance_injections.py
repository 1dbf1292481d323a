"""The faults that `tests/soak/endurance.py` injects, and the process that injects them.

It is a process of its own: a thread in the loop's process would keep the loop waiting for the interpreter's lock.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from ctypes import c_int64
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import endurance_disk
import numpy as np

from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_types import START
from hil.messages.fault import Fault
from hil.simulator.control_socket import ControlClient

INJECT_AFTER_S = 2.5
BACK_AFTER_S = 1.0
LOOK_S = 0.05
# A computer is suspended for so long, all of its processes stand still for so long, the loop a moment longer than the
# others, and for so long they run half of the time, in turns of so long.
SUSPENDED_NS = 3_000_000_000
STALLED_S, LOOP_LATER_S = 2.0, 0.05
SLOWED_S, TURN_S = 2.0, 0.01


@dataclass(frozen=True)
class Round:
    """What a fault is injected into: the rig, the disk of its records, and the computer.

    Attributes:
        suspended_ns: how far the loop's CLOCK_BOOTTIME is ahead of the real one.
    """

    control: ControlClient
    disk: Path
    suspended_ns: c_int64


Act = Callable[[Round], None]


@dataclass(frozen=True)
class Injection:
    """A fault to be injected, and the faults that tell of it.

    Attributes:
        passes: a run may be accepted all the same: the rig was in time.
    """

    name: str
    expected: frozenset[Fault]
    act: Act
    mend: Act = lambda _: None
    passes: bool = False


def _device(device: str, kind: str, **how: Any) -> Act:
    return lambda made: made.control.ask("inject_fault", device=device, kind=kind, **how) and None


def _press(pressed: bool) -> Act:
    return lambda made: made.control.ask("e_stop", device="daq", pressed=pressed) and None


def _suspend(made: Round) -> None:
    """For a suspended computer CLOCK_MONOTONIC stands still and CLOCK_BOOTTIME does not; no process sees more of it."""
    made.suspended_ns.value += SUSPENDED_NS


def _stall(_: Round) -> None:
    """All processes stand still; the loop goes on last, so that the others act on its silence first."""
    loop = os.getppid()
    try:
        _signal_all(signal.SIGSTOP)
        time.sleep(STALLED_S)
    finally:
        _signal_all(signal.SIGCONT, but=loop)
        time.sleep(LOOP_LATER_S)
        os.kill(loop, signal.SIGCONT)


def _slow(_: Round) -> None:
    """All processes run half of the time."""
    until = time.monotonic() + SLOWED_S
    try:
        while time.monotonic() < until:
            _signal_all(signal.SIGSTOP)
            time.sleep(TURN_S)
            _signal_all(signal.SIGCONT)
            time.sleep(TURN_S)
    finally:
        _signal_all(signal.SIGCONT)


def _signal_all(number: int, but: int = 0) -> None:
    """Send a signal to the process that has started this one, and to all that it has started but this one."""
    for process in _tree(os.getppid()):
        if process not in (but, os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(process, number)


def _tree(process: int) -> Iterator[int]:
    """A process, and all that it and they have started."""
    yield process
    for thread in Path(f"/proc/{process}/task").glob("*"):
        with suppress(OSError):
            for child in (thread / "children").read_text().split():
                yield from _tree(int(child))


LOST = frozenset({Fault.LINK_LOST, Fault.PROCESS_LOST, Fault.SENSOR_STALE})
# The loop's own word, or of the process that is the first to miss something.
LATE = LOST | {Fault.LOOP_LATE, Fault.DEAD_MAN_ACTED, Fault.SENSOR_DROPOUT, Fault.SAMPLES_LOST}
INJECTIONS = (
    Injection("drives unplugged, back", LOST, _device("roboclaw", "disconnect"), _device("roboclaw", "reconnect")),
    Injection("valves unplugged, back", LOST, _device("modbus", "disconnect"), _device("modbus", "reconnect")),
    Injection("drives silent, back", LOST, _device("roboclaw", "off"), _device("roboclaw", "reconnect")),
    Injection("drives' answers damaged", LOST | {Fault.FRAMES_DAMAGED},
              _device("roboclaw", "garbage", count=100_000, every=1), _device("roboclaw", "reconnect")),
    Injection("samples lost", frozenset({Fault.SAMPLES_LOST, Fault.SENSOR_DROPOUT, Fault.LINK_LOST}),
              _device("daq", "error", code=-200279), _device("daq", "reconnect")),
    Injection("emergency stop", frozenset({Fault.STOP_BY_OPERATOR}), _press(True), _press(False)),
    Injection("computer suspended", frozenset({Fault.COMPUTER_SUSPENDED}), _suspend),
    Injection("computer stalled", LATE, _stall),
    Injection("computer slowed", LATE, _slow, passes=True),
)  # fmt: skip
DISK_FULL = Injection(
    "disk full",
    frozenset({Fault.DISK_FULL}),
    lambda made: endurance_disk.fill(made.disk),
    lambda made: endurance_disk.make_room(made.disk),
)


class Injector:
    """Injects faults in the middle of runs.

    Args:
        control: control socket of the simulated rig.
        disk: of the records.

    Attributes:
        suspended_ns: as of `Round`.
    """

    def __init__(self, control: str, disk: Path) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self.suspended_ns = spawn.RawValue(c_int64)
        self._process = spawn.Process(target=_serve, args=(theirs, control, disk, self.suspended_ns), daemon=True)
        self._process.start()
        theirs.close()

    def begin(self, injection: Injection | None, run: Path) -> None:
        """A run begins, whose folder this is; None: it is left alone."""
        self._pipe.send(("" if injection is None else injection.name, run))

    def end(self) -> int | None:
        """The run is over: mend what was done. Returns when that was [ns of the run]; None: nothing was injected."""
        self._pipe.send(None)
        injected_ns: int | None = self._pipe.recv()
        return injected_ns

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join()


def _serve(pipe: Connection, control: str, disk: Path, suspended_ns: c_int64) -> None:
    by_name = {one.name: one for one in (*INJECTIONS, DISK_FULL)}
    with ControlClient(control) as client:
        made = Round(client, disk, suspended_ns)
        while True:
            try:
                name, run = pipe.recv()
                injection, injected_ns = by_name.get(name), None
                if injection is not None and (start_ns := _middle_of(pipe, run)):
                    injected_ns = time.monotonic_ns() - start_ns
                    injection.act(made)
                pipe.recv()
            except EOFError:
                return
            if injection is not None and injected_ns is not None:
                time.sleep(BACK_AFTER_S)
                injection.mend(made)
            pipe.send(injected_ns)


def _middle_of(pipe: Connection, run: Path) -> int | None:
    """Wait for the middle of a run. Returns its start [ns of CLOCK_MONOTONIC]; None: it has ended before."""
    start = np.zeros(1, START)
    with closing(RunMemory(run)) as shared:
        shared.leave()
        while not start["start_ns"][0]:  # of the run before there is none any more
            if pipe.poll(LOOK_S):
                return None
            shared.start.read(start)
    return None if pipe.poll(INJECT_AFTER_S) else int(start["start_ns"][0])
