"""Limits the commanded angles of driven joints: range, rate and acceleration; a powered joint begins where it is.

An angle that is asked for may jump: it is then approached within rate and acceleration, and met without overshoot. That
only delays a command. One out of its range, or that changes faster than its joint may turn, is a command out of limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from drivers.messages import JointSample
from hil.config.schema.driven_joints import DrivenJoint
from hil.messages.stages import ByServo

# Rounding of sums of steps: an angle [rad], and a share of a limit.
_ROUNDED_RAD, _ROUNDED = 1e-9, 1.0 + 1e-6


class LimitedAngles(NamedTuple):
    """What may go out to the servos.

    Attributes:
        angle_rad: (servos,) to hold.
        cut: servo output zero.
        clamped: what was asked for is out of limit.
        finite: what was asked for are numbers; if not, all joints hold.
    """

    angle_rad: ByServo
    cut: bool
    clamped: bool = False
    finite: bool = True


class ServoLimiter:
    """One call each tick.

    Args:
        joints: driven ones, with their limits.
        rate_hz: of the loop.
    """

    def __init__(self, joints: Sequence[DrivenJoint], rate_hz: float) -> None:
        self._joints, self._period_s = joints, 1.0 / rate_hz
        self._angles: ByServo = tuple([joint.start_rad for joint in joints])
        self._speeds = [0.0] * len(joints)
        self._asked: ByServo = ()
        self._powered = False

    def limited(self, periods: int, asked: ByServo, measured: JointSample | None, *, cut: bool) -> LimitedAngles:
        """The command of a tick.

        Args:
            periods: of the loop since the last call: a skipped one is time, too.
            asked: (servos,) angles [rad]; empty: each joint stops, and holds.
            measured: newest sample; before the first its angles are not numbers, and the servos stay cut.
            cut: the servos are to be cut.
        """
        known = measured is not None and math.isfinite(sum(measured.angle_rad))
        if cut or not (self._powered or known):
            self._powered = False
            return LimitedAngles(self._angles, cut=True)
        if not self._powered and measured is not None:
            self._powered, self._asked, self._speeds = True, (), [0.0] * len(self._joints)
            each = zip(measured.angle_rad, self._joints, strict=True)
            self._angles = tuple([_clamped(angle, one.low_rad, one.high_rad) for angle, one in each])
        finite = math.isfinite(sum(asked))
        if not finite:
            asked = ()
        span_s, before, out, clamped = periods * self._period_s, self._asked or asked, [], False
        for i, joint in enumerate(self._joints):
            last, speed = self._angles[i], self._speeds[i]
            change = joint.acceleration_radps2 * span_s
            if asked:
                wish = _clamped(asked[i], joint.low_rad, joint.high_rad)
                asked_speed = (asked[i] - before[i]) / span_s
                clamped = (
                    clamped or abs(wish - asked[i]) > _ROUNDED_RAD or abs(asked_speed) > joint.rate_radps * _ROUNDED
                )
                angle = _towards(wish, asked_speed, last, speed, joint, span_s)
            else:
                angle = last + (speed - _clamped(speed, -change, change)) * span_s
            angle = _clamped(angle, joint.low_rad, joint.high_rad)
            self._speeds[i] = (angle - last) / span_s
            out.append(angle)
        self._angles, self._asked = tuple(out), asked
        return LimitedAngles(self._angles, False, clamped, finite)


def _towards(wish: float, asked_speed: float, last: float, speed: float, joint: DrivenJoint, span_s: float) -> float:
    """The next angle on the way to one that moves: it, if the joint may be there, or as far as it may."""
    rate, change = joint.rate_radps, joint.acceleration_radps2 * span_s
    straight = (wish - last) / span_s
    if abs(straight) <= rate * _ROUNDED and abs(straight - speed) <= change * _ROUNDED:
        return wish
    # what it lags behind is made up for by a speed from which it can come down in time
    asked_speed = _clamped(asked_speed, -rate, rate)
    behind = wish - asked_speed * span_s - last
    closing = math.sqrt(0.25 * change * change + 2.0 * joint.acceleration_radps2 * abs(behind)) - 0.5 * change
    wanted = _clamped(asked_speed + math.copysign(closing, behind), -rate, rate)
    return last + _clamped(wanted, speed - change, speed + change) * span_s


def _clamped(value: float, lowest: float, highest: float) -> float:
    if value < lowest:
        return lowest
    return highest if value > highest else value
