"""Bring-up through the same loop and gate: turn one wheel, or power one valve, for a while."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from drivers.types import VALVES_OFF, ValveSet
from hil.arming import Check
from hil.trials.state import ARMED_NS, Arm, State
from hil.values import STILL, Estimate, Prediction, Request, Samples, Six

# Recorded after it, cut.
AFTER_NS = 500_000_000


class Motion(msgspec.Struct, frozen=True):
    """What moves, and for how long.

    Attributes:
        seconds: [s].
        speed_radps: (6,) of each wheel [rad/s]; one at 0 is held there.
        valves: powered meanwhile; then the wheels are cut.
    """

    seconds: float
    speed_radps: Six = STILL
    valves: ValveSet = VALVES_OFF


class Jog:
    """Idle until the sensors are zeroed, armed if every check passes, then one motion, then cut.

    Speeds grow with the acceleration that the gate allows, so that it has nothing to clamp.

    Args:
        motion: what moves.
        acceleration_radps2: of the wheels [rad/s^2].
        arm: makes the arming checks.
    """

    def __init__(self, motion: Motion, acceleration_radps2: float, arm: Arm) -> None:
        self._motion, self._acceleration, self._arm = motion, acceleration_radps2, arm
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

    def control(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Request:  # noqa: ARG002
        """What the rig should do in this tick."""
        t_ns, elapsed_ns = samples.t_ns, samples.t_ns - self._since_ns
        if safe and not self.over:
            self._enter(State.ABORTED, t_ns)
        elif self.state is State.IDLE and estimate.zeroed:
            self.checks = self._arm(samples, estimate)
            self._enter(State.ABORTED if self.refused else State.ARMED, t_ns)
        elif self.state is State.ARMED and elapsed_ns >= ARMED_NS:
            self._enter(State.RUN_UP, t_ns)
        elif self.state is State.RUN_UP and elapsed_ns >= self._motion.seconds * 1e9:
            self._enter(State.SETTLE, t_ns)
        elif self.state is State.SETTLE and elapsed_ns >= AFTER_NS:
            self._enter(State.DONE, t_ns)
        if self.state is not State.RUN_UP:
            return Request(self.state, True, STILL)
        reach = self._acceleration * (t_ns - self._since_ns) * 1e-9
        speeds = tuple(max(min(speed, reach), -reach) for speed in self._motion.speed_radps)
        return Request(self.state, self._motion.speed_radps == STILL, speeds, self._motion.valves)

    def _enter(self, state: State, t_ns: int) -> None:
        self.state, self._since_ns = state, t_ns
