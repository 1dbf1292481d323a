"""The only path from set-points to devices: it keeps every command within the limits."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any

from drivers.messages import JointSample, ValveSet
from hil.config.schema.equipment import LimitsConfig
from hil.messages.fault import CLAMPS_ALLOWED, Alarm, Fault
from hil.messages.layout import ROLES
from hil.messages.stages import Command, SetPoints, Tick
from hil.safety.joint_safety import LimitedAngles, ServoLimiter, clamped_to
from hil.safety.monitor import SafetyMonitor

if TYPE_CHECKING:
    from hil.config.rig import Rig

_SECOND_NS = 1_000_000_000
_NO_SERVOS = LimitedAngles((), cut=False)


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
        return Command(
            state=asked.state,
            safe=safe,
            cut=cut,
            speed_radps=self._last,
            valves=self._valves.off() if safe else self._valves.limited(tick.t_ns, valves),
            clamped=self.clamped,
            regulators_Pa=self._pressures(safe, asked.regulators_Pa),
            duty=self._duty_zero if cut else tuple([clamped_to(duty, -1.0, 1.0) for duty in asked.duty]),
            loads=asked.loads,
            trigger=asked.trigger and not safe,
            joint_angle_rad=joints.angle_rad,
            servos_cut=joints.cut or (safe and self._servos is not None),
            **(self._of_further(asked, safe) if self._further else {}),
        )

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
