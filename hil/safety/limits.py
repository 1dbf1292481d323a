"""The limits of a rig as rows, by which the monitors, arming, `hil check` and the fault table judge.

A value that may be beyond its bounds for a while has a hold time in its row, and a `History` in its monitor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drivers.device_sections import ValvesSection
from hil.config.schema.equipment import LimitsConfig
from hil.config.schema.instruments import MeasuredLimits
from hil.config.unchecked_config import UncheckedConfig
from hil.messages.fault import (
    BAD_TICKS_ALLOWED,
    GAP_ALLOWED,
    NOT_FOLLOWING_NS,
    POWER_AGE_NS,
    STANDS_SHARE,
    SWITCHING_PRESSURE_RATIO,
    TIMEOUT_FACTOR,
    Alarm,
    Check,
    Fault,
)
from hil.messages.layout import AGED, SAMPLED, Layout
from hil.messages.stages import ByWheel

if TYPE_CHECKING:
    from hil.config.rig import Rig

# A wheel slower than this counts as standing still [rad/s].
STANDING_RADPS = 0.01
# Simulated encoders read noise that the config states: a limit below so many standard deviations refuses a still rover.
STANDING_NOISES = 6.0
_SILENT = "check the device's power and cable; hil check shows whether and how often it sends"
_BIASED = "unload the sensor; then look for an open wire, a short circuit, or an amplifier without power"
_NOISY = "keep rover and obstacle still; then check the sensor's cable, its shield and its earth"
_MEASURE = "measure it by hand; then repair its cause, its sensor, or the limit in the config"
_FROZEN = "tap the sensor; if its reading does not move, replace cable or sensor"
_RANGE = "move the joint back into its range by hand, power off; if it is there, look at its encoder and its zero"

Quantity = Callable[[Any], float]


class Limit(NamedTuple):
    """A quantity, what is allowed of it and for how long, and what to do.

    Attributes:
        item: the quantity, as a check names it.
        unit: of value and bounds in words.
        most: largest value.
        setting: key of the config that sets the bounds, or what sets them.
        to_do: what the person at the rig can do before arming.
        fault: row of the fault table of a value beyond the bounds; 0: none, it is judged before a run alone.
        detail: of that fault, in words.
        least: least value.
        near: a row of narrower bounds, beyond which the run is only marked.
        shown: format of the value in a check.
        strict: a value at a bound is beyond it, and so is one that is not known.
        hold: for how long a value has to be beyond, in ns or in readings after the first (`History`).
        scale: from value and bounds to `unit`.
        per_s: by how much `most` grows in each second since the value before.
        cause: of the fault, in a word or two (`Alarm`).
        quantity: its value, from what the rows of one function here are judged by; NaN: it is not known.
    """

    item: str
    unit: str
    most: float
    setting: str
    to_do: str
    fault: int = 0
    detail: str = "{0.item}: {value:.4g} {0.unit}, allowed: {side} {bound:g} {0.unit} ({0.setting})"
    least: float = -math.inf
    near: Limit | None = None
    shown: str = ".4g"
    strict: bool = False
    hold: int = 0
    scale: float = 1.0
    per_s: float = 0.0
    cause: str = ""
    quantity: Quantity = lambda _: math.nan

    def around(self, value: float, share: float) -> Limit:
        """The row with bounds that lie so far from a value, as a share of it."""
        return self._replace(least=value - share * value, most=value + share * value)

    def beyond(self, value: float, span_s: float = 0.0) -> float | None:
        """The bound that a value is beyond, or None; NaN is beyond none of a row that is not strict."""
        most = self.most + self.per_s * span_s if span_s else self.most
        if self.strict:
            return None if self.least < value < most else self.least if value <= self.least else most
        if value < self.least:
            return self.least
        return most if value > most else None

    def alarm(self, value: float, span_s: float = 0.0, **words: Any) -> Alarm | None:
        """The fault of a value in a run, or None. `words`: of `found`."""
        if (bound := self.beyond(value, span_s)) is None:
            return self.near.alarm(value) if self.near else None
        return self.found(value, bound, span_ms=1e3 * span_s, **words)

    def found(self, value: float, bound: float, **words: Any) -> Alarm:
        """The fault of a value that is beyond a bound. `words`: what its text names in addition."""
        side = "at least" if value < bound else "at most"
        numbers = {"value": value * self.scale, "bound": bound * self.scale, "hold_s": self.hold * 1e-9}
        detail = self.detail.format(self, side=side, **numbers, **words)
        return Alarm(Fault(self.fault), value, bound, detail, cause=self.cause)

    def check(self, value: float, found: str = "") -> Check:
        """Whether a value is within the bounds; one that is not finite is not. `found`: the value in other words."""
        words = ("above", "below") if self.strict else ("at least", "at most")
        least, most = (f"{bound * self.scale:g}" for bound in (self.least, self.most))
        sides = [f"{side} {bound}" for side, bound in zip(words, (least, most), strict=True) if "inf" not in bound]
        allowed = f"{least} to {most}" if len(sides) == 2 else "".join(sides)
        allowed = f"{allowed} {self.unit}".rstrip() if sides else "any: it is only marked" if self.near else "any"
        allowed += f" ({self.setting})" if self.setting else ""
        known = "no number yet" if math.isnan(value) else f"{value * self.scale:{self.shown}} {self.unit}".rstrip()
        ok = math.isfinite(value) and self.beyond(value) is None
        return Check(self.item, ok, found or known, allowed, self.to_do)


class History:
    """Since when values are beyond the bounds of their rows: all that a hold time needs. `idle`: none is."""

    def __init__(self, limits: Sequence[Limit]) -> None:
        self._limits, self._bounds = limits, [(limit.least, limit.most) for limit in limits]
        self.clear()

    def clear(self) -> None:
        """Forget all of them."""
        self._since: list[int | None] = [None] * len(self._limits)
        self.idle = True

    def due(self, values: Sequence[float], now: int) -> Sequence[tuple[int, int]]:
        """Which values, one of each row, have been beyond their bounds for their hold time, and for how long.

        `now`: time of the values [ns], or their number.
        """
        if self.idle:  # in most ticks: all are well within
            for value, (least, most) in zip(values, self._bounds, strict=True):
                if not least < value < most:
                    break
            else:
                return ()
        found, self.idle = [], True
        for place, (limit, value) in enumerate(zip(self._limits, values, strict=True)):
            if limit.beyond(value) is None:
                self._since[place] = None
                continue
            if (first := self._since[place]) is None:
                self._since[place] = first = now
            self.idle = False
            if now - first >= limit.hold:
                found.append((place, now - first))
        return found


def _element(vector: str, place: int) -> Quantity:
    values = attrgetter(vector)
    return lambda found: values(found)[place]


def _size(quantity: Quantity) -> Quantity:
    return lambda found: abs(quantity(found))


def alarms(limits: Iterable[Limit], found: Any) -> Iterator[Alarm]:
    """The faults of a tick by rows, from what they are judged by."""
    for limit in limits:
        value, near = limit.quantity(found), limit.near
        if limit.least < value < limit.most and (near is None or near.least < value < near.most):
            continue  # in most ticks
        if alarm := limit.alarm(value):
            yield alarm


def limit_checks(limits: Iterable[Limit], found: Any) -> list[Check]:
    """The checks of rows, by what they are judged by; None: there is nothing to judge."""
    return [] if found is None else [limit.check(limit.quantity(found)) for limit in limits]


def age_limits(limits: LimitsConfig, links: Collection[str]) -> dict[str, Limit]:
    """Age of the newest sample of each link: rows 1 and 2 of the fault table. Judged by `Samples`."""
    return {name: _age_limit(name, getattr(limits, f"{name}_age_ms")) for name in (*SAMPLED, *AGED) if name in links}


# Of a link with blocks: as an item and in an event, and the field of `Samples`.
_BLOCKS = {"daq": ("DAQ", "DAQ", "daq_age_ns"), "loads": ("load", "load channels", "load_age_ns")}


def _age_limit(link: str, most_ms: float) -> Limit:
    bounds = "ms", most_ms, f"limits.{link}_age_ms", _SILENT
    if link in SAMPLED:
        item, device, field = _BLOCKS[link]
        age_ns, detail = attrgetter(field), f"{device}: newest sample is {{value:.1f}} ms old"
        row = Limit(f"{item} sample age", *bounds, Fault.SENSOR_DROPOUT, detail)
        return row._replace(quantity=lambda one: age_ns(one) * 1e-6)
    at_ns, detail = attrgetter(f"{link}.t_ns"), f"{link}: newest sample is {{value:.0f}} ms old ({{0.setting}})"
    row = Limit(f"{link} sample age", *bounds, Fault.SENSOR_STALE, detail)
    return row._replace(quantity=lambda one: (one.t_ns - at_ns(one)) * 1e-6)


def block_limits(
    link: str, channels: Sequence[str], still_allowed: Sequence[float]
) -> tuple[Limit, Limit, Sequence[Limit]]:
    """Blocks missing in a row, samples that are not finite, and equal ones of each channel: rows 2, 3 and 7.

    `still_allowed`: equal samples in a row from which each channel counts as frozen; infinity: it may stay constant.
    """
    device, key = _BLOCKS[link][1], f"limits.{'' if link == 'daq' else 'loads_'}frozen_samples"
    missing = f"{device}: {{value:.0f}} blocks of samples are missing in a row, allowed: {{bound:.0f}}"
    still = f"{device}: {{0.item}} has not changed in {{value:.0f}} samples ({{0.setting}})"
    row = Limit("", "samples", math.inf, key, _FROZEN, Fault.SENSOR_STALE, still, strict=True)
    return (
        Limit(device, "blocks", GAP_ALLOWED, "", _SILENT, Fault.SEQUENCE_GAP, missing),
        finite_limit(f"{device}: samples", "reads"),
        [row._replace(item=name, most=most) for name, most in zip(channels, still_allowed, strict=True)],
    )


def finite_limit(values: str, answers: str = "answers") -> Limit:
    """Values that are numbers: row 3 of the fault table. Judged by their sum, answer by answer."""
    detail = f"{values} that are not finite in {{times}} {answers} in a row"
    fault, hold = Fault.SAMPLE_NOT_FINITE, BAD_TICKS_ALLOWED
    return Limit(values, "", math.inf, "a number", _SILENT, fault, detail, strict=True, hold=hold)


def sensor_limits(limits: LimitsConfig, channels: Sequence[str]) -> list[Limit]:
    """Bias and noise of each force sensor at rest: row 5 of the fault table. Judged by `Estimate`."""
    rows = (("bias", limits.bias_V, _BIASED), ("noise", limits.noise_V, _NOISY))
    return [
        Limit(f"sensor {channel} {what}", "V", most_V, f"limits.{what}_V", to_do, 5)._replace(
            quantity=_size(_element(f"{what}_V", i))
        )
        for i, channel in enumerate(channels)
        for what, most_V, to_do in rows
    ]


def load_sum_limit(limits: LimitsConfig, standing_N: float) -> Limit:
    """Sum of the wheels' loads, which is what the rover twin stands with. Judged by `Estimate`."""
    to_do = "let the rover stand on its wheels alone; if it does, zero the leg sensors: hil calibrate zero"
    row = Limit("sum of the wheel loads", "N", math.inf, "limits.loads_weight", to_do, shown=".0f")
    return row._replace(quantity=lambda one: sum(one.wheel_load_N)).around(standing_N, limits.loads_weight)


def standing_limit(rig: Rig) -> Limit:
    """Speed of the quickest wheel before the start. On simulated slopes and scans the config says whether it rolls.

    Judged by the speeds of all wheels [rad/s].
    """
    to_do, ground = "wait until all wheels stand still, and keep the rover from rolling", rig.config.ground
    if rig.config.rig != "real" and (ground.kind == "scan" or ground.pitch_deg or ground.roll_deg):
        slope = "at ground.scan.start_m" if ground.kind == "scan" else "ground.pitch_deg, ground.roll_deg"
        to_do = (
            f"the rover rolls down the slope ({slope}), for its gears do not hold it: raise "
            "drives.gear_friction_Nm, as in sim_juno, and lower drives.friction_speed_radps if it creeps"
        )
    noise = 0.0 if rig.config.rig == "real" else rig.config.plant.noise.speed_radps
    most = max(STANDING_RADPS, STANDING_NOISES * noise)

    def quickest(speed_radps: ByWheel) -> float:
        return float(np.abs(speed_radps).max(initial=0.0))  # NaN if one is, unlike max()

    return Limit("wheel speed before the start", "rad/s", most, "standing still", to_do, quantity=quickest)


def turning_limits(wheels: Sequence[str]) -> list[Limit]:
    """Speed of each wheel, as a share of the one commanded: row 38 of the fault table."""
    to_do, key = "look for what blocks the wheel, at its plug, its fuse and its encoder", "of the commanded speed"
    row = Limit("", "", math.inf, key, to_do, Fault.SPEED_NOT_FOLLOWING, hold=NOT_FOLLOWING_NS)
    words = "{0.item}: {measured:.3f} rad/s for {held_s:.2f} s, set: {asked:.3f} rad/s"
    return [row._replace(item=f"wheel {name}", least=STANDS_SHARE, detail=words) for name in wheels]


def vented_limits(rig: Rig) -> list[Limit]:
    """Pressure of each chamber while all valves are off, where it is measured. Judged by `ValveSample`."""
    valves = rig.config.devices.valves if rig.config.devices else None
    if valves is None or not valves.measures_pressures:
        return []
    most_kPa = SWITCHING_PRESSURE_RATIO * rig.config.cylinders.supply_kPa
    words = "half of cylinders.supply_kPa, because all valves are off"
    to_do = "vent the cylinder; if its pressure stays, look for a valve that is stuck, or a sensor that is off"
    return [
        Limit(f"pressure {name}", "kPa", most_kPa, words, to_do, quantity=_size(of))
        for name, of in _pressures_kPa(rig.layout)
    ]


def valve_limit(valves: ValvesSection | None, supply_Pa: float, *, regulated: bool) -> Limit | None:
    """How far a chamber's pressure may be from the one commanded [Pa], once a valve has had its time: row 17.

    None: no time is given, or there is no supply.
    """
    most_Pa, key = SWITCHING_PRESSURE_RATIO * supply_Pa, "half of cylinders.supply_kPa"
    if valves is None or valves.moves_within_s is None or not most_Pa > 0.0:
        return None
    if regulated and valves.follows_within_kPa * 1e3 < most_Pa:
        most_Pa, key = valves.follows_within_kPa * 1e3, "devices.valves.follows_within_kPa"
    detail = "valve {name} is {commanded} for {hold_s:g} s and has {value:.0f} kPa, allowed: {word} {bound:.0f}"
    hold_ns, to_do = round(TIMEOUT_FACTOR * 1e9 * valves.moves_within_s), "look at the plug of that valve and its line"
    row = Limit("pressure of a chamber", "kPa", most_Pa, key, to_do, Fault.VALVE_STUCK, detail)
    return row._replace(strict=True, hold=hold_ns, scale=1e-3)


def power_limits(layout: Layout, limits: LimitsConfig) -> list[Limit]:
    """Current of each motor, either way, and each supply voltage: rows 30 and 31. Judged by `PowerSample`."""
    currents = ((name, _size(_element("current_A", i))) for i, name in enumerate(layout.wheels))
    supplies = ((name, _element("supply_V", i)) for i, name in enumerate(layout.supplies))
    return [
        *_measured("motor current", currents, "A", "motor_current_A", limits),
        *_measured("supply voltage", supplies, "V", "supply_V", limits),
    ]


# Age of currents and supplies: row 2.
POWER_AGE = Limit(
    "age of motor currents and supply", "ms", POWER_AGE_NS * 1e-6, "", _SILENT, Fault.SENSOR_STALE,
    "motor currents and supply: {value:.0f} ms old",
)  # fmt: skip


def pressure_limits(layout: Layout, limits: LimitsConfig) -> list[Limit]:
    """Pressure of each chamber with a valve: rows 30 and 31. Judged by `ValveSample`."""
    return _measured("pressure", _pressures_kPa(layout), "kPa", "pressure_kPa", limits)


def _measured(
    what: str, values: Iterable[tuple[str, Quantity]], unit: str, key: str, limits: LimitsConfig
) -> list[Limit]:
    """Rows of what the config limits: for each part its name, and its value."""
    given: MeasuredLimits | None = getattr(limits, key)
    out, near = Fault.MEASURED_OUT_OF_LIMIT, Fault.MEASURED_NEAR_LIMIT
    if given is None:
        return []
    safe, warn = (
        [none if bound is None else bound for bound, none in zip(pair, (-math.inf, math.inf), strict=True)]
        for pair in ((given.safe_below, given.safe_above), (given.warn_below, given.warn_above))
    )
    rows = [
        Limit(f"{what} {name}", unit, safe[1], f"limits.{key}", _MEASURE, out, least=safe[0], quantity=of)
        for name, of in values
    ]
    return [row._replace(near=row._replace(least=warn[0], most=warn[1], fault=near)) for row in rows]


def _pressures_kPa(layout: Layout) -> Iterator[tuple[str, Quantity]]:
    """Name of each chamber with a valve, and its gauge pressure [kPa]."""

    def pressure_kPa(cylinder: int, way: int) -> Quantity:
        return lambda valves: 1e-3 * valves.pressure_Pa[cylinder][way]

    places = layout.valve_layout.by_valve([((i, 0), (i, 1)) for i in range(len(layout.cylinders))])
    yield from ((name, pressure_kPa(*place)) for name, place in zip(layout.valves, places, strict=True))


def joint_limits(rig: Rig, *, powered: bool) -> list[Limit]:
    """Angle [rad], or displacement [m], of each driven joint: row 36 of the fault table. Judged by `JointSample`.

    `powered`: it may be beyond its range by `outside_deg` of the servos; not before arming.
    """
    rows = []
    for i, one in enumerate(rig.config.driven_joints):
        outside, keys = one.outside_rad if powered else 0.0, f"servos.{one.section}"
        low, high = (f"{one.shown(value):.1f} {one.unit}" for value in (one.low_rad, one.high_rad))
        key = f"servos.{'slides.' if one.slides else ''}outside_{one.unit}"
        detail = f"{one.name} is at {{value:.1f}} {one.unit}, allowed: {low} to {high} and {key}"
        most, fault, angle = one.high_rad + outside, Fault.JOINT_OUT_OF_RANGE, _element("angle_rad", i)
        row = Limit(f"joint {one.name}", one.unit, most, keys, _RANGE, fault, detail, one.low_rad - outside)
        rows.append(row._replace(scale=one.shown(1.0), shown=".1f", quantity=angle))
    return rows


def follow_limits(config: UncheckedConfig) -> list[Limit]:
    """How far each driven joint is from its command [rad, m]: row 35 of the fault table."""
    rows, to_do = [], "look for what blocks the joint, at its motor controller and at its encoder"
    hold_ns = round(1e9 * config.servos.follow_s) if config.servos else 0
    for one in config.driven_joints:
        item, key = f"{one.name} off its command", f"servos.{'slides.' if one.slides else ''}follow_{one.unit}"
        far = f"{{value:.1f}} {one.unit} from its command for {{hold_s:g}} s"
        detail = f"{one.name} is at {{at:.1f}} {one.unit}, {far}, allowed: {{0.setting}}"
        row = Limit(item, one.unit, one.follow_rad, key, to_do, Fault.JOINT_NOT_FOLLOWING, detail)
        rows.append(row._replace(hold=hold_ns, scale=one.shown(1.0)))
    return rows
