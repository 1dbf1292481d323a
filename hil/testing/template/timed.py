"""What the experiments of this package share: the wheels turn at one speed for a while."""

from enum import IntEnum
from typing import Any

from typing_extensions import override

from hil.config.rig import Rig
from hil.experiments.base import ArmingChecks, Experiment
from hil.messages.loads import LoadGoal
from hil.messages.stages import Estimate, Goal, Prediction, Samples

# Part of the acceleration that the limiter allows.
OF_ACCELERATION = 0.5


class TimedState(IntEnum):
    """Those of every experiment, and what it does between them."""

    IDLE = 0
    ARMED = 1
    SPIN = 2
    DONE = 5
    ABORTED = 6


class TimedExperiment(Experiment):
    """Idle until armed, then the speed, then cut after the `seconds` of its section."""

    states = TimedState

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        self._section: Any = rig.section
        self._change = OF_ACCELERATION * rig.limits.wheel_acceleration_radps2 / rig.rate_hz
        self._speed = 0.0

    def wanted_radps(self) -> float:
        """Of every wheel; by default that of the rims."""
        return float(self._section.speed_mps / self.config.wheel_radius_m)

    def loads(self) -> LoadGoal | None:
        """Wanted distribution of the wheels' loads while it moves."""
        return None

    def end(self, estimate: Estimate, late: bool) -> TimedState | None:  # noqa: ARG002
        """The state that follows; None: it goes on."""
        return TimedState.DONE if late else None

    @override
    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:
        late = samples.t_ns - self._since_ns >= self._section.seconds * 1e9
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state == TimedState.ARMED and self._may_start(samples):
            self._enter(TimedState.SPIN, samples.t_ns)
        elif self.state == TimedState.SPIN and (following := self.end(estimate, late)) is not None:
            self._enter(following, samples.t_ns)
        moves = self.state == TimedState.SPIN
        wanted = self.wanted_radps() if moves else 0.0
        self._speed += min(max(wanted - self._speed, -self._change), self._change)
        speeds = (self._speed,) * len(self.config.layout.wheels)
        return Goal(self.state, not moves, speed_radps=speeds, loads=self.loads() if moves else None)
