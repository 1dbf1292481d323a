"""Driven joints: arming checks, monitor, and the limiter of commanded angles.

An angle that is asked for may jump: it is then approached within rate and acceleration, and met without overshoot. That
only delays a command. One out of its range, or that changes faster than its joint may turn, is a command out of limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from drivers.messages import JointSample
from hil.config.schema.servos import DrivenJoint
from hil.messages.fault import BAD_TICKS_ALLOWED, Alarm, Check, Fault
from hil.messages.stages import ByServo, Command, Samples

if TYPE_CHECKING:
    from hil.config.rig import Rig


class ServoMonitor:
    """Compares each new sample of the servos with the ranges and with the command of the tick before."""

    def __init__(self, rig: Rig) -> None:
        servos, self._joints = rig.config.servos, rig.config.driven_joints
        self.watched = servos is not None
        self._for_ns = round(1e9 * servos.follow_s) if servos else 0
        self._far_since_ns: list[int | None] = [None] * len(self._joints)
        self._command: Command | None = None
        self._read_ns, self._bad = 0, 0

    def record_command(self, command: Command) -> None:
        """Store the command of a tick."""
        self._command = command

    def alarms(self, samples: Samples) -> Iterator[Alarm]:
        """What is wrong with the newest sample of a tick."""
        sample = samples.servos
        assert sample is not None  # where joints are driven
        if sample.t_ns == self._read_ns:
            return
        self._read_ns = sample.t_ns
        if not math.isfinite(sum(sample.angle_rad)):
            self._bad += 1
            if self._bad > BAD_TICKS_ALLOWED:
                detail = f"servos: angles that are not finite in {self._bad} answers in a row"
                yield Alarm(Fault.SAMPLE_NOT_FINITE, math.nan, BAD_TICKS_ALLOWED, detail)
            return
        self._bad = 0
        command = self._command
        if command is None or command.servos_cut:
            self._far_since_ns = [None] * len(self._joints)
            return
        for i, angle in enumerate(sample.angle_rad):
            yield from self._of_joint(i, angle, command.joint_angle_rad[i], sample.t_ns)

    def _of_joint(self, which: int, angle: float, commanded: float, t_ns: int) -> Iterator[Alarm]:
        """The same of one joint [rad, or m of one that slides]."""
        joint, since = self._joints[which], self._far_since_ns
        words, where = joint.words, f"servos.{'slides.' if joint.slides else ''}"
        if joint.beyond(angle) > joint.outside_rad:
            limit = joint.high_rad if angle > joint.high_rad else joint.low_rad
            detail = f"{joint.name} is at {words(angle)}, allowed: {words(joint.low_rad)} to {words(joint.high_rad)}"
            yield Alarm(Fault.JOINT_OUT_OF_RANGE, angle, limit, f"{detail} and {where}outside_{joint.unit}")
        if abs(commanded - angle) <= joint.follow_rad:
            since[which] = None
            return
        if since[which] is None:
            since[which] = t_ns
        if t_ns - (since[which] or 0) >= self._for_ns:
            off = abs(commanded - angle)
            detail = (
                f"{joint.name} is at {words(angle)}, {words(off)} from its command for {self._for_ns * 1e-9:g} s, "
                f"allowed: {where}follow_{joint.unit}"
            )
            yield Alarm(Fault.JOINT_NOT_FOLLOWING, off, joint.follow_rad, detail)


# Rounding of sums of steps: an angle [rad], and a share of a limit.
_ROUNDED_RAD, _ROUNDED = 1e-9, 1.0 + 1e-6


class LimitedAngles(NamedTuple):
    """What may go out to the servos."""

    angle_rad: ByServo  #: (servos,) to hold
    cut: bool  #: servo output zero
    clamped: bool = False  #: what was asked for is out of limit
    finite: bool = True  #: what was asked for are numbers; if not, all joints hold


class ServoLimiter:
    """One call each tick."""

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
            measured: newest sample; before the first its angles are not numbers, and the servos stay cut, as they do
                until they have confirmed a cut.
            cut: the servos are to be cut.
        """
        # a device accepts angles only after a cut, which its first confirmation shows that it has had
        confirmed = measured is not None and measured.acknowledged_ns >= 0
        known = confirmed and measured is not None and math.isfinite(sum(measured.angle_rad))
        if cut or not (self._powered or known):
            self._powered = False
            return LimitedAngles(self._angles, cut=True)
        if not self._powered and measured is not None:
            self._powered, self._asked, self._speeds = True, (), [0.0] * len(self._joints)
            each = zip(measured.angle_rad, self._joints, strict=True)
            self._angles = tuple([clamped_to(angle, one.low_rad, one.high_rad) for angle, one in each])
        finite = math.isfinite(sum(asked))
        if not finite:
            asked = ()
        span_s, before, out, clamped = periods * self._period_s, self._asked or asked, [], False
        for i, joint in enumerate(self._joints):
            last, speed = self._angles[i], self._speeds[i]
            change = joint.acceleration_radps2 * span_s
            if asked:
                wish = clamped_to(asked[i], joint.low_rad, joint.high_rad)
                asked_speed = (asked[i] - before[i]) / span_s
                clamped = (
                    clamped or abs(wish - asked[i]) > _ROUNDED_RAD or abs(asked_speed) > joint.rate_radps * _ROUNDED
                )
                angle = _towards(wish, asked_speed, last, speed, joint, span_s)
            else:
                angle = last + (speed - clamped_to(speed, -change, change)) * span_s
            angle = clamped_to(angle, joint.low_rad, joint.high_rad)
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
    asked_speed = clamped_to(asked_speed, -rate, rate)
    behind = wish - asked_speed * span_s - last
    closing = math.sqrt(0.25 * change * change + 2.0 * joint.acceleration_radps2 * abs(behind)) - 0.5 * change
    wanted = clamped_to(asked_speed + math.copysign(closing, behind), -rate, rate)
    return last + clamped_to(wanted, speed - change, speed + change) * span_s


def clamped_to(value: float, lowest: float, highest: float) -> float:
    """The nearest value in a range; NaN stays NaN. Comparing takes half the time of min and max."""
    if value < lowest:
        return lowest
    return highest if value > highest else value


# Beside the servos' own `outside_deg`, so many standard deviations of the encoder's noise and bias.
_NOISES = 3.0


def joint_checks(rig: Rig, samples: Samples) -> list[Check]:
    """The checks of the driven joints."""
    return [*_range_checks(rig, samples), *zero_checks(rig, samples)]


def _range_checks(rig: Rig, samples: Samples) -> list[Check]:
    """Whether the angles of the driven joints are within their ranges."""
    angles = samples.servos
    if angles is None:
        return []
    checks = []
    to_do = "move the joint back into its range by hand, power off; if it is there, look at its encoder and its zero"
    for joint, angle_rad in zip(rig.config.driven_joints, angles.angle_rad, strict=True):
        ok, allowed = joint.beyond(angle_rad) <= 0.0, f"{joint.range_words()} (servos.{joint.section})"
        checks.append(Check(f"joint {joint.name}", ok, joint.words(angle_rad), allowed, to_do))
    return checks


def zero_checks(rig: Rig, samples: Samples) -> list[Check]:
    """One check for each driven joint that has an encoder of the instrument `joints`, once that has a reading."""
    config, servos, joints = rig.config, samples.servos, samples.joints
    if config.servos is None or config.joints is None or servos is None or joints is None or not joints.sequence:
        return []
    driven = dict(zip(rig.layout.servos, servos.angle_rad, strict=True))
    within_deg = config.servos.outside_deg + _NOISES * (config.joints.noise_deg + config.joints.bias_deg)
    to_do = "look at the joint: then correct the zero of the servo (docs/how-to/drive-joints.md) or of the encoder"
    checks = []
    for encoder, value in zip(config.encoders, joints.value, strict=True):
        if (angle := driven.get(encoder.joint)) is None or not math.isfinite(value):
            continue
        sign = -1.0 if encoder.reversed else 1.0
        seen = sign * (value - math.radians(encoder.zero_deg))
        off_deg = abs(math.degrees(math.remainder(angle - seen, math.tau)))
        found = f"{off_deg:.1f} deg apart" if math.isfinite(off_deg) else "not known"
        allowed = f"at most {within_deg:.2g} deg (servos.outside_deg, and the encoder's noise)"
        checks.append(Check(f"zero of {encoder.joint}", off_deg <= within_deg, found, allowed, to_do))
    return checks
