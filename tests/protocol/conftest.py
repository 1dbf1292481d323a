"""Trials at the protocol level in virtual time, each with a fault in the middle.

Nothing here depends on the machine's speed: times are virtual, the same on every machine, and so are their bounds.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from hil.app.faults.case import Case
from hil.app.faults.judge import judge
from hil.app.faults.protocol_cases import MOMENTS_S, SETTINGS, observed, protocol_cases
from hil.app.faults.virtual_run import VirtualRun
from hil.config import load_config
from hil.config.rig import Rig

MOMENT_S = MOMENTS_S["run_up"]
QUIET = ("telemetry.endpoint=''",)


class Running(VirtualRun):
    """A run in progress, and ways to disturb it."""

    def inject_fault(self, device: str, kind: str, **how) -> None:
        """Inject a fault of a device."""
        self.ask("inject_fault", device=device, kind=kind, **how)

    def kill(self, name: str) -> None:
        """SIGKILL of a worker."""
        self.signal(name, signal.SIGKILL)


Act = Callable[[Running], None]


@cache
def case_of(device: str, kind: str) -> Case:
    """The case of the table in the run-up."""
    (case,) = (case for case in protocol_cases() if (case.device, case.kind, case.state) == (device, kind, "run_up"))
    return case


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
        run = Running(Rig(effective), folder, scratch, attended=attended, more=more, between=between)
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


@pytest.fixture
def injected(trial) -> Callable[..., Any]:
    """Make the run of a case of the fault table; what must come of it has come of it."""

    def injected(device: str, kind: str, *more: Act) -> Any:
        case = case_of(device, kind)

        def act(run: Running) -> None:
            for step in (*case.act, *more):
                step(run)

        done = trial(act)
        outcome = judge(observed(done.run, case, done.folder, done.acted_ns), case.expected)
        assert outcome.wrong == ()
        return done

    return injected
