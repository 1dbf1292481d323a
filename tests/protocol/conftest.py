"""Trials at the protocol level in virtual time, with something going wrong in the middle of each.

Nothing here waits for the machine: times are virtual, the same on every machine, and so are bounds on them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from hil.app.build import MakeExperiment
from hil.app.virtual.run import VirtualRun
from hil.config import load_config
from hil.links.rows import HEALTH
from hil.links.shared import LINKS
from hil.safety import Event, Fault

MS = 1_000_000
# The wheels run from 0.3 s on and touch at 1.7 s; what goes wrong does so well between.
MOMENT_S = 0.7
SETTINGS = (
    "trial.start_distance_m=0.1", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
    "telemetry.endpoint=''", "devices.daq.e_stop=cDAQ1Mod4/port0/line0",
)  # fmt: skip


class Running(VirtualRun):
    """A run that is under way: what may be done to it."""

    def inject_fault(self, device: str, kind: str, **how) -> None:
        """Have a device do so."""
        self.far_end.ask("inject_fault", device=device, kind=kind, **how)

    def press(self, device: str, pressed: bool = True) -> None:
        """Press an emergency stop, or let it go."""
        self.far_end.ask("e_stop", device=device, pressed=pressed)

    def kill(self, name: str) -> None:
        """SIGKILL of a worker."""
        self.processes.by_name[name].kill()

    def stop(self, name: str) -> None:
        """SIGSTOP of a worker."""
        self.time.stop(self.processes.by_name[name].actor)


@dataclass
class Trial:
    """A trial that is over.

    Attributes:
        start_ns: its t = 0 [ns of the virtual clock].
        acted_ns: when something was made to go wrong [ns of the same].
        events: faults that it latched.
        healths: newest of each link, rows of HEALTH.
        stopped_ns: when all drives had been told to stop after the impact [ns of the run]; None: there was none.
        error: what kept it from beginning or from ending well.
    """

    run: Running
    folder: Path
    start_ns: int | None = None
    acted_ns: int = 0
    events: list[Event] = field(default_factory=list)
    healths: dict[str, np.void] = field(default_factory=dict)
    stopped_ns: int | None = None
    error: Exception | None = None

    @property
    def faults(self) -> list[Fault]:
        return [event.fault for event in self.events]

    def noticed_ms(self, fault: Fault) -> float:
        """From the act to the tick that a fault was noticed in [ms]."""
        (event,) = (event for event in self.events if event.fault is fault)
        return (self.start_ns + event.t_ns - self.acted_ns) / MS

    def all_seen(self, what: str, device: str = "roboclaw") -> list[tuple[int, int]]:
        """What the controllers of a bus saw themselves: addresses, and when [ns]."""
        return self.run.far_end.ask("stops", device=device)[what]

    def seen_ms(self, what: str, device: str = "roboclaw") -> dict[int, float]:
        """The same since the act: by address, when first [ms after the act]."""
        found: dict[int, float] = {}
        for address, at_ns in self.all_seen(what, device):
            if at_ns >= self.acted_ns:
                found.setdefault(address, (at_ns - self.acted_ns) / MS)
        return found

    def runs_at_the_end(self, device: str = "roboclaw") -> set[int]:
        """Controllers whose newest start has no stop after it, by a command or by their own time-out."""
        starts, stops = dict(self.all_seen("starts", device)), {}
        for address, at_ns in [*self.all_seen("stops", device), *self.all_seen("timeouts", device)]:
            stops[address] = max(at_ns, stops.get(address, 0))
        return {address for address, at_ns in starts.items() if at_ns > stops.get(address, 0)}


Act = Callable[[Running], None]


@pytest.fixture
def trial(tmp_path) -> Callable[..., Trial]:
    """Makes a trial and does something in the middle of it."""
    runs: list[Running] = []

    def trial(
        act: Act | None = None, *settings: str, at_s: float = MOMENT_S, make: MakeExperiment | None = None
    ) -> Trial:
        config = load_config("sim_wire", [*SETTINGS, *settings])
        folder, scratch = tmp_path / f"run_{len(runs)}", tmp_path / f"rig_{len(runs)}"
        folder.mkdir()
        scratch.mkdir()
        run = Running(config, folder, scratch, make)
        runs.append(run)
        done = Trial(run, folder)
        if act is not None and run.until(at_s):
            done.acted_ns = run.time.now_ns
            act(run)
        try:
            run.finish()
        except Exception as error:
            done.error = error
        done.start_ns = run.start_ns
        if run.rig is not None:
            done.events, done.stopped_ns = list(run.rig.cycle.safety.events), run.rig.cycle.scribe.stopped_ns
        for name in LINKS if run.shared is not None else ():
            row = np.zeros(1, HEALTH)
            run.shared.healths[name].read(row)
            done.healths[name] = row[0]
        return done

    yield trial
    for run in runs:
        run.close()
    runs.clear()
    gc.collect()  # a run has cycles, and 130 mapped files: a few of them would use up this process's descriptors
