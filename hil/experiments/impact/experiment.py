"""The impact trial as a state machine (MacMahon 2016, 6.2.4, with the cures of D.2)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from hil.config import Config
from hil.control.wheel_speed import WheelSpeed
from hil.experiments.base import ArmingChecks, Experiment
from hil.experiments.impact.obstacle_frame import LARGEST_ANGLE_DEG, LEAST_ANGLE_DEG
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from hil.safety.arming import Check


class State(IntEnum):
    """Where a trial stands."""

    IDLE = 0
    ARMED = 1
    RUN_UP = 2
    IMPACT = 3
    SETTLE = 4
    DONE = 5
    ABORTED = 6


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

    def own_checks(self, samples: Samples, estimate: Estimate) -> Sequence[Check]:  # noqa: ARG002
        """On a real rig, the obstacle stands at an angle at which an impact can be measured."""
        if self.config.rig != "real":
            return ()
        found = self._trial.angle_deg
        allowed = f"{LEAST_ANGLE_DEG:g} to {LARGEST_ANGLE_DEG:g} deg: under that it meets a wheel too near the ground"
        return (Check("obstacle angle", found >= LEAST_ANGLE_DEG, f"{found:g} deg", allowed),)

    def controller(self) -> WheelSpeed:
        """Forward speed, slip made up for."""
        return WheelSpeed(self.config.wheel_radius_m, 1.0 / self.config.loop.rate_hz)

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """What is wanted in this tick. In the tick of an impact, that is a cut."""
        t_ns = samples.t_ns
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state in (State.ARMED, State.RUN_UP) and estimate.impact_ns is not None:
            self.impact_tick_ns = t_ns
            self.hit_standing = self.state == State.ARMED
            self._enter(State.IMPACT, t_ns)
        elif self.state == State.ARMED and self._may_start(samples):
            self._enter(State.RUN_UP, t_ns)
        elif self.state == State.RUN_UP and t_ns - self._since_ns > self._trial.timeout_s * 1e9:
            self.timed_out = True
            self._enter(State.ABORTED, t_ns)
        elif self.state == State.IMPACT:
            self._enter(State.SETTLE, t_ns)
        elif self.state == State.SETTLE and t_ns - (self.impact_tick_ns or 0) >= self._trial.settle_s * 1e9:
            self._enter(State.DONE, t_ns)
        if self.state != State.RUN_UP:
            return Goal(self.state, True)
        ramp = min((t_ns - self._since_ns) * 1e-9 / self._trial.ramp_s, 1.0)
        return Goal(self.state, False, ramp * self._trial.speed_mps)
