"""The impact trial as a state machine (MacMahon 2016, 6.2.4, with the cures of D.2)."""

from __future__ import annotations

from enum import IntEnum

from hil.config import Config
from hil.control.wheel_speed import WheelSpeed
from hil.experiments.base import ArmingChecks, Experiment
from hil.messages.stages import Estimate, Goal, Prediction, Samples


class State(IntEnum):
    """Where a trial stands."""

    IDLE = 0
    ARMED = 1
    RUN_UP = 2
    IMPACT = 3
    SETTLE = 4
    DONE = 5
    ABORTED = 6


IDLE, ARMED, RUN_UP, IMPACT, SETTLE, DONE, ABORTED = State  # faster in a tick, see hil.experiments.base


class ImpactExperiment(Experiment):
    """Idle until the sensors are zeroed, armed if every check passes, run up, cut at the impact, settle, done.

    Args: as `Experiment`.

    Attributes:
        impact_tick_ns: time of the tick that reacted to the impact [ns]; None: there was none.
        timed_out: there was none in time.
        hit_standing: it came before the run-up.
    """

    name = "impact"
    states = State

    def __init__(self, config: Config, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(config, checks, attended=attended)
        self._trial = config.trial
        self.impact_tick_ns: int | None = None
        self.timed_out = False
        self.hit_standing = False

    def controller(self) -> WheelSpeed:
        """Forward speed, slip made up for."""
        return WheelSpeed(self.config.wheel_radius_m, 1.0 / self.config.loop.rate_hz)

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """What is wanted in this tick. In the tick of an impact, that is a cut."""
        t_ns = samples.t_ns
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state in (ARMED, RUN_UP) and estimate.impact_ns is not None:
            self.impact_tick_ns = t_ns
            self.hit_standing = self.state == ARMED
            self._enter(IMPACT, t_ns)
        elif self.state == ARMED and self._may_start(samples):
            self._enter(RUN_UP, t_ns)
        elif self.state == RUN_UP and t_ns - self._since_ns > self._trial.timeout_s * 1e9:
            self.timed_out = True
            self._enter(ABORTED, t_ns)
        elif self.state == IMPACT:
            self._enter(SETTLE, t_ns)
        elif self.state == SETTLE and t_ns - (self.impact_tick_ns or 0) >= self._trial.settle_s * 1e9:
            self._enter(DONE, t_ns)
        if self.state != RUN_UP:
            return Goal(self.state, True)
        ramp = min((t_ns - self._since_ns) * 1e-9 / self._trial.ramp_s, 1.0)
        return Goal(self.state, False, ramp * self._trial.speed_mps)
