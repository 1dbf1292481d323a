"""The only path from set-points to devices: it keeps every command within the limits.

An angle of a driven joint that is asked for may jump: it is then approached within rate and acceleration, and met
without overshoot. That only delays a command. One out of its range, or that changes faster than its joint may turn, is
out of limit.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from drivers.messages import JointSample, ValveSet
from hil.config.schema.equipment import LimitsConfig
from hil.config.schema.servos import DrivenJoint
from hil.messages.fault import CLAMPS_ALLOWED, Alarm, Fault
from hil.messages.layout import ROLES
from hil.messages.stages import ByServo, Command, SetPoints, Tick
from hil.safety.monitor import SafetyMonitor

if TYPE_CHECKING:
    from hil.config.rig import Rig

_SECOND_NS = 1_000_000_000
# Rounding of sums of steps: an angle [rad], and a share of a limit.
_ROUNDED_RAD, _ROUNDED = 1e-9, 1.0 + 1e-6


class _LimitedAngles(NamedTuple):
    """What may go out to the servos."""

    angle_rad: ByServo  #: (servos,) to hold
    cut: bool  #: servo output zero
    clamped: bool = False  #: what was asked for is out of limit
    finite: bool = True  #: what was asked for are numbers; if not, all joints hold


_NO_SERVOS = _LimitedAngles((), cut=False)


class Limiter:
    """Clamps speed and its change, limits valves and driven joints, cuts in Safe, checks for finite numbers last."""

    def __init__(self, rig: Rig, safety: SafetyMonitor) -> None:
        limits, layout = rig.limits, rig.layout
        self._safety, self._limits, self._wheels = safety, limits, layout.wheels
        self._limit = limits.wheel_speed_radps
        self._step = limits.wheel_acceleration_radps2 / rig.rate_hz
        self._zero_speeds, self._valves_off = layout.zero_speeds, layout.valves_off
        self._valves = _ValveLimiter(layout.valves_off, limits)
        self._highest_Pa, self._no_pressure = rig.config.cylinders.supply_kPa * 1e3, layout.regulators_closed
        self._duty_zero = layout.zero_speeds if layout.open_loop else ()
        self._last, self._number = self._zero_speeds, 0
        self._row = 0
        self._servos = ServoLimiter(rig.config.driven_joints, rig.rate_hz) if layout.servos else None
        self._further = [
            (role.fields, role.wanted, [getattr(role.safe(0, layout), name) for name in role.fields])
            for role in (ROLES[name] for name in layout.links)
            if role.wanted is not None
        ]
        self._triggers_off = layout.valve_layout.triggers_off
        self.clamped = 0

    def check(self, tick: Tick, asked: SetPoints, angles: JointSample | None = None) -> Command:
        """The command that may go out in this tick; `angles` are the newest of the driven joints."""
        # a skipped period is time, too: a ramp that is within the limit goes on where it would be by now
        periods, self._number = max(1, tick.number - self._number), tick.number
        step = self._step * periods
        if asked.cut:
            speeds = self._zero_speeds
        else:
            speeds = tuple([self._within(*pair, step) for pair in zip(asked.speed_radps, self._last, strict=True)])
        clamped = not asked.cut and speeds != asked.speed_radps
        valves = self._valves_off
        if asked.valves and asked.valves != self._valves_off:
            valves = one_way_each(asked.valves)
            clamped = clamped or valves != asked.valves
        joints = _NO_SERVOS
        if self._servos is not None:
            joints = self._servos.limited(periods, asked.joint_angle_rad, angles, cut=self._safety.safe)
            clamped = clamped or joints.clamped
        self._row = self._row + 1 if clamped else 0
        self.clamped += clamped
        if self._row > CLAMPS_ALLOWED:
            cause = f" ({self._safety.hanging})" if self._safety.hanging else ""
            detail = f"limiter: {self._row} commands in a row out of limit{self._beyond(asked, speeds)}{cause}"
            self._report(tick, self._row, CLAMPS_ALLOWED, detail)
        if not math.isfinite(sum(speeds) + sum(asked.duty)):
            detail = f"limiter: wheel speeds {asked.speed_radps}{asked.duty or ''} are not finite"
            self._report(tick, math.nan, self._limit, detail)
        if not joints.finite:
            detail = f"limiter: angles {asked.joint_angle_rad} of the driven joints are not finite"
            self._report(tick, math.nan, math.nan, detail)
        safe = self._safety.safe
        cut = safe or asked.cut
        self._last = self._zero_speeds if cut else speeds
        command = Command(
            state=asked.state,
            safe=safe,
            cut=cut,
            speed_radps=self._last,
            valves=self._valves.off() if safe else self._valves.limited(tick.t_ns, valves),
            clamped=self.clamped,
            regulators_Pa=self._pressures(safe, asked.regulators_Pa),
            duty=self._duty_zero if cut else asked.duty and tuple([clamped_to(one, -1.0, 1.0) for one in asked.duty]),
            loads=asked.loads,
            trigger=asked.trigger and not safe,
            triggers=self._triggers_off if safe or not asked.triggers else asked.triggers,
            joint_angle_rad=joints.angle_rad,
            servos_cut=joints.cut or (safe and self._servos is not None),
        )
        return replace(command, **self._of_further(asked, safe)) if self._further else command

    def _report(self, tick: Tick, value: float, limit: float, detail: str) -> None:
        self._safety.report(Alarm(Fault.COMMAND_OUT_OF_LIMIT, value, limit, detail), tick.number, tick.t_ns)

    def _of_further(self, asked: SetPoints, safe: bool) -> dict[str, Any]:
        """What the roles that need no limiter get, by field of `Command`."""
        return {
            name: value
            for fields, wanted, safe_values in self._further
            for name, value in zip(fields.values(), safe_values if safe else wanted(asked), strict=True)
        }

    def _beyond(self, asked: SetPoints, allowed: tuple[float, ...]) -> str:
        """The wheel that is farthest beyond, what was asked of it, and the limit; "" where it is no wheel."""
        if asked.cut or allowed == asked.speed_radps:
            return ""
        wish, _, wheel = max(
            zip(asked.speed_radps, allowed, self._wheels, strict=True), key=lambda one: abs(one[0] - one[1])
        )
        limits = self._limits
        by_speed = f"limits.wheel_speed_radps {limits.wheel_speed_radps:g}"
        by_change = f"limits.wheel_acceleration_radps2 {limits.wheel_acceleration_radps2:g}"
        return f": {wheel} asked for {wish:.4g} rad/s, {by_speed if abs(wish) > self._limit else by_change}"

    def _pressures(self, safe: bool, asked_Pa: tuple[float, ...]) -> tuple[float, ...]:
        """What the regulators may be set to: a value that is not a number closes one."""
        if safe or not asked_Pa:
            return self._no_pressure
        most = self._highest_Pa
        return tuple([clamped_to(one, 0.0, most) if math.isfinite(one) else 0.0 for one in asked_Pa])

    def _within(self, wished: float, last: float, step: float) -> float:
        stepped = clamped_to(wished, last - step, last + step)
        return clamped_to(stepped, -self._limit, self._limit)


class _ValveLimiter:
    """Holds a valve on for its shortest time, and off if it was switched on too often within a second.

    This only delays a command; it is not a command out of limit. A controller need not know the valves' limits.
    """

    def __init__(self, off: ValveSet, limits: LimitsConfig) -> None:
        self._off = self._on = off
        self._least_on_ns = round(limits.valve_least_on_ms * 1e6)
        # the last switch-on times of each valve: as many as are allowed in a second
        most = limits.valve_switchings_per_s
        self._switched_ns: tuple[tuple[deque[int], deque[int]], ...] = tuple(
            (deque(maxlen=most), deque(maxlen=most)) for _ in off
        )

    def limited(self, t_ns: int, asked: ValveSet) -> ValveSet:
        """The valves that may be powered at a time [ns]."""
        if asked == self._on:
            return asked
        self._on = tuple(map(self._pair, [t_ns] * len(asked), asked, self._on, self._switched_ns))
        return self._on

    def off(self) -> ValveSet:
        """All off, at once. This is always allowed."""
        self._on = self._off
        return self._off

    def _pair(
        self, t_ns: int, asked: tuple[bool, bool], on: tuple[bool, bool], since: tuple[deque[int], deque[int]]
    ) -> tuple[bool, bool]:
        """The two valves of a cylinder: while one must stay on, the other stays off."""
        extend = self._one(t_ns, asked[0], on[0], since[0], blocked=on[1] and self._must_stay(t_ns, since[1]))
        retract = self._one(t_ns, asked[1], on[1], since[1], blocked=extend)
        return extend, retract

    def _one(self, t_ns: int, asked: bool, on: bool, since: deque[int], *, blocked: bool) -> bool:
        if on:
            return not blocked and (asked or self._must_stay(t_ns, since))
        if not asked or blocked or (len(since) == since.maxlen and t_ns - since[0] < _SECOND_NS):
            return False
        since.append(t_ns)
        return True

    def _must_stay(self, t_ns: int, since: deque[int]) -> bool:
        return t_ns - since[-1] < self._least_on_ns


def one_way_each(valves: ValveSet) -> ValveSet:
    """The same valves, but both off for a cylinder that was to extend and retract at the same time."""
    return tuple((extend and not retract, retract and not extend) for extend, retract in valves)


class ServoLimiter:
    """One call each tick."""

    def __init__(self, joints: Sequence[DrivenJoint], rate_hz: float) -> None:
        self._joints, self._period_s = joints, 1.0 / rate_hz
        self._angles: ByServo = tuple([joint.start_rad for joint in joints])
        self._speeds = [0.0] * len(joints)
        self._asked: ByServo = ()
        self._powered = False

    def limited(self, periods: int, asked: ByServo, measured: JointSample | None, *, cut: bool) -> _LimitedAngles:
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
            return _LimitedAngles(self._angles, cut=True)
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
        return _LimitedAngles(self._angles, False, clamped, finite)


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
