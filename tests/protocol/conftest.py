"""Trials at the protocol level in virtual time, each with a fault in the middle.

Nothing here depends on the machine's speed: times are virtual, the same on every machine, and so are their bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hil.app.virtual.run import VirtualRun
from hil.config import load_config

# The wheels run from 0.3 s on and touch at 1.2 s; faults are injected between these times.
MOMENT_S = 0.5
QUIET = ("telemetry.endpoint=''",)
SETTINGS = (
    *QUIET, "trial.start_distance_m=0.06", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5",
    "devices.daq.e_stop=cDAQ1Mod4/port0/line0",
)  # fmt: skip


class Running(VirtualRun):
    """A run in progress, and ways to disturb it."""

    def inject_fault(self, device: str, kind: str, **how) -> None:
        """Inject a fault of a device."""
        self.simulated_rig.ask("inject_fault", device=device, kind=kind, **how)

    def press(self, device: str, pressed: bool = True) -> None:
        """Press or release an emergency stop."""
        self.simulated_rig.ask("e_stop", device=device, pressed=pressed)

    def kill(self, name: str) -> None:
        """SIGKILL of a worker."""
        self.processes.by_name[name].kill()

    def stop(self, name: str) -> None:
        """SIGSTOP of a worker."""
        self.time.stop(self.processes.by_name[name].actor)


Act = Callable[[Running], None]


@pytest.fixture
def trial(tmp_path, finished_trial) -> Callable[..., Any]:
    """Run a trial and disturb it in the middle."""
    runs: list[Running] = []

    def trial(
        act: Act | None = None,
        *settings: str,
        at_s: float = MOMENT_S,
        config: str = "sim_wire",
        attended: bool = False,
        again: int = 0,
        between: Act = lambda _: None,
    ) -> Any:
        effective = load_config(config, [*(SETTINGS if config == "sim_wire" else QUIET), *settings])
        folder, scratch = tmp_path / f"run_{len(runs)}", tmp_path / f"rig_{len(runs)}"
        folder.mkdir()
        scratch.mkdir()
        more = [tmp_path / f"run_{len(runs)}_{number + 2}" for number in range(again)]
        for one in more:
            one.mkdir()
        run = Running(effective, folder, scratch, attended=attended, more=more, between=between)
        runs.append(run)
        done = finished_trial(run.simulated_rig.ask, folder, run, more)
        if act is not None and run.until(at_s):
            done.acted_ns = run.time.now_ns
            act(run)
        try:
            run.finish()
        except Exception as error:
            done.error = error
        done.start_ns = run.start_ns
        if run.rig is not None:
            done.events, done.stopped_ns = list(run.rig.cycle.safety.events), run.rig.cycle.tick_logger.stopped_ns
        if run.shared is not None:
            done.take_healths(run.shared)
        return done

    yield trial
    for run in runs:
        run.close()
