"""One tick: sample, estimate, predict, check, decide, control, limit, command, record.

This is the core of the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hil.control.base import Controller
from hil.estimation.estimator import Estimator
from hil.estimation.twin import RoverTwin
from hil.messages.stages import Estimate, Goal, Prediction, Samples, StageTimer, Tick
from hil.recording.tick_logger import TickLogger
from hil.runtime.rig_io import RigIO
from hil.safety.limiter import Limiter
from hil.safety.monitor import SafetyMonitor


class _DecideStage(Protocol):
    """The part of an experiment that a tick uses (`hil.experiments.base.Experiment`)."""

    @property
    def over(self) -> bool:
        """Whether the experiment has ended."""

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:
        """The goal of this tick."""


@dataclass(frozen=True)
class Cycle:
    """The stages of a tick, in this order; each passes one frozen value to the next."""

    rig_io: RigIO
    estimator: Estimator
    twin: RoverTwin
    safety: SafetyMonitor
    experiment: _DecideStage
    controller: Controller
    limiter: Limiter
    tick_logger: TickLogger

    def run(self, tick: Tick) -> None:
        """Run all stages, from the samples to the command. An exception here leads to Safe (hil.runtime.loop)."""
        timer = StageTimer(tick)
        samples = timer.timed(self.rig_io.sample(tick.t_ns))
        estimate = timer.timed(self.estimator.estimate(samples))
        prediction = timer.timed(self.twin.predict(samples, estimate))
        self.safety.check(tick.number, samples, estimate, prediction)
        timer.end_stage()
        goal = timer.timed(self.experiment.decide(samples, estimate, prediction, self.safety.safe))
        set_points = timer.timed(self.controller.control(goal, samples, estimate, prediction))
        command = timer.timed(self.limiter.check(tick, set_points, samples.servos))
        self.rig_io.command(tick.t_ns, command)
        self.safety.record_command(tick.t_ns, command)
        timer.end_stage()
        self.tick_logger.record(tick, samples, estimate, prediction, command)
        timer.end_stage()
        self.tick_logger.timing(tick, timer)
