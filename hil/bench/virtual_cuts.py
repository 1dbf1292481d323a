"""Cuts through real drivers and simulated devices in virtual time: what bytes and periods alone take."""

from __future__ import annotations

import random
import tempfile
from contextlib import ExitStack
from pathlib import Path

from hil.app.backends import RealtimeBackend
from hil.app.run_loop import Signals, run_loop
from hil.app.virtual.computer import VirtualComputer
from hil.bench.impact_injector import AFTER
from hil.bench.impacts import RepeatedImpacts
from hil.config import Config
from hil.config.rig import Rig
from hil.experiments.base import ArmingChecks
from hil.realtime import RightsWanted
from hil.recording.cut_times import CutTimes

# A step of a sensor begins so long after the wheels, at a random time of a spread that holds every place in a block and
# in a round of the drives; its end, in the pause after the cut [ns].
BEGINS_NS, SPREAD_NS, ENDS_NS = 100_000_000, 60_000_000, 80_000_000
# An impact and its pause take less than so long [s].
SECONDS_A_CUT = 2.0


def virtual_cuts(config: Config, events: int, step_V: float, seed: int = 1) -> list[CutTimes]:
    """Inject impacts into one run in virtual time, at random times.

    Args:
        config: with `rig: simulated_wire` and `clock: lockstep`; its rover does not reach the obstacle.
        events: how many.
        step_V: of the first channel [V].
        seed: of the times.

    Returns:
        Their cuts; fewer than `events` if the run ended early.
    """
    speeds = tuple(config.trial.speed_mps / radius_m for radius_m in config.wheel_radii_m)
    chance, trials = random.Random(seed), list[RepeatedImpacts]()

    def make(rig: Rig, checks: ArmingChecks) -> RepeatedImpacts:
        trials.append(RepeatedImpacts(events, speeds, SECONDS_A_CUT * events, rig, checks))
        return trials[0]

    with Signals() as signals, ExitStack() as stack:
        folder, scratch = (Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2))
        computer = VirtualComputer(config, scratch, lambda: None)
        stack.callback(computer.close)

        def step() -> None:
            computer.rig.ask("step", channel=config.layout.channels[0], volts=step_V, after=chance.randrange(AFTER))

        def end_step() -> None:
            computer.rig.ask("clear_steps")

        def inject() -> None:
            begins_ns = computer.time.now_ns + BEGINS_NS + chance.randrange(SPREAD_NS)
            computer.time.call_at(begins_ns, step)
            computer.time.call_at(begins_ns + ENDS_NS, end_step)

        backend = RealtimeBackend(config, folder, lambda _: None, stack, make=make, platform=computer.platform)
        (trial,) = trials
        trial.reset, trial.driving = backend.cycle.estimator.reset, inject
        run_loop(backend, signals, lambda _: None, wanted=RightsWanted())
    return trial.found
