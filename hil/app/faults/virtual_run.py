"""A run in virtual time that a test can disturb at any time."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from drivers.sim.virtual.schedule import Actor
from hil.app.backends import RealtimeBackend
from hil.app.faults.case import Case
from hil.app.resident import Resident
from hil.app.run_loop import Signals, run_loop
from hil.app.virtual import VirtualComputer
from hil.config.rig import Rig
from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_types import START
from hil.realtime import RightsWanted

# Longer than any run, including the end of all its workers [s].
LONGEST_S = 300.0


class VirtualRun:
    """A run of a config with `rig: simulated_wire`, completely in this process and in virtual time.

    The loop is an actor. The caller runs in parallel with it, and can act at any time of the run.

    Args:
        folder: of the run; exists and is empty.
        scratch: folder for the memory of the simulated rig; exists and is empty.
        more: folders of further runs on the same rig, each existing and empty.
        between: called between two runs, while the rig is held; time that it waits passes there.

    Attributes:
        computer: in virtual time; its clock, ports and network, the simulated rig and the workers are `host`,
            `simulated_rig` and `processes`.
        ask: sends the simulated rig a command; raises DeviceError.
        sleep: lets virtual time pass.
        rig: as `hil.app.run.open_backend` returns it, once it is ready.
        error: the exception that ended the run, if any.
    """

    def __init__(
        self,
        described: Rig,
        folder: Path,
        scratch: Path,
        *,
        attended: bool = False,
        more: Sequence[Path] = (),
        between: Callable[[Any], None] = lambda _: None,
    ) -> None:
        self._described, self._folder, self._attended = described, folder, attended
        self._more, self._between = more, between
        self.computer = computer = VirtualComputer(described, scratch, self.kill_loop)
        self.time, self.host = computer.time, computer.host
        self.simulated_rig, self.processes = computer.rig, computer.processes
        self.ask, self.sleep = self.simulated_rig.ask, self.host.sleep
        self.rig: RealtimeBackend | None = None
        self.shared: RunMemory | None = None
        self.error: Exception | None = None
        self.over = False
        self._main = self.time.current
        self.loop: Actor = self.time.start("loop", self._run)

    @property
    def start_ns(self) -> int | None:
        """T = 0 of the run on the virtual clock [ns]; None before it."""
        start = np.zeros(1, START)
        begun = self.shared is not None and self.shared.start.read(start) > 0
        return int(start["start_ns"][0]) or None if begun else None

    def until(self, t_s: float) -> bool:
        """Wait for a time of the run [s], or for its end. False: it is over."""
        while self.start_ns is None and not self.over:
            self.host.sleep(0.001)
        if self.start_ns is not None and not self.over:
            self.time.wait(self.start_ns + round(t_s * 1e9), lambda: self.over)
        return not self.over

    def finish(self) -> None:
        """Wait for the end of the run and of all its workers. Raises the exception that ended the run, if any."""
        self.time.wait(self.time.now_ns + round(LONGEST_S * 1e9), lambda: self.over)
        for process in self.processes.by_name.values():
            process.status(LONGEST_S)
        if self.error is not None:
            raise self.error

    def kill_loop(self) -> None:
        """SIGKILL of the loop process: the kernel asks its workers to end."""
        self.time.kill(self.loop)
        self.processes.orphan()
        self._ended()

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send SIGKILL, SIGSTOP or SIGCONT to the loop or a worker, by its name."""
        if number == signal.SIGKILL:
            (self.kill_loop if name == "loop" else self.processes.by_name[name].kill)()
            return
        actor = self.loop if name == "loop" else self.processes.by_name[name].actor
        assert actor is not None
        (self.time.stop if number == signal.SIGSTOP else self.time.go_on)(actor)

    def suspend(self, seconds: float) -> None:
        """Have been suspended for so long [s]: the computer's clock stood still, and all processes with it."""
        self.computer.suspended_ns += round(seconds * 1e9)

    def slow_disk(self, flush_s: float) -> None:
        """Have each flush of the record take so long from now on [s]."""
        self.processes.flush_s = flush_s

    def close(self) -> None:
        """End everything; may be called twice."""
        self.computer.close()
        if self.shared is not None:
            self.shared.close()
            self.shared = None

    def _run(self) -> None:
        try:
            with ExitStack() as stack:
                self.rig = RealtimeBackend(
                    self._described, self._folder, lambda _: None, stack, attended=self._attended,
                    platform=self.computer.platform,
                )  # fmt: skip
                self.shared = self.rig.shared
                resident = Resident(self._described, self.rig, Signals(), lambda _: None)
                self._run_once(resident, self._folder)
                for folder in self._more:
                    self._between(self)
                    resident.next_run(folder)
                    self._run_once(resident, folder)
        except Exception as error:
            self.error = error
        self._ended()

    def _run_once(self, resident: Resident, folder: Path) -> None:
        assert self.rig is not None
        wall_s = run_loop(self.rig, Signals(), lambda _: None, wanted=RightsWanted())
        resident.conclude(folder, wall_s, figure=False)

    def _ended(self) -> None:
        self.over = True
        self.time.wake(self._main)


@contextmanager
def temporary_run(case: Case) -> Iterator[tuple[VirtualRun, Path]]:
    """The run of a case and its folder; both are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hil-faults-") as place:
        (folder := Path(place) / "run").mkdir()
        (scratch := Path(place) / "rig").mkdir()
        with closing(VirtualRun(Rig(case.config), folder, scratch)) as run:
            yield run, folder
