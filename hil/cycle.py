"""One tick: sample, estimate, predict, check, decide, control, limit, command, record.

Read this and you know the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hil.control.base import Controller
from hil.devices import Devices
from hil.estimate.estimator import Estimator
from hil.estimate.twin import RoverTwin
from hil.limiter import Limiter
from hil.safety import Safety
from hil.scribe import Scribe
from hil.values import Estimate, Goal, Laps, Prediction, Samples, Tick


class DecideStage(Protocol):
    """The experiment, as a tick sees it (`hil.experiments.base.Experiment`)."""

    @property
    def over(self) -> bool:
        """Nothing more will happen."""

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:
        """What is wanted in this tick."""


@dataclass(frozen=True)
class Cycle:
    """The stages that a tick passes through, in this order; each hands one frozen value to the next."""

    devices: Devices
    estimator: Estimator
    twin: RoverTwin
    safety: Safety
    experiment: DecideStage
    controller: Controller
    limiter: Limiter
    scribe: Scribe

    def run(self, tick: Tick) -> None:
        """Take one sample of the rig all the way to a command. An exception here ends in Safe (hil.loop)."""
        laps = Laps(tick)
        samples = laps.of(self.devices.sample(tick.t_ns))
        estimate = laps.of(self.estimator.estimate(samples))
        prediction = laps.of(self.twin.predict(samples, estimate))
        self.safety.watch(tick.number, samples, estimate, prediction)
        laps.end()
        goal = laps.of(self.experiment.decide(samples, estimate, prediction, self.safety.safe))
        set_points = laps.of(self.controller.control(goal, samples, prediction))
        command = laps.of(self.limiter.check(tick, set_points))
        self.devices.command(tick.t_ns, command)
        self.safety.heed(tick.t_ns, command)
        laps.end()
        self.scribe.record(tick, samples, estimate, prediction, command)
        laps.end()
        self.scribe.timing(tick, laps)
