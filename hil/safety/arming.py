"""Arming checks: the conditions that must hold before anything may move."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hil.config.cylinder_parameters import cylinder, largest_arm_m
from hil.config.schema.equipment import LimitsConfig
from hil.messages.fault import Check
from hil.messages.layout import CONFIRMING, ROLES
from hil.messages.stages import Estimate, Samples
from hil.safety.limits import (
    Limit,
    age_limits,
    joint_limits,
    limit_checks,
    load_sum_limit,
    sensor_limits,
    standing_limit,
    vented_limits,
)

if TYPE_CHECKING:
    from hil.config.rig import Rig

# Disk space that the record of a trial and its reserve need [bytes].
DISK_NEEDED = 200_000_000
# What to do about a device that does not answer, or sends nothing.
LOOK_AT_IT = "check its power, its cable and its port in the config"
NO_ANSWER = f"{LOOK_AT_IT}; hil check shows which device does not answer"
# Beside the servos' own `outside_deg`, so many standard deviations of the encoder's noise and bias.
_NOISES = 3.0


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
        *limit_checks(joint_limits(rig, powered=False), samples.servos),
        *zero_checks(rig, samples),
        *limit_checks(sensor_limits(limits, rig.layout.channels), estimate),
        *limit_checks([standing_limit(rig)], estimate.wheel_speed_radps),
        *limit_checks(vented_limits(rig), samples.valves),
    ]


def zero_checks(rig: Rig, samples: Samples) -> list[Check]:
    """One check for each driven joint that has an encoder of the instrument `joints`, once that has a reading."""
    config, servos, joints = rig.config, samples.servos, samples.joints
    if config.servos is None or config.joints is None or servos is None or joints is None or not joints.sequence:
        return []
    driven = dict(zip(rig.layout.servos, servos.angle_rad, strict=True))
    within_deg = config.servos.outside_deg + _NOISES * (config.joints.noise_deg + config.joints.bias_deg)
    to_do = "look at the joint: then correct the zero of the servo (docs/how-to/drive-joints.md) or of the encoder"
    key, checks = "servos.outside_deg, and the encoder's noise", list[Check]()
    for encoder, value in zip(config.encoders, joints.value, strict=True):
        if (angle := driven.get(encoder.joint)) is None or not math.isfinite(value):
            continue
        sign = -1.0 if encoder.reversed else 1.0
        seen = sign * (value - math.radians(encoder.zero_deg))
        off_deg = abs(math.degrees(math.remainder(angle - seen, math.tau)))
        checks.append(
            Limit(f"zero of {encoder.joint}", "deg apart", within_deg, key, to_do, shown=".1f").check(off_deg)
        )
    return checks


def load_checks(limits: LimitsConfig, samples: Samples, estimate: Estimate, standing_N: float) -> list[Check]:
    """Whether the load channels are recent, and the wheels' loads add up to what the rover twin stands with [N].

    A sensor that was zeroed under load, or not at all, shows here.
    """
    if estimate.loads is None:
        return []
    checks = limit_checks(age_limits(limits, ["loads"]).values(), samples)
    if estimate.wheel_load_N and standing_N > 0.0:
        checks += limit_checks([load_sum_limit(limits, standing_N)], estimate)
    return checks


def disk_check(folder: Path) -> Check:
    """Whether the disk of the record's folder has enough space for the record."""
    free_MB = 1e-6 * shutil.disk_usage(folder).free
    to_do = "delete what is not needed on that disk, or write the runs to another one (--out)"
    needed = Limit("disk space", "MB", math.inf, "", to_do, least=1e-6 * DISK_NEEDED, shown=".0f")
    return needed.check(free_MB, f"{free_MB:.0f} MB free")


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
    checks = [
        Limit("cylinder supply", "kPa", most_kPa, "limits.cylinder_kPa", lower, shown="g").check(cylinders.supply_kPa),
        Limit("cylinder torque, at full pressure", *torque, lower, shown=".1f").check(torque_Nm),
    ]
    if rig.section.controls_loads:
        lower = "lower normal_force.torque_limit_Nm"
        controlled = Limit("cylinder torque, controlled", *torque, lower, shown="g")
        checks.append(controlled.check(rig.config.normal_force.torque_limit_Nm))
    return checks
