"""Arming checks: the conditions that must hold before anything may move."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hil.config.schema.equipment import LimitsConfig
from hil.messages.fault import Check
from hil.messages.layout import CONFIRMING, ROLES
from hil.messages.stages import Estimate, Samples
from hil.safety.joint_safety import joint_checks
from hil.safety.limits import age_limits, cylinder_limits, limit_checks, sensor_limits, standing_limit, vented_limits

if TYPE_CHECKING:
    from hil.config.rig import Rig


# Disk space that the record of a trial and its reserve need [bytes].
DISK_NEEDED = 200_000_000
# What to do about a device that does not answer, or sends nothing.
NO_ANSWER = "check its power, its cable and its port in the config; hil check shows which device does not answer"


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
        *[_confirmed(name, getattr(samples, name).acknowledged_ns) for name in CONFIRMING if name in links],
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


def _confirmed(device: str, acknowledged_ns: int) -> Check:
    """Before arming only the safe state has been commanded, so any confirmation confirms that state."""
    return confirmed_check(f"{device} confirmed {ROLES[device].held}", acknowledged_ns >= 0)


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
    return limit_checks(cylinder_limits(rig), rig.config)
