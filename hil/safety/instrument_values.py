"""What the values of an instrument of motion can be: in its room, between the stops, and how far in one step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, Protocol

from hil.config.schema.instruments import ImuConfig, JointEncoder, JointsConfig, MotionConfig
from hil.config.schema.rover import tree_on_rig
from hil.config.unchecked_config import UncheckedConfig
from hil.messages.fault import BEYOND_STOP_RAD, FASTEST_MPS, FASTEST_RADPS, JUMP_NOISES, Alarm, Check, Fault
from hil.signals.alignment import rotation
from models.gravity import GRAVITY_MPS2

Value = tuple[float, ...]
# At rest: the readings of a channel scatter by at most so many standard deviations of its noise; the mean specific
# force is gravity but for this share; and the mean rates of turn are below this and their bias [rad/s].
SPREAD_NOISES, GRAVITY_SHARE, STILL_RADPS = 3.0, 0.03, 0.02
# Share by which the length of a quaternion may differ from 1.
_LENGTH = 0.01
# Standard deviations of noise and bias by which a good joint angle may seem to be beyond its stop.
_NOISES = 3.0


class RestReadings(NamedTuple):
    """Readings of an instrument while the rover stands: how many, and mean and standard deviation of each channel."""

    readings: int
    mean: Value
    spread: Value


class _InstrumentValues(Protocol):
    """The values of one kind of instrument; all of them are finite."""

    def outside(self, value: Value) -> Alarm | None:
        """Where no such instrument can be; None: it can."""

    def jumped(self, before: Value, after: Value, span_s: float) -> Alarm | None:
        """Whether a reading is further from the one before it than a rover gets in that time [s]."""

    def checks(self, newest: Value, rest: RestReadings) -> list[Check]:
        """For arming: the newest reading, and those at rest."""


def values_of(role: str, config: UncheckedConfig) -> _InstrumentValues:
    """The values of an instrument that a config has."""
    section = config.instruments[role]
    if isinstance(section, MotionConfig):
        return _MotionValues(section)
    if isinstance(section, ImuConfig):
        return _ImuValues(section)
    tree = tree_on_rig(config.rover_parameters())
    stops = {joint.name: joint.stops for joint in tree.joints}
    return _JointValues(section, config.encoders, [stops.get(encoder.joint) for encoder in config.encoders])


class _MotionValues:
    """Place of a point of the rover, as pose, position or distance."""

    def __init__(self, section: MotionConfig) -> None:
        self._section = section
        self._turned, self._origin = rotation(section.turn_deg).as_matrix().tolist(), section.origin_m
        self._bounds_m = section.room_m
        if section.measures == "distance":
            length = math.hypot(*section.direction)
            corners = [
                sum((a - b) * c / length for a, b, c in zip(corner, section.origin_m, section.direction, strict=True))
                for corner in product(*section.room_m)
            ]
            self._reach = min(corners), max(corners)

    def outside(self, value: Value) -> Alarm | None:
        """Outside of `motion.room_m`; or an attitude that is none."""
        if self._section.measures == "distance":
            least, most = self._reach
            if least <= value[0] <= most:
                return None
            words = f"distance {value[0]:.4g} m, allowed: {least:.4g} to {most:.4g} (motion.room_m); see its target"
            return _alarm("out of its room", value[0], least if value[0] < least else most, words)
        for axis, at_m, (least, most) in zip("xyz", self._in_rig(value), self._bounds_m, strict=True):
            if not least <= at_m <= most:
                words = f"{axis} {at_m:.4g} m, allowed: {least:g} to {most:g} (motion.room_m); see its target"
                return _alarm("out of its room", at_m, least if at_m < least else most, words)
        if len(value) > 3 and not abs((length := math.hypot(*value[3:7])) - 1.0) <= _LENGTH:
            return _alarm("no attitude", length, 1.0, f"quaternion of length {length:.4g}, allowed: 1; see its driver")
        return None

    def jumped(self, before: Value, after: Value, span_s: float) -> Alarm | None:
        """By place, and of a pose by attitude."""
        section = self._section
        way_m = math.dist(before[:3], after[:3])
        if way_m > (most_m := FASTEST_MPS * span_s + JUMP_NOISES * section.noise_m):
            return _alarm("jumped", way_m, most_m, _jumped(way_m, most_m, "m", span_s))
        if len(after) > 3:
            turn_rad = _turn(before[3:], after[3:])
            if turn_rad > (most_rad := FASTEST_RADPS * span_s + JUMP_NOISES * math.radians(section.noise_deg)):
                return _alarm("jumped", turn_rad, most_rad, _jumped(turn_rad, most_rad, "rad", span_s))
        return None

    def checks(self, newest: Value, rest: RestReadings) -> list[Check]:
        """The place, and how much it scatters."""
        section = self._section
        if section.measures == "distance":
            least, most = self._reach
            found, allowed = f"{newest[0]:.3f} m", f"{least:.4g} to {most:.4g} m"
        else:
            x, y, z = self._in_rig(newest)
            found = f"x {x:.3f}, y {y:.3f}, z {z:.3f} m"
            allowed = ", ".join(
                f"{axis} {least:g} to {most:g}" for axis, (least, most) in zip("xyz", self._bounds_m, strict=True)
            )
        to_do = "look at what the instrument points at or follows, and at motion.origin_m and motion.turn_deg"
        checks = [
            Check("motion in its room", self.outside(newest) is None, found, f"{allowed} (motion.room_m)", to_do),
            _scatter("motion", 1e3 * max(rest.spread[:3]), 1e3 * section.noise_m, "mm", "motion.noise_m"),
        ]
        if len(newest) > 3:
            scatter_deg = math.degrees(2.0 * max(rest.spread[3:]))
            checks.append(_scatter("attitude", scatter_deg, section.noise_deg, "deg", "motion.noise_deg"))
        return checks

    def _in_rig(self, value: Value) -> Value:
        """Place of the measured point in the axes of the rig [m]."""
        x, y, z = value[:3]
        return tuple(
            [at + row[0] * x + row[1] * y + row[2] * z for at, row in zip(self._origin, self._turned, strict=True)]
        )


class _ImuValues:
    """Specific force and rates of turn: an impact may shake them by any amount within the range of the unit."""

    def __init__(self, section: ImuConfig) -> None:
        self._section = section

    def outside(self, value: Value) -> Alarm | None:  # noqa: ARG002
        """Nowhere."""
        return None

    def jumped(self, before: Value, after: Value, span_s: float) -> Alarm | None:  # noqa: ARG002
        """Never."""
        return None

    def checks(self, newest: Value, rest: RestReadings) -> list[Check]:  # noqa: ARG002
        """Gravity alone acts, and nothing turns."""
        section = self._section
        force, rate = math.hypot(*rest.mean[:3]), math.hypot(*rest.mean[3:])
        allowed = f"{GRAVITY_MPS2:g} m/s2 within {GRAVITY_SHARE:.0%}"
        ok = abs(force - GRAVITY_MPS2) <= GRAVITY_SHARE * GRAVITY_MPS2
        to_do = "keep the rover still; then look at the unit's range and scale in its own software"
        left_radps = section.bias_radps + section.noise_radps / math.sqrt(rest.readings)
        most = STILL_RADPS + _NOISES * math.sqrt(3.0) * left_radps
        return [
            Check("imu specific force at rest", ok, f"{force:.3f} m/s2", allowed, to_do),
            Check(
                "imu rate of turn at rest",
                rate <= most,
                f"{rate:.4f} rad/s",
                f"at most {most:.4f} rad/s (imu.bias_radps)",
                "keep the rover still; then let the unit find its zero, as its manual says",
            ),
        ]


class _JointValues:
    """Angles of joints [rad]; one without stops (None) turns without end."""

    def __init__(
        self,
        section: JointsConfig,
        encoders: Sequence[JointEncoder],
        stops: Sequence[tuple[float, float] | None],
    ) -> None:
        self._section, self._encoders = section, encoders
        margin = BEYOND_STOP_RAD + _NOISES * math.radians(section.noise_deg + section.bias_deg)
        self._ranges = [
            (-math.inf, math.inf) if stop is None else (stop[0] - margin, stop[1] + margin) for stop in stops
        ]
        self._zeros = [math.radians(encoder.zero_deg) for encoder in encoders]
        self._signs = [-1.0 if encoder.reversed else 1.0 for encoder in encoders]
        self._step_rad = JUMP_NOISES * math.radians(section.noise_deg)

    def outside(self, value: Value) -> Alarm | None:
        """Beyond a stop."""
        for encoder, angle, (least, most) in zip(self._encoders, self._angles(value), self._ranges, strict=True):
            if not least <= angle <= most:
                allowed = f"{math.degrees(least):.3g} to {math.degrees(most):.3g}"
                words = (
                    f"{encoder.joint[:24]} {math.degrees(angle):.4g} deg, allowed: {allowed}, its stops; see its zero"
                )
                return _alarm("beyond a stop", angle, least if angle < least else most, words)
        return None

    def jumped(self, before: Value, after: Value, span_s: float) -> Alarm | None:
        """A whole turn more or less is none: an encoder may begin again."""
        most_rad = FASTEST_RADPS * span_s + self._step_rad
        for encoder, old, new in zip(self._encoders, before, after, strict=True):
            if (turn_rad := abs(math.remainder(new - old, math.tau))) > most_rad:
                words = f"{encoder.joint[:24]} {_jumped(turn_rad, most_rad, 'rad', span_s)}"
                return _alarm("jumped", turn_rad, most_rad, words)
        return None

    def checks(self, newest: Value, rest: RestReadings) -> list[Check]:
        """Each angle between its stops, and how much they scatter."""
        checks = []
        to_do = "turn the joint by hand and see its reading; then set zero_deg and reversed of its encoder"
        for encoder, angle, (least, most) in zip(self._encoders, self._angles(newest), self._ranges, strict=True):
            free = math.inf in (-least, most)
            allowed = "any: it has no stops" if free else f"{math.degrees(least):.4g} to {math.degrees(most):.4g} deg"
            found, ok = f"{math.degrees(angle):.2f} deg", least <= angle <= most
            checks.append(Check(f"joint {encoder.joint}", ok, found, allowed, to_do))
        scatter_deg = math.degrees(max(rest.spread))
        return [*checks, _scatter("joints", scatter_deg, self._section.noise_deg, "deg", "joints.noise_deg")]

    def _angles(self, value: Value) -> list[float]:
        """Angle of each joint, within half a turn of 0 [rad]."""
        return [
            math.remainder(sign * (each - zero), math.tau)
            for each, zero, sign in zip(value, self._zeros, self._signs, strict=True)
        ]


def _alarm(cause: str, value: float, limit: float, words: str) -> Alarm:
    return Alarm(Fault.MEASURED_MOTION, value, limit, words, cause=cause)


def _jumped(found: float, most: float, unit: str, span_s: float) -> str:
    return f"jumped by {found:.3g} {unit} in {1e3 * span_s:.0f} ms, allowed: {most:.2g}; see its view and mounting"


def _scatter(what: str, found: float, noise: float, unit: str, key: str) -> Check:
    """How much readings at rest scatter, against the noise of the config."""
    most = SPREAD_NOISES * noise
    allowed = f"at most {most:.3g} {unit} ({SPREAD_NOISES:g} times {key})"
    to_do = f"keep the rover still; if it is, set {key} to what the instrument has"
    return Check(f"scatter of the {what} at rest", found <= most, f"{found:.3g} {unit}", allowed, to_do)


def _turn(before: Value, after: Value) -> float:
    """Angle between two attitudes [rad], of quaternions of any length and sign."""
    cosine = abs(sum(a * b for a, b in zip(before, after, strict=True))) / (math.hypot(*before) * math.hypot(*after))
    return 2.0 * math.acos(min(cosine, 1.0))
