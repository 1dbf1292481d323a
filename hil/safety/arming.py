"""Arming checks: the conditions that must hold before anything may move."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drivers.messages import ValveSample
from hil.config.cylinder_parameters import cylinder, largest_arm_m
from hil.config.schema.equipment import LimitsConfig
from hil.messages.fault import SWITCHING_PRESSURE_RATIO, Check
from hil.messages.layout import AGED, CONFIRMING, ROLES
from hil.messages.stages import ByWheel, Estimate, Samples
from hil.safety.device_monitors import measures_pressures
from hil.safety.joint_safety import joint_checks

if TYPE_CHECKING:
    from hil.config.rig import Rig


# A wheel slower than this counts as standing still [rad/s].
STANDING_RADPS = 0.01
# Simulated encoders read noise that the config states: a limit below so many standard deviations refuses a still rover.
STANDING_NOISES = 6.0
# Disk space that the record of a trial and its reserve need [bytes].
DISK_NEEDED = 200_000_000
# What to do about a device that does not answer, or sends nothing.
NO_ANSWER = "check its power, its cable and its port in the config; hil check shows which device does not answer"
_SILENT = "check the device's power and cable; hil check shows whether and how often it sends"
_BIASED = "unload the sensor; then look for an open wire, a short circuit, or an amplifier without power"
_NOISY = "keep rover and obstacle still; then check the sensor's cable, its shield and its earth"


class NotArmedError(Exception):
    """Arming was refused before the first tick; the message says why, and what to do."""


def arming_checks(rig: Rig, samples: Samples, estimate: Estimate, faults: Sequence[str]) -> list[Check]:
    """All arming checks on the values of a tick, both passed and failed."""
    limits, links = rig.limits, rig.layout.links
    to_do = "remove the cause of each latched fault, then clear it by its number"
    checks = [Check("fault latch", not faults, ", ".join(faults) or "none", "none", to_do)]
    if "daq" in links:
        checks.append(age_check(limits, samples.daq_age_ns * 1e-6))
    newest = {name: getattr(samples, name) for name in AGED if name in links}
    for name, sample in newest.items():
        age_ms, key = (samples.t_ns - sample.t_ns) * 1e-6, f"{name}_age_ms"
        checks.append(_at_most(f"{name} sample age", age_ms, getattr(limits, key), "ms", f"limits.{key}", _SILENT))
    checks += [
        _confirmed(name, sample.acknowledged_ns, ROLES[name].held)
        for name, sample in newest.items()
        if name in CONFIRMING
    ]
    return [
        *checks,
        *joint_checks(rig, samples),
        *sensor_checks(limits, rig.layout.channels, estimate),
        standing_check(rig, estimate.wheel_speed_radps),
        *pressure_checks(rig, samples.valves),
    ]


def load_checks(limits: LimitsConfig, samples: Samples, estimate: Estimate, standing_N: float) -> list[Check]:
    """Whether the load channels are recent, and the wheels' loads add up to what the rover twin stands with [N].

    A sensor that was zeroed under load, or not at all, shows here.
    """
    if estimate.loads is None:
        return []
    checks = [load_age_check(limits, samples.load_age_ns * 1e-6)]
    if estimate.wheel_load_N and standing_N > 0.0:
        sum_N, share = sum(estimate.wheel_load_N), limits.loads_weight
        allowed = f"{standing_N:.0f} N within {share:.0%} (limits.loads_weight)"
        ok = abs(sum_N - standing_N) <= share * standing_N
        to_do = "let the rover stand on its wheels alone; if it does, zero the leg sensors: hil calibrate zero"
        checks.append(Check("sum of the wheel loads", ok, f"{sum_N:.0f} N", allowed, to_do))
    return checks


def age_check(limits: LimitsConfig, age_ms: float) -> Check:
    """Whether the newest sample is recent enough."""
    return _at_most("DAQ sample age", age_ms, limits.daq_age_ms, "ms", "limits.daq_age_ms", _SILENT)


def load_age_check(limits: LimitsConfig, age_ms: float) -> Check:
    """The same of the load channels."""
    return _at_most("load sample age", age_ms, limits.loads_age_ms, "ms", "limits.loads_age_ms", _SILENT)


def sensor_checks(limits: LimitsConfig, channels: Sequence[str], estimate: Estimate) -> list[Check]:
    """Whether the bias and the noise of each sensor are within their limits."""
    checks = []
    for channel, bias, noise in zip(channels, estimate.bias_V, estimate.noise_V, strict=True):
        name = f"sensor {channel}"
        checks += [
            _at_most(f"{name} bias", abs(bias), limits.bias_V, "V", "limits.bias_V", _BIASED),
            _at_most(f"{name} noise", noise, limits.noise_V, "V", "limits.noise_V", _NOISY),
        ]
    return checks


def pressure_checks(rig: Rig, valves: ValveSample) -> list[Check]:
    """Whether the chambers are vented, where pressure is measured: all valves are off."""
    if not measures_pressures(rig.config.devices):
        return []
    allowed = SWITCHING_PRESSURE_RATIO * rig.config.cylinders.supply_kPa
    words = "half of cylinders.supply_kPa, because all valves are off"
    to_do = "vent the cylinder; if its pressure stays, look for a valve that is stuck, or a sensor that is off"
    return [
        _at_most(f"pressure {name}", abs(pressure_Pa) * 1e-3, allowed, "kPa", words, to_do)
        for name, pressure_Pa in zip(
            rig.layout.valves, rig.layout.valve_layout.by_valve(valves.pressure_Pa), strict=True
        )
    ]


def standing_check(rig: Rig, speed_radps: ByWheel) -> Check:
    """Whether all wheels stand still. On a simulated slope, keys of the config say whether they do."""
    quickest = float(np.abs(speed_radps).max(initial=0.0))  # NaN if one is, unlike max()
    to_do, ground = "wait until all wheels stand still, and keep the rover from rolling", rig.config.ground
    if rig.config.rig != "real" and (ground.pitch_deg or ground.roll_deg):
        to_do = (
            "the rover rolls down the slope (ground.pitch_deg, ground.roll_deg), for its gears do not hold it: raise "
            "drives.gear_friction_Nm, as in sim_juno, and lower drives.friction_speed_radps if it creeps"
        )
    noise = 0.0 if rig.config.rig == "real" else rig.config.plant.noise.speed_radps
    limit = max(STANDING_RADPS, STANDING_NOISES * noise)
    return _at_most("wheel speed before the start", quickest, limit, "rad/s", "standing still", to_do)


def disk_check(folder: Path) -> Check:
    """Whether the disk of the record's folder has enough space for the record."""
    free = shutil.disk_usage(folder).free
    allowed = f"at least {DISK_NEEDED / 1e6:.0f} MB"
    to_do = "delete what is not needed on that disk, or write the runs to another one (--out)"
    return Check("disk space", free >= DISK_NEEDED, f"{free / 1e6:.0f} MB free", allowed, to_do)


def _confirmed(device: str, acknowledged_ns: int, what: str) -> Check:
    """Before arming only the safe state has been commanded, so any confirmation confirms that state."""
    ok = acknowledged_ns >= 0
    return Check(f"{device} confirmed {what}", ok, "confirmed" if ok else "not confirmed", "confirmed", NO_ANSWER)


def _at_most(item: str, value: float, limit: float, unit: str, setting: str, to_do: str) -> Check:
    # a value that is not a number is not at most anything
    return Check(item, value <= limit, f"{value:.4g} {unit}", f"at most {limit:g} {unit} ({setting})", to_do)


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
    limits, supply_kPa = rig.limits, rig.config.cylinders.supply_kPa
    torque_Nm = cylinder(rig.config.cylinders).area * supply_kPa * 1e3 * largest_arm_m(rig.config.cylinders)
    found, allowed = f"{supply_kPa:g} kPa", f"at most {limits.cylinder_kPa:g} kPa (limits.cylinder_kPa)"
    most = f"at most {limits.bogie_torque_Nm:g} N m (limits.bogie_torque_Nm)"
    lower = "turn the supply down, and lower cylinders.supply_kPa to it"
    ok, torque = torque_Nm <= limits.bogie_torque_Nm, f"{torque_Nm:.1f} N m"
    checks = [
        Check("cylinder supply", supply_kPa <= limits.cylinder_kPa, found, allowed, lower),
        Check("cylinder torque, at full pressure", ok, torque, most, lower),
    ]
    if rig.section.controls_loads:
        wanted_Nm = rig.config.normal_force.torque_limit_Nm
        ok = wanted_Nm <= limits.bogie_torque_Nm
        lower = "lower normal_force.torque_limit_Nm"
        checks.append(Check("cylinder torque, controlled", ok, f"{wanted_Nm:g} N m", most, lower))
    return checks
