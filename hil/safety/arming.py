"""The limits of a rig as rows, by which the monitor, `hil check` and the fault table judge too, and arming checks.

A limit on more than the values of one tick (a valve, a wheel, a joint that does not follow) has its own monitor. Arming
checks are the conditions that must hold before anything may move.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, datetime
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hil.config.cylinder_parameters import cylinder, largest_arm_m
from hil.config.schema.equipment import LimitsConfig
from hil.config.schema.instruments import MeasuredLimits
from hil.messages.fault import SWITCHING_PRESSURE_RATIO, Alarm, Check, Fault
from hil.messages.layout import AGED, CONFIRMING, ROLES, SAMPLED, Layout
from hil.messages.stages import ByWheel, Estimate, Samples
from hil.safety.joint_safety import joint_checks

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
# Disk space that the record of a trial and its reserve need [bytes].
DISK_NEEDED = 200_000_000
# What to do about a device that does not answer, or sends nothing.
NO_ANSWER = "check its power, its cable and its port in the config; hil check shows which device does not answer"

Quantity = Callable[[Any], float]


class Limit(NamedTuple):
    """A quantity, what is allowed of it, and what to do.

    Attributes:
        item: the quantity, as a check names it.
        quantity: its value [unit], from what the rows of one function here are judged by; NaN: it is not known.
        unit: of value and bounds.
        most: largest value.
        setting: key of the config that sets the bounds, or what sets them.
        to_do: what the person at the rig can do before arming.
        fault: row of the fault table of a value beyond the bounds; 0: none, it is judged before a run alone.
        detail: of that fault, in words.
        least: least value.
        near: a row of narrower bounds, beyond which the run is only marked.
        shown: format of the value in a check.
    """

    item: str
    quantity: Quantity
    unit: str
    most: float
    setting: str
    to_do: str
    fault: int = 0
    detail: str = "{0.item}: {value:.4g} {0.unit}, allowed: {side} {bound:g} {0.unit} ({0.setting})"
    least: float = -math.inf
    near: Limit | None = None
    shown: str = ".4g"

    def beyond(self, value: float) -> float | None:
        """The bound that a value is beyond, or None; NaN is beyond none."""
        if value < self.least:
            return self.least
        return self.most if value > self.most else None

    def alarm(self, value: float) -> Alarm | None:
        """The fault of a value in a run, or None."""
        if (bound := self.beyond(value)) is None:
            return self.near.alarm(value) if self.near else None
        side = "at least" if value < bound else "at most"
        return Alarm(Fault(self.fault), value, bound, self.detail.format(self, value=value, side=side, bound=bound))

    def check(self, value: float, found: str = "") -> Check:
        """Whether a value is within the bounds; one that is not finite is not. `found`: the value in other words."""
        both = (("at least", self.least), ("at most", self.most))
        sides = " and ".join(f"{side} {bound:g}" for side, bound in both if math.isfinite(bound))
        allowed = f"{sides} {self.unit}" if sides else "any: it is only marked"
        ok, found = math.isfinite(value) and self.beyond(value) is None, found or f"{value:{self.shown}} {self.unit}"
        return Check(self.item, ok, found, f"{allowed} ({self.setting})", self.to_do)


def _element(vector: str, place: int) -> Quantity:
    values = attrgetter(vector)
    return lambda found: values(found)[place]


def _size(quantity: Quantity) -> Quantity:
    return lambda found: abs(quantity(found))


def alarms(limits: Iterable[Limit], found: Any) -> Iterator[Alarm]:
    """The faults of a tick by rows, from what they are judged by."""
    for limit in limits:
        if alarm := limit.alarm(limit.quantity(found)):
            yield alarm


def limit_checks(limits: Iterable[Limit], found: Any) -> list[Check]:
    """The checks of rows, by what they are judged by."""
    return [limit.check(limit.quantity(found)) for limit in limits]


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
        return Limit(f"{item} sample age", lambda one: age_ns(one) * 1e-6, *bounds, Fault.SENSOR_DROPOUT, detail)
    at_ns, detail = attrgetter(f"{link}.t_ns"), f"{link}: newest sample is {{value:.0f}} ms old ({{0.setting}})"
    return Limit(f"{link} sample age", lambda one: (one.t_ns - at_ns(one)) * 1e-6, *bounds, Fault.SENSOR_STALE, detail)


def sensor_limits(limits: LimitsConfig, channels: Sequence[str]) -> list[Limit]:
    """Bias and noise of each force sensor at rest: row 5 of the fault table. Judged by `Estimate`."""
    rows = (("bias", limits.bias_V, _BIASED), ("noise", limits.noise_V, _NOISY))
    return [
        Limit(f"sensor {channel} {what}", _size(_element(f"{what}_V", i)), "V", most_V, f"limits.{what}_V", to_do, 5)
        for i, channel in enumerate(channels)
        for what, most_V, to_do in rows
    ]


def standing_limit(rig: Rig) -> Limit:
    """Speed of the quickest wheel before the start. On a simulated slope, keys of the config say whether it rolls.

    Judged by the speeds of all wheels [rad/s].
    """
    to_do, ground = "wait until all wheels stand still, and keep the rover from rolling", rig.config.ground
    if rig.config.rig != "real" and (ground.pitch_deg or ground.roll_deg):
        to_do = (
            "the rover rolls down the slope (ground.pitch_deg, ground.roll_deg), for its gears do not hold it: raise "
            "drives.gear_friction_Nm, as in sim_juno, and lower drives.friction_speed_radps if it creeps"
        )
    noise = 0.0 if rig.config.rig == "real" else rig.config.plant.noise.speed_radps
    most = max(STANDING_RADPS, STANDING_NOISES * noise)

    def quickest(speed_radps: ByWheel) -> float:
        return float(np.abs(speed_radps).max(initial=0.0))  # NaN if one is, unlike max()

    return Limit("wheel speed before the start", quickest, "rad/s", most, "standing still", to_do)


def vented_limits(rig: Rig) -> list[Limit]:
    """Pressure of each chamber while all valves are off, where it is measured. Judged by `ValveSample`."""
    valves = rig.config.devices.valves if rig.config.devices else None
    if valves is None or not valves.measures_pressures:
        return []
    most_kPa = SWITCHING_PRESSURE_RATIO * rig.config.cylinders.supply_kPa
    words = "half of cylinders.supply_kPa, because all valves are off"
    to_do = "vent the cylinder; if its pressure stays, look for a valve that is stuck, or a sensor that is off"
    return [
        Limit(f"pressure {name}", _size(of), "kPa", most_kPa, words, to_do) for name, of in _pressures_kPa(rig.layout)
    ]


def power_limits(layout: Layout, limits: LimitsConfig) -> list[Limit]:
    """Current of each motor, either way, and each supply voltage: rows 30 and 31. Judged by `PowerSample`."""
    currents = ((name, _size(_element("current_A", i))) for i, name in enumerate(layout.wheels))
    supplies = ((name, _element("supply_V", i)) for i, name in enumerate(layout.supplies))
    return [
        *_measured("motor current", currents, "A", "motor_current_A", limits),
        *_measured("supply voltage", supplies, "V", "supply_V", limits),
    ]


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
        Limit(f"{what} {name}", of, unit, safe[1], f"limits.{key}", _MEASURE, out, least=safe[0]) for name, of in values
    ]
    return [row._replace(near=row._replace(least=warn[0], most=warn[1], fault=near)) for row in rows]


def _pressures_kPa(layout: Layout) -> Iterator[tuple[str, Quantity]]:
    """Name of each chamber with a valve, and its gauge pressure [kPa]."""

    def pressure_kPa(cylinder: int, way: int) -> Quantity:
        return lambda valves: 1e-3 * valves.pressure_Pa[cylinder][way]

    places = layout.valve_layout.by_valve([((i, 0), (i, 1)) for i in range(len(layout.cylinders))])
    yield from ((name, pressure_kPa(*place)) for name, place in zip(layout.valves, places, strict=True))


class NotArmedError(Exception):
    """Arming was refused before the first tick; the message says why, and what to do."""


def arming_checks(rig: Rig, samples: Samples, estimate: Estimate, faults: Sequence[str]) -> list[Check]:
    """All arming checks on the values of a tick, both passed and failed."""
    limits, links = rig.limits, rig.layout.links
    to_do = "remove the cause of each latched fault, then clear it by its number"
    ages = age_limits(limits, [link for link in links if link != "loads"])
    return [
        Check("fault latch", not faults, ", ".join(faults) or "none", "none", to_do),
        *limit_checks(ages.values(), samples),
        *[
            # only the safe state has been commanded yet, so any confirmation confirms that state
            confirmed_check(f"{name} confirmed {ROLES[name].held}", getattr(samples, name).acknowledged_ns >= 0)
            for name in CONFIRMING
            if name in links
        ],
        *joint_checks(rig, samples),
        *limit_checks(sensor_limits(limits, rig.layout.channels), estimate),
        *limit_checks([standing_limit(rig)], estimate.wheel_speed_radps),
        *limit_checks(vented_limits(rig), samples.valves),
    ]


def load_checks(limits: LimitsConfig, samples: Samples, estimate: Estimate, standing_N: float) -> list[Check]:
    """Whether the load channels are recent, and the wheels' loads add up to what the rover twin stands with [N].

    A sensor that was zeroed under load, or not at all, shows here.
    """
    if estimate.loads is None:
        return []
    checks = limit_checks(age_limits(limits, ["loads"]).values(), samples)
    if estimate.wheel_load_N and standing_N > 0.0:
        sum_N, share = sum(estimate.wheel_load_N), limits.loads_weight
        allowed = f"{standing_N:.0f} N within {share:.0%} (limits.loads_weight)"
        ok = abs(sum_N - standing_N) <= share * standing_N
        to_do = "let the rover stand on its wheels alone; if it does, zero the leg sensors: hil calibrate zero"
        checks.append(Check("sum of the wheel loads", ok, f"{sum_N:.0f} N", allowed, to_do))
    return checks


def disk_check(folder: Path) -> Check:
    """Whether the disk of the record's folder has enough space for the record."""
    free = shutil.disk_usage(folder).free
    allowed = f"at least {DISK_NEEDED / 1e6:.0f} MB"
    to_do = "delete what is not needed on that disk, or write the runs to another one (--out)"
    return Check("disk space", free >= DISK_NEEDED, f"{free / 1e6:.0f} MB free", allowed, to_do)


def confirmed_check(item: str, ok: bool, found: str = "confirmed", allowed: str = "confirmed") -> Check:
    """Whether a device has confirmed its stop."""
    return Check(item, ok, found if ok else "not confirmed", allowed, NO_ANSWER)


_KEY = "limits.calibration_days"


def today() -> date:
    """The date at this place, as on a certificate: by UTC it would be yesterday or tomorrow for hours of each day."""
    return datetime.now().astimezone().date()


def calibration_checks(rig: Rig, today: date) -> list[Check]:
    """One for each calibration sheet of a rig: its date and its age."""
    return [_check(key, dated, today, rig.limits.calibration_days) for key, dated in _dates(rig)]


def _dates(rig: Rig) -> Iterator[tuple[str, str | None]]:
    """Key of each sheet, and its date."""
    config, daq = rig.config, rig.config.devices.daq if rig.config.devices else None
    for channel in rig.layout.channels:
        if daq is not None and (sheet := daq.sheet(channel)) is not None:
            yield f"devices.daq.calibration.{channel}", sheet.date
    for key, sheets in (
        ("loads", config.loads.calibration if config.loads else None),
        ("cylinders", config.cylinders.calibration),
    ):
        for name, one in (sheets or {}).items():
            yield f"{key}.calibration.{name}", one.date
    for role, section in config.instruments.items():
        if section.calibration is not None:
            yield f"{role}.calibration", section.calibration.date


def _check(key: str, dated: str | None, today: date, most_days: int | None) -> Check:
    allowed = f"any age ({_KEY}: null)" if most_days is None else f"a date, at most {most_days} days ago ({_KEY})"
    to_do = f"calibrate it again, or write the date of its certificate (YYYY-MM-DD) into its sheet, or raise {_KEY}"
    try:
        age_days = None if dated is None else (today - date.fromisoformat(dated)).days
        found = "no date" if age_days is None else f"{dated}, {age_days} days ago"
    except ValueError:  # a day that does not exist, like 2026-02-30
        age_days, found = None, f"{dated}, which is no day"
    ok = most_days is None or (age_days is not None and 0 <= age_days <= most_days)
    return Check(f"date of {key}", ok, found, allowed, to_do)


def cylinder_checks(rig: Rig) -> list[Check]:
    """Whether the cylinders stay within the pressure and the torque that they are meant for; none without cylinders."""
    if not rig.layout.cylinders:
        return []
    most_kPa, torque = rig.limits.cylinder_kPa, ("N m", rig.limits.bogie_torque_Nm, "limits.bogie_torque_Nm")
    cylinders, lower = rig.config.cylinders, "turn the supply down, and lower cylinders.supply_kPa to it"
    torque_Nm = cylinder(cylinders).area * cylinders.supply_kPa * 1e3 * largest_arm_m(cylinders)
    limits = [
        Limit("cylinder supply", attrgetter("supply_kPa"), "kPa", most_kPa, "limits.cylinder_kPa", lower, shown="g"),
        Limit("cylinder torque, at full pressure", lambda _: torque_Nm, *torque, lower, shown=".1f"),
    ]
    checks = limit_checks(limits, cylinders)
    if rig.section.controls_loads:
        wanted_Nm, lower = attrgetter("torque_limit_Nm"), "lower normal_force.torque_limit_Nm"
        controlled = Limit("cylinder torque, controlled", wanted_Nm, *torque, lower, shown="g")
        checks += limit_checks([controlled], rig.config.normal_force)
    return checks
