"""The impact trial as a state machine (MacMahon 2016, 6.2.4, with the cures of D.2): it decides what the rig does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import IntEnum

from hil.arming import Check
from hil.config import Config
from hil.control.wheel_speed import WheelSpeed
from hil.values import STILL, Estimate, Prediction, Request, Samples

# How long the rig stands armed before it moves [ns].
ARMED_NS = 50_000_000

Arm = Callable[[Samples, Estimate], Sequence[Check]]


class State(IntEnum):
    """Where a trial stands."""

    IDLE = 0
    ARMED = 1
    RUN_UP = 2
    IMPACT = 3
    SETTLE = 4
    DONE = 5
    ABORTED = 6


class Trial(ABC):
    """Decides what the rig does, tick by tick: what trials of all kinds have in common.

    Args:
        arm: makes the arming checks.
        drives_delay_ms: that the link to the drives is set to have, `links.drives_delay_ms`.

    Attributes:
        state: where it stands.
        checks: of arming, once that was tried.
    """

    def __init__(self, arm: Arm, drives_delay_ms: float = 0.0) -> None:
        self._arm = arm
        # a cut that is not confirmed by then is late, whatever the delay is set to: arming shows it
        self._late_ns = round(2.0 * drives_delay_ms * 1e6)
        self._since_ns = 0
        self.state = State.IDLE
        self.checks: Sequence[Check] = ()

    @property
    def over(self) -> bool:
        """Nothing more will happen."""
        return self.state in (State.DONE, State.ABORTED)

    @property
    def refused(self) -> bool:
        """Arming was tried and refused."""
        return any(not check.ok for check in self.checks)

    @abstractmethod
    def control(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Request:
        """What the rig should do in this tick."""

    def _armed_or_out(self, samples: Samples, estimate: Estimate, safe: bool) -> bool:
        """Whether this tick was decided by a fault, or by the channels having been zeroed: then arming is tried."""
        if safe and not self.over:
            self._enter(State.ABORTED, samples.t_ns)
        elif self.state is State.IDLE and estimate.zeroed and self._confirmed_or_late(samples):
            self.checks = self._arm(samples, estimate)
            self._enter(State.ABORTED if self.refused else State.ARMED, samples.t_ns)
        else:
            return False
        return True

    def _confirmed_or_late(self, samples: Samples) -> bool:
        """Whether the drives have confirmed their cut, or have had all the time they get to do so."""
        return samples.drives.acknowledged_ns >= 0 or samples.t_ns >= self._late_ns

    def _enter(self, state: State, t_ns: int) -> None:
        self.state, self._since_ns = state, t_ns


class ImpactTrial(Trial):
    """Idle until the sensors are zeroed, armed if every check passes, run up, cut at the impact, settle, done.

    Args:
        config: of the rig and the trial.
        arm: makes the arming checks.
    """

    def __init__(self, config: Config, arm: Arm) -> None:
        super().__init__(arm, config.links.drives_delay_ms)
        self._trial = config.trial
        self._wheels = WheelSpeed(config.wheel_radius_m, 1.0 / config.loop.rate_hz)
        self.impact_tick_ns: int | None = None
        self.timed_out = False
        self.hit_standing = False

    def control(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Request:
        """What the rig should do in this tick. In the tick of an impact, that is a cut."""
        t_ns = samples.t_ns
        if self._armed_or_out(samples, estimate, safe):
            pass
        elif self.state in (State.ARMED, State.RUN_UP) and estimate.impact_ns is not None:
            self.impact_tick_ns = t_ns
            self.hit_standing = self.state is State.ARMED
            self._enter(State.IMPACT, t_ns)
        elif self.state is State.ARMED and t_ns - self._since_ns >= ARMED_NS:
            self._enter(State.RUN_UP, t_ns)
        elif self.state is State.RUN_UP and t_ns - self._since_ns > self._trial.timeout_s * 1e9:
            self.timed_out = True
            self._enter(State.ABORTED, t_ns)
        elif self.state is State.IMPACT:
            self._enter(State.SETTLE, t_ns)
        elif self.state is State.SETTLE and t_ns - (self.impact_tick_ns or 0) >= self._trial.settle_s * 1e9:
            self._enter(State.DONE, t_ns)
        if self.state is not State.RUN_UP:
            return Request(self.state, True, STILL)
        ramp = min((t_ns - self._since_ns) * 1e-9 / self._trial.ramp_s, 1.0)
        return Request(self.state, False, self._wheels.speeds(ramp * self._trial.speed_mps, prediction))
