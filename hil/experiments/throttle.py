"""What drawbar and slope share: a constant throttle, reached by a ramp, and a measurement once the rover settled."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from hil.config.rig import Rig
from hil.config.schema.traction import ThrottleConfig
from hil.control.base import Controller
from hil.control.build import load_controller
from hil.experiments.base import ArmingChecks, Experiment, Finished, Summary
from hil.experiments.claim import Claim
from hil.experiments.claims import motion_claims, traction_claims
from hil.experiments.source_check import rest_ns
from hil.messages.loads import LoadGoal, TractionModeName, load_goal
from hil.messages.stages import Estimate, Goal, Prediction, Samples


class _ThrottleState(IntEnum):
    """State of a traction experiment; numbers as for the states of an impact trial where they are alike."""

    IDLE = 0
    ARMED = 1
    RAMP = 2
    STOPPING = 4
    DONE = 5
    ABORTED = 6
    SETTLE = 7
    MEASURE = 8


# faster in a tick, see hil.experiments.base
IDLE, ARMED, RAMP, STOPPING, DONE, ABORTED, SETTLE, MEASURE = _ThrottleState
DRIVING = (RAMP, SETTLE, MEASURE)


class ThrottleExperiment(Experiment):
    """Idle until armed, then the throttle by a ramp, a time to settle, the measurement, and a cut.

    Args: as `Experiment`; the section of the config is a `ThrottleConfig`.
    """

    states = _ThrottleState

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        throttle = rig.section
        assert isinstance(throttle, ThrottleConfig)
        self._ramp_s = throttle.ramp_s
        lengths_s = {RAMP: throttle.ramp_s, SETTLE: throttle.settle_s, MEASURE: throttle.measure_s}
        self._lengths_ns = {state: round(seconds * 1e9) for state, seconds in lengths_s.items()}
        self._next = {RAMP: SETTLE, SETTLE: MEASURE, MEASURE: STOPPING}
        wheels = len(rig.layout.wheels)
        self._zeros = rig.layout.zero_speeds
        self._after_ns = rest_ns(rig.config.motion)
        self._speeds = tuple(throttle.speed_mps / radius_m for radius_m in rig.config.wheel_radii_m)
        self._duty = () if throttle.duty is None else (throttle.duty,) * wheels
        controlled = rig.layout.controls_loads
        self._loads = wanted_loads(throttle.mode, throttle.heavy_share, rig.layout.wheels) if controlled else None

    def claims(self, run: Finished, summary: Summary) -> Sequence[Claim]:
        """The motion where nothing pulls, and the traction that is measured."""
        return [*motion_claims(run), *traction_claims(run, summary)]

    def controller(self) -> Controller:
        """Throttle as set, and the load controller where a mode needs it."""
        drive = super().controller()
        return load_controller(self.rig, drive) if self.config.layout.controls_loads else drive

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick."""
        t_ns = samples.t_ns
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state == ARMED and self._may_start(samples):
            self._enter(RAMP, t_ns)
        elif self.state in DRIVING and t_ns - self._since_ns >= self._lengths_ns[_ThrottleState(self.state)]:
            self._enter(self._next[_ThrottleState(self.state)], t_ns)
        elif self.state == STOPPING and t_ns - self._since_ns >= self._after_ns:
            self._enter(DONE, t_ns)
        if self.state not in DRIVING:
            return Goal(self.state, True, speed_radps=self._zeros)
        share = 1.0
        if self.state == RAMP:  # never 0 while driving, which is a cut by duty
            share = min(max((t_ns - self._since_ns) * 1e-9 / self._ramp_s, 1e-3), 1.0)
        if self._duty:
            duty = tuple([share * duty for duty in self._duty])
            return Goal(self.state, False, speed_radps=self._zeros, loads=self._loads, duty=duty)
        speeds = tuple([share * speed for speed in self._speeds])
        return Goal(self.state, False, speed_radps=speeds, loads=self._loads)


def wanted_loads(mode: TractionModeName, heavy_share: float, wheels: tuple[str, ...]) -> LoadGoal:
    """The wanted distribution of the wheel loads.

    Args:
        mode: of the config.
        heavy_share: of the heavy axle, front_heavy or rear_heavy; the other wheels share the rest alike.
        wheels: names.
    """
    if mode != "front_heavy" and mode != "rear_heavy":  # noqa: PLR1714 - a type checker follows this form
        return load_goal(mode, (), "", wheels)
    heavy = [wheel.startswith(mode.removesuffix("_heavy")) for wheel in wheels]
    each, rest = heavy_share / sum(heavy), (1.0 - heavy_share) / (len(wheels) - sum(heavy))
    return load_goal("share", tuple(each if one else rest for one in heavy), "", wheels)
