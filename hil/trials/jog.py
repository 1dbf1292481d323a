"""Bring-up through the same loop and gate: turn wheels, or power one valve, for a while."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from drivers.types import VALVES_OFF, ValveSet
from hil.config import Config, ConfigError, Problem
from hil.rows import WHEELS
from hil.trials.state import ARMED_NS, Arm, State, Trial
from hil.values import STILL, Estimate, Prediction, Request, Samples, Six

# Recorded after it, cut.
AFTER_NS = 500_000_000
# Nothing is jogged for longer [s].
LONGEST_S = 10.0
# Part of the acceleration that the gate allows: a loop that has lost ticks catches up before the gate takes offence.
OF_ACCELERATION = 0.5
ALL = "all"
SIDES, WAYS = ("left", "right"), ("extend", "retract")


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


def turn(config: Config, wheels: Sequence[str], speed_mps: float, seconds: float) -> Motion:
    """Turn wheels.

    Args:
        config: holds the limit, and the wheels' radius.
        wheels: by name; "all" for all of them.
        speed_mps: at the rim [m/s], negative backward.
        seconds: for so long [s].

    Raises:
        ConfigError: with all that cannot be.
    """
    radius_m = config.rover.wheel_radius_m
    limit_mps = config.limits.wheel_speed_radps * radius_m
    problems = _wrong_time(seconds)
    names = ", ".join((*WHEELS, ALL))
    problems += [Problem("--wheel", wheel, f"one of {names}") for wheel in wheels if wheel not in (*WHEELS, ALL)]
    if not wheels:
        problems.append(Problem("--wheel", "none", f"one or more of {names}"))
    if not 0.0 < abs(speed_mps) <= limit_mps:
        allowed = f"up to {limit_mps:.3g} m/s either way (limits.wheel_speed_radps at the rim), and not 0"
        problems.append(Problem("--speed", f"{speed_mps:g} m/s", allowed))
    if problems:
        raise ConfigError("jog", problems)
    turning = [wheel in wheels or ALL in wheels for wheel in WHEELS]
    return Motion(seconds, tuple(speed_mps / radius_m if turns else 0.0 for turns in turning))


def power(side: str, way: str, seconds: float) -> Motion:
    """Power one valve for so long [s]. Raises ConfigError with all that cannot be."""
    problems = _wrong_time(seconds)
    problems += [
        Problem(what, found, " or ".join(allowed))
        for what, found, allowed in (("SIDE", side, SIDES), ("WAY", way, WAYS))
        if found not in allowed
    ]
    if problems:
        raise ConfigError("valve", problems)
    left, right = ((side == one and way == WAYS[0], side == one and way == WAYS[1]) for one in SIDES)
    return Motion(seconds, valves=(left, right))


def _wrong_time(seconds: float) -> list[Problem]:
    if 0.0 < seconds <= LONGEST_S:
        return []
    return [Problem("--for", f"{seconds:g} s", f"above 0, and {LONGEST_S:g} s at most")]


class Jog(Trial):
    """Idle until the sensors are zeroed, armed if every check passes, then one motion, then cut.

    An impact cuts it short.

    Args:
        motion: what moves.
        config: of the rig; speeds grow slower than its limits, so that the gate has nothing to clamp.
        arm: makes the arming checks.
    """

    def __init__(self, motion: Motion, config: Config, arm: Arm) -> None:
        super().__init__(arm, config.links.drives_delay_ms)
        self._motion = motion
        self._acceleration = OF_ACCELERATION * config.limits.wheel_acceleration_radps2
        self.touched = False

    def control(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Request:  # noqa: ARG002
        """What the rig should do in this tick."""
        t_ns, elapsed_ns = samples.t_ns, samples.t_ns - self._since_ns
        if self._armed_or_out(samples, estimate, safe):
            pass
        elif self.state in (State.ARMED, State.RUN_UP) and estimate.impact_ns is not None:
            self.touched = True
            self._enter(State.SETTLE, t_ns)
        elif self.state is State.ARMED and elapsed_ns >= ARMED_NS:
            self._enter(State.RUN_UP, t_ns)
        elif self.state is State.RUN_UP and elapsed_ns >= self._motion.seconds * 1e9:
            self._enter(State.SETTLE, t_ns)
        elif self.state is State.SETTLE and elapsed_ns >= AFTER_NS:
            self._enter(State.DONE, t_ns)
        if self.state is not State.RUN_UP:
            return Request(self.state, True, STILL)
        reach = self._acceleration * (t_ns - self._since_ns) * 1e-9
        speeds = tuple([math.copysign(min(abs(speed), reach), speed) for speed in self._motion.speed_radps])
        return Request(self.state, self._motion.speed_radps == STILL, speeds, self._motion.valves)
