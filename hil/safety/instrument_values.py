"""What the values of an instrument of motion can be: in its room, between the stops, and how far in one step.

Row 33 of the fault table, as rows of `hil.safety.limits`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from hil.config.schema.instruments import ImuConfig, JointsConfig, MotionConfig
from hil.config.schema.rover import tree_on_rig
from hil.config.unchecked_config import UncheckedConfig
from hil.messages.fault import BEYOND_STOP_RAD, FASTEST_MPS, FASTEST_RADPS, JUMP_NOISES, Alarm, Check, Fault
from hil.safety.limits import Limit
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
_POINT = "look at what the instrument points at or follows, and at motion.origin_m and motion.turn_deg"
_STOP = "turn the joint by hand and see its reading; then set zero_deg and reversed of its encoder"
_DEG = math.degrees(1.0)
_ANY = Limit("", "", math.inf, "", "", Fault.MEASURED_MOTION)
_JUMP = _ANY._replace(
    detail="{0.item}jumped by {value:.3g} {0.unit} in {span_ms:.0f} ms, allowed: {bound:.2g}; "
    "see its view and mounting",
    cause="jumped",
)


class RestReadings:
    """Readings of an instrument while the rover stands: how many, since when, and mean and spread of each channel."""

    def __init__(self, channels: int) -> None:
        self.count, self.began_ns = 0, 0
        self.mean, self._squares = [0.0] * channels, [0.0] * channels

    def clear(self, t_ns: int) -> None:
        """Begin again at a time [ns]."""
        self.count, self.began_ns = 0, t_ns
        self.mean[:] = self._squares[:] = [0.0] * len(self.mean)

    def add(self, value: Value) -> None:
        """Welford's update."""
        self.count += 1
        for place, each in enumerate(value):
            off = each - self.mean[place]
            self.mean[place] += off / self.count
            self._squares[place] += off * (each - self.mean[place])

    @property
    def spread(self) -> list[float]:
        """Standard deviation of each channel."""
        return [math.sqrt(max(one, 0.0) / max(self.count - 1, 1)) for one in self._squares]


class _InstrumentValues(NamedTuple):
    """The values of one instrument, all of them finite: rows, and what each of them judges of a reading.

    Attributes:
        places: where it can be.
        placed: its place.
        jumps: how far it gets in one step.
        step: from one reading to the next.
        rest: checks of readings at rest, for arming.
    """

    places: Sequence[Limit]
    placed: Callable[[Value], Sequence[float]]
    jumps: Sequence[Limit]
    step: Callable[[Value, Value], Sequence[float]]
    rest: Callable[[RestReadings], list[Check]]

    def alarms(self, before: Value, value: Value, span_s: float) -> Iterator[Alarm]:
        """A jump from the reading before, if there is one, in that time [s], and a place where it cannot be."""
        steps = zip(self.jumps, self.step(before, value), strict=True) if before else ()
        for pairs in (steps, zip(self.places, self.placed(value), strict=True)):
            yield from [alarm for row, each in pairs if (alarm := row.alarm(each, span_s))][:1]

    def checks(self, newest: Value, rest: RestReadings) -> list[Check]:
        """For arming: the newest reading, and those at rest."""
        return [*map(Limit.check, self.places, self.placed(newest)), *self.rest(rest)]


def values_of(role: str, config: UncheckedConfig) -> _InstrumentValues:
    """The values of an instrument that a config has."""
    section = config.instruments[role]
    if isinstance(section, MotionConfig):
        return _motion_values(section)
    return _imu_values(section) if isinstance(section, ImuConfig) else _joint_values(section, config)


def _motion_values(section: MotionConfig) -> _InstrumentValues:
    """Place of a point of the rover, as pose, position or distance, in the axes of the rig [m]."""
    turned, origin = rotation(section.turn_deg).as_matrix().tolist(), section.origin_m
    names: Sequence[str] = "xyz"
    bounds_m, distance = section.room_m, section.measures == "distance"
    if distance:
        length = math.hypot(*section.direction)
        corners = [
            sum((a - b) * c / length for a, b, c in zip(corner, origin, section.direction, strict=True))
            for corner in product(*section.room_m)
        ]
        corners.sort()
        names, bounds_m = ("distance",), ((corners[0], corners[-1]),)
    words = "{value:.4g} m, allowed: {0.least:.4g} to {0.most:.4g} ({0.setting}); see its target"
    place = _ANY._replace(unit="m", setting="motion.room_m", to_do=_POINT, shown=".3f", cause="out of its room")
    places = [
        place._replace(item=f"motion {name}", least=least, most=most, detail=f"{name} {words}")
        for name, (least, most) in zip(names, bounds_m, strict=True)
    ]
    jumps = [_JUMP._replace(unit="m", most=JUMP_NOISES * section.noise_m, per_s=FASTEST_MPS)]
    if section.measures == "pose":
        words = "quaternion of length {value:.4g}, allowed: 1; see its driver"
        length_1 = _ANY._replace(item="length of the quaternion", detail=words, cause="no attitude")
        places.append(length_1.around(1.0, _LENGTH)._replace(to_do="see the instrument's driver"))
        jumps.append(_turn_limit(section.noise_deg))

    def placed(value: Value) -> Sequence[float]:
        if distance:
            return value
        x, y, z = value[:3]
        at = [at + row[0] * x + row[1] * y + row[2] * z for at, row in zip(origin, turned, strict=True)]
        return at if len(value) == 3 else [*at, math.hypot(*value[3:7])]

    def step(before: Value, after: Value) -> Sequence[float]:
        way_m = math.dist(before[:3], after[:3])
        return (way_m,) if len(after) <= 3 else (way_m, _turn(before[3:], after[3:]))

    def rest(found: RestReadings) -> list[Check]:
        scatter = [_scatter("motion", 1e3 * max(found.spread[:3]), 1e3 * section.noise_m, "mm", "motion.noise_m")]
        if len(found.spread) > 3:
            scatter_deg = math.degrees(2.0 * max(found.spread[3:]))
            scatter.append(_scatter("attitude", scatter_deg, section.noise_deg, "deg", "motion.noise_deg"))
        return scatter

    return _InstrumentValues(places, placed, jumps, step, rest)


def _imu_values(section: ImuConfig) -> _InstrumentValues:
    """Specific force and rates of turn: an impact may shake them by any amount within the range of the unit."""

    def rest(found: RestReadings) -> list[Check]:
        """Gravity alone acts, and nothing turns."""
        still = "keep the rover still; then look at the unit's range and scale in its own software"
        force = Limit("imu specific force at rest", "m/s2", math.inf, "standard gravity", still, shown=".3f")
        turned = "keep the rover still; then let the unit find its zero, as its manual says"
        left_radps = section.bias_radps + section.noise_radps / math.sqrt(found.count)
        most = STILL_RADPS + _NOISES * math.sqrt(3.0) * left_radps
        rate = Limit("imu rate of turn at rest", "rad/s", most, "imu.bias_radps", turned, shown=".4f")
        gravity = force.around(GRAVITY_MPS2, GRAVITY_SHARE)
        return [gravity.check(math.hypot(*found.mean[:3])), rate.check(math.hypot(*found.mean[3:]))]

    return _InstrumentValues((), lambda _: (), (), lambda *_: (), rest)


def _joint_values(section: JointsConfig, config: UncheckedConfig) -> _InstrumentValues:
    """Angles of joints, within half a turn of 0 [rad]; one without stops turns without end."""
    encoders = config.encoders
    stops = {joint.name: joint.stops for joint in tree_on_rig(config.rover_parameters()).joints}
    margin = BEYOND_STOP_RAD + _NOISES * math.radians(section.noise_deg + section.bias_deg)
    zeros = [(math.radians(encoder.zero_deg), -1.0 if encoder.reversed else 1.0) for encoder in encoders]
    place = _ANY._replace(unit="deg", to_do=_STOP, shown=".2f", scale=_DEG, cause="beyond a stop")
    places = []
    for encoder in encoders:
        stop, key = stops.get(encoder.joint), "its stops"
        if stop is None:
            stop, key = (-math.inf, math.inf), "it has no stops"
        least, most = stop[0] - margin, stop[1] + margin
        allowed = f"{math.degrees(least):.3g} to {math.degrees(most):.3g}"
        words = f"{encoder.joint[:24]} {{value:.4g}} deg, allowed: {allowed}, its stops; see its zero"
        places.append(place._replace(item=f"joint {encoder.joint}", least=least, most=most, detail=words, setting=key))

    def placed(value: Value) -> Sequence[float]:
        pairs = zip(value, zeros, strict=True)
        return [math.remainder(sign * (each - zero), math.tau) for each, (zero, sign) in pairs]

    def step(before: Value, after: Value) -> Sequence[float]:
        """A whole turn more or less is none: an encoder may begin again."""
        return [abs(math.remainder(new - old, math.tau)) for old, new in zip(before, after, strict=True)]

    def rest(found: RestReadings) -> list[Check]:
        return [_scatter("joints", math.degrees(max(found.spread)), section.noise_deg, "deg", "joints.noise_deg")]

    jump, wheels = _turn_limit(section.noise_deg), config.layout.wheels
    spun = max(FASTEST_RADPS, 2.0 * config.limits.wheel_speed_radps)  # a wheel that loses its load overshoots
    rates = [spun if encoder.joint in wheels else FASTEST_RADPS for encoder in encoders]
    jumps = [jump._replace(item=f"{one.joint[:24]} ", per_s=rate) for one, rate in zip(encoders, rates, strict=True)]
    return _InstrumentValues(places, placed, jumps, step, rest)


def _turn_limit(noise_deg: float) -> Limit:
    """How far a body or a joint turns from one reading to the next [rad]."""
    return _JUMP._replace(unit="rad", most=JUMP_NOISES * math.radians(noise_deg), per_s=FASTEST_RADPS)


def _scatter(what: str, found: float, noise: float, unit: str, key: str) -> Check:
    """How much readings at rest scatter, against the noise of the config."""
    to_do = f"keep the rover still; if it is, set {key} to what the instrument has"
    most, words = SPREAD_NOISES * noise, f"{SPREAD_NOISES:g} times {key}"
    return Limit(f"scatter of the {what} at rest", unit, most, words, to_do, shown=".3g").check(found)


def _turn(before: Value, after: Value) -> float:
    """Angle between two attitudes [rad], of quaternions of any length and sign."""
    cosine = abs(sum(a * b for a, b in zip(before, after, strict=True))) / (math.hypot(*before) * math.hypot(*after))
    return 2.0 * math.acos(min(cosine, 1.0))
