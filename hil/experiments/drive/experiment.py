"""Wheel speeds over time: the steps of the config, one after the other, each reached by a ramp."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import accumulate
from types import MappingProxyType

from hil.config import Config
from hil.config.schema.drive import DriveStepConfig
from hil.experiments.base import ArmingChecks, Experiment
from hil.messages.operator_input import SetPoint
from hil.messages.stages import Estimate, Goal, Prediction, Samples

# Time recorded after the last step, drives cut.
AFTER_NS = 500_000_000
# Part of the acceleration that the limiter allows: a loop that has lost ticks can catch up before the limiter clamps.
OF_ACCELERATION = 0.5


class State(IntEnum):
    """State of a drive; numbers as for the states of an impact trial."""

    IDLE = 0
    ARMED = 1
    DRIVE = 2
    SETTLE = 4
    DONE = 5
    ABORTED = 6


IDLE, ARMED, DRIVE, SETTLE, DONE, ABORTED = State  # faster in a tick, see hil.experiments.base


class DriveExperiment(Experiment):
    """Idle until armed, then the steps, then cut.

    An operator's set-points `speed_mps` and `turn_mps` replace those of the running step.

    Args: as `Experiment`, and:
        steps: parts of the drive; None: those of the config.
        after_ns: time recorded after the last step [ns].

    Attributes:
        step: the running step, counted from 0.
    """

    name = "drive"
    states = State
    set_points = MappingProxyType({"speed_mps": "m/s", "turn_mps": "m/s"})
    steady = True

    def __init__(
        self,
        config: Config,
        checks: ArmingChecks,
        *,
        attended: bool = False,
        steps: Sequence[DriveStepConfig] | None = None,
        after_ns: int = AFTER_NS,
    ) -> None:
        super().__init__(config, checks, attended=attended)
        self._steps, self._after_ns = config.drive.steps if steps is None else steps, after_ns
        self._ends_ns = [round(end * 1e9) for end in accumulate(step.for_s for step in self._steps)]
        self._sides = tuple(-1.0 if "left" in wheel else 1.0 for wheel in config.layout.wheels)
        self._radius_m = config.wheel_radius_m
        self._change = OF_ACCELERATION * config.limits.wheel_acceleration_radps2 / config.loop.rate_hz
        self._speeds = config.layout.zero_speeds
        self._wanted = dict.fromkeys(self.set_points, 0.0)
        self.step = -1

    def drive_speeds_mps(self) -> Sequence[float]:
        """The fastest straight step ahead, and the fastest back."""
        straight = [step.speed_mps for step in self._steps if step.turn_mps == 0.0]
        return sorted({max(straight, default=0.0), min(straight, default=0.0)} - {0.0})

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick."""
        t_ns, elapsed_ns = samples.t_ns, samples.t_ns - self._since_ns
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state == ARMED and self._may_start(samples):
            self._enter(DRIVE, t_ns)
            elapsed_ns = 0
        elif self.state == DRIVE and elapsed_ns >= self._ends_ns[-1]:
            self._enter(SETTLE, t_ns)
        elif self.state == SETTLE and elapsed_ns >= self._after_ns:
            self._enter(DONE, t_ns)
        if self.state != DRIVE:
            self._speeds = self.config.layout.zero_speeds
            return Goal(self.state, True, speed_radps=self._speeds)
        self._take_step(elapsed_ns)
        for command in samples.operator:
            if isinstance(command, SetPoint) and command.name in self._wanted:
                self._wanted[command.name] = command.value
        forward, turn = self._wanted["speed_mps"], self._wanted["turn_mps"]
        wanted = [(forward + side * turn) / self._radius_m for side in self._sides]
        change = self._change
        self._speeds = tuple(
            [last + min(max(new - last, -change), change) for new, last in zip(wanted, self._speeds, strict=True)]
        )
        return Goal(self.state, False, speed_radps=self._speeds)

    def _take_step(self, elapsed_ns: int) -> None:
        """Start the next step when the current one is over."""
        step = max(self.step, 0)
        while elapsed_ns >= self._ends_ns[step]:
            step += 1
        if step != self.step:
            self.step = step
            now = self._steps[step]
            self._wanted = {"speed_mps": now.speed_mps, "turn_mps": now.turn_mps}
