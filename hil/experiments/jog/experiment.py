"""One short motion of a rig: turn wheels, or power a valve."""

from __future__ import annotations

import math
from enum import IntEnum

from drivers.messages import ValveSet
from hil.config import Config
from hil.experiments.base import ArmingChecks, Experiment
from hil.messages.stages import ByWheel, Estimate, Goal, Prediction, Samples

# Time recorded after the motion, drives cut.
AFTER_NS = 500_000_000
# Part of the acceleration that the limiter allows: a loop that has lost ticks can catch up before the limiter clamps.
OF_ACCELERATION = 0.5


class State(IntEnum):
    """State of a jog; numbers as for the states of an impact trial."""

    IDLE = 0
    ARMED = 1
    MOVE = 2
    SETTLE = 4
    DONE = 5
    ABORTED = 6


IDLE, ARMED, MOVE, SETTLE, DONE, ABORTED = State  # faster in a tick, see hil.experiments.base


def wheel_speeds(config: Config) -> ByWheel:
    """Speed of each wheel from the config's section `jog` [rad/s]; a wheel at 0 is held at 0."""
    jog, radius_m = config.jog, config.rover.wheel_radius_m
    wanted = [wheel in jog.wheels or "all" in jog.wheels for wheel in config.layout.wheels]
    return tuple(jog.speed_mps / radius_m if turns else 0.0 for turns in wanted)


def powered_valves(config: Config) -> ValveSet:
    """The valve from the config's section `jog`; the wheels are cut while it is powered."""
    valve = config.jog.valve
    return tuple((f"{name}_extend" == valve, f"{name}_retract" == valve) for name in config.layout.cylinders)


class JogExperiment(Experiment):
    """Idle until the sensors are zeroed, armed if every check passes, then one motion, then cut.

    An impact ends it early. Speeds increase more slowly than the limits, so that the limiter has nothing to clamp.

    Args: as `Experiment`.

    Attributes:
        touched: an impact ended it early.
    """

    name = "jog"
    states = State

    def __init__(self, config: Config, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(config, checks, attended=attended)
        self._speeds, self._valves = wheel_speeds(config), powered_valves(config)
        self._duration_ns = config.jog.seconds * 1e9
        self._acceleration = OF_ACCELERATION * config.limits.wheel_acceleration_radps2
        self.touched = False

    @property
    def done(self) -> bool:
        """The motion was completed, without an impact."""
        return super().done and not self.touched

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick."""
        t_ns, elapsed_ns = samples.t_ns, samples.t_ns - self._since_ns
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state in (ARMED, MOVE) and estimate.impact_ns is not None:
            self.touched = True
            self._enter(SETTLE, t_ns)
        elif self.state == ARMED and self._may_start(samples):
            self._enter(MOVE, t_ns)
        elif self.state == MOVE and elapsed_ns >= self._duration_ns:
            self._enter(SETTLE, t_ns)
        elif self.state == SETTLE and elapsed_ns >= AFTER_NS:
            self._enter(DONE, t_ns)
        if self.state != MOVE:
            return Goal(self.state, True)
        reach = self._acceleration * (t_ns - self._since_ns) * 1e-9
        speeds = tuple([math.copysign(min(abs(speed), reach), speed) for speed in self._speeds])
        return Goal(self.state, not any(self._speeds), speed_radps=speeds, valves=self._valves)
