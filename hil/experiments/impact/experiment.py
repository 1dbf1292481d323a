"""The impact trial as a state machine (MacMahon 2016, 6.2.4, with the cures of D.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum

from hil.config import Config
from hil.control.wheel_speed import WheelSpeed
from hil.experiments.base import ArmingChecks, Experiment
from hil.experiments.impact.limits import impact_checks
from hil.experiments.impact.release import Release
from hil.messages.check import Check
from hil.messages.stages import Estimate, Goal, Prediction, Samples

# Mean speed of the back-and-forth that de-stresses the legs, as a share of the trial's speed; then a rest [ns].
DESTRESS_SHARE = 0.5
REST_NS = 1_000_000_000


class State(IntEnum):
    """Where a trial stands."""

    IDLE = 0
    ARMED = 1
    RUN_UP = 2
    IMPACT = 3
    SETTLE = 4
    DONE = 5
    ABORTED = 6
    DESTRESS = 7


IDLE, ARMED, RUN_UP, IMPACT, SETTLE, DONE, ABORTED, DESTRESS = State  # faster in a tick, see hil.experiments.base


class ImpactExperiment(Experiment):
    """Idle until the sensors are zeroed, armed if every check passes, run up, cut at the impact, settle, done.

    The cut comes by `trial.release`; the drives of a release that is not automatic go on through the impact. With
    `trial.destress_m` the rover rolls back and forth before the run-up.

    Args: as `Experiment`.

    Attributes:
        impact_tick_ns: time of the tick that reacted to the impact [ns]; None: there was none.
        released_ns: time of the tick that cut the drives, by the release [ns]; None: none did.
        timed_out: there was no impact in time.
        hit_standing: it came before the run-up.
    """

    name = "impact"
    states = State

    def __init__(self, config: Config, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(config, checks, attended=attended)
        self._trial, self._release = config.trial, Release(config)
        self._began_ns = 0  # of the run-up
        self._destress_ns = round(destress_s(config) * 1e9)
        self.impact_tick_ns: int | None = None
        self.released_ns: int | None = None
        self.timed_out = False
        self.hit_standing = False

    def drive_speeds_mps(self) -> Sequence[float]:
        """Of the run-up."""
        return (self._trial.speed_mps,)

    def own_checks(self) -> Sequence[Check]:
        """Speed, obstacle and predicted force."""
        return impact_checks(self.config)

    def controller(self) -> WheelSpeed:
        """Forward speed, slip made up for."""
        return WheelSpeed(self.config.wheel_radius_m, 1.0 / self.config.loop.rate_hz)

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """What is wanted in this tick. With the automatic release, in the tick of an impact that is a cut."""
        t_ns = samples.t_ns
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state in (ARMED, DESTRESS, RUN_UP) and estimate.impact_ns is not None:
            self.impact_tick_ns = t_ns
            self.hit_standing = self.state != RUN_UP
            self._enter(IMPACT, t_ns)
        elif self.state == ARMED and self._may_start(samples):
            self._enter(DESTRESS if self._destress_ns else RUN_UP, t_ns)
            self._began_ns = t_ns
        elif self.state == DESTRESS and t_ns - self._since_ns >= self._destress_ns + REST_NS:
            self._enter(RUN_UP, t_ns)
            self._began_ns = t_ns
        elif self.state == RUN_UP and t_ns - self._since_ns > self._trial.timeout_s * 1e9:
            self.timed_out = True
            self._enter(ABORTED, t_ns)
        elif self.state == IMPACT and self.released_ns is not None:
            self._enter(SETTLE, t_ns)
        elif self.state == SETTLE and t_ns - self._settling_from_ns >= self._trial.settle_s * 1e9:
            self._enter(DONE, t_ns)
        return self._goal(t_ns, estimate.impact_ns)

    @property
    def _settling_from_ns(self) -> int:
        """The impact or the release, whichever came later [ns]."""
        return max(self.impact_tick_ns or 0, self.released_ns or 0)

    def _goal(self, t_ns: int, impact_ns: int | None) -> Goal:
        """Drive in the run-up and, until the release, through the impact; cut in every other state."""
        if self.state == DESTRESS:
            return self._rock(t_ns)
        if self.state not in (RUN_UP, IMPACT):
            return Goal(self.state, True)
        if self.released_ns is None:
            due_ns = self._release.due_ns(self._began_ns, impact_ns)
            if self.hit_standing or (due_ns is not None and t_ns >= due_ns):
                self.released_ns = t_ns
        if self.released_ns is not None:
            return Goal(self.state, True)
        ramp = min((t_ns - self._began_ns) * 1e-9 / self._trial.ramp_s, 1.0)
        return Goal(self.state, False, ramp * self._trial.speed_mps, pushing=self.state == IMPACT)

    def _rock(self, t_ns: int) -> Goal:
        """Back and forth along one period of a sine; then at rest, held."""
        phase = min((t_ns - self._since_ns) / self._destress_ns, 1.0)
        peak_mps = DESTRESS_SHARE * 0.5 * math.pi * self._trial.speed_mps
        return Goal(self.state, False, -peak_mps * math.sin(2.0 * math.pi * phase), pushing=True)


def destress_s(config: Config) -> float:
    """Length of the back-and-forth before the run-up [s]; 0: there is none."""
    return 2.0 * config.trial.destress_m / (DESTRESS_SHARE * config.trial.speed_mps)
