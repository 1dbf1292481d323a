"""Arming checks of how old the calibrations are, by the dates in their sheets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime

from hil.config import Config
from hil.messages.check import Check

_KEY = "limits.calibration_days"


def today() -> date:
    """The date at this place, as on a certificate: by UTC it would be yesterday or tomorrow for hours of each day."""
    return datetime.now().astimezone().date()


def calibration_checks(config: Config, today: date) -> list[Check]:
    """One for each calibration sheet of the config: its date and its age.

    Args:
        config: of the rig. What has no sheet is not checked.
        today: date to count from.
    """
    return [_check(key, dated, today, config.limits.calibration_days) for key, dated in _dates(config)]


def _dates(config: Config) -> Iterator[tuple[str, str | None]]:
    """Key of each sheet, and its date."""
    daq = config.devices.daq if config.devices else None
    for channel in config.layout.channels:
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
