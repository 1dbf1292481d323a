"""The calibration file of a set of sensors: what their calibration sheets say, kept with every record.

In a config, `devices.daq.calibration` is the path of such a file, seen from the config's own folder. The effective
config holds what is in the file instead: so a record needs no file beside it, and its checksum changes with a sensor.
"""

from __future__ import annotations

from importlib.resources.abc import Traversable
from typing import Any

from pydantic import Field

from hil.config.base import Section
from hil.config.problems import Problem
from hil.config.text import read_yaml

KEY = ("devices", "daq", "calibration")
# The key that a sensor's sensitivity stands under, by the kind of its conditioning.
SENSITIVITY = {
    "iepe_force": "sensitivity_mVpN",
    "voltage": "sensitivity_mVpN",
    "bridge": "sensitivity_mVpVpN",
    "charge": "sensitivity_pCpN",
}


class CalibratedSensor(Section):
    """The calibration sheet of one sensor."""

    serial: str = Field(
        pattern=r"^[^\p{C}\p{Zl}\p{Zp}]+$",
        max_length=64,
        description="serial number on the sensor",
        json_schema_extra={"note": "text of up to 64 characters; in quotes if it is a number"},
    )
    sensitivity_mVpN: float | None = Field(None, ge=1e-3, le=1000, description="of an IEPE or voltage sensor")
    sensitivity_mVpVpN: float | None = Field(
        None, ge=1e-6, le=10, description="of a bridge, for each volt of excitation"
    )
    sensitivity_pCpN: float | None = Field(None, ge=1e-3, le=1000, description="of a charge sensor")
    range_N: float | None = Field(None, ge=0.1, le=1e6, description="the most it measures; null: not stated")
    date: str | None = Field(
        None,
        pattern=r"^[0-9]{4}-[0-1][0-9]-[0-3][0-9]$",
        description="of the calibration; null: not stated",
        json_schema_extra={"note": "YYYY-MM-DD"},
    )


class Calibration(Section):
    """Calibration sheets by sensor."""

    top: CalibratedSensor | None = Field(None, description="of the triangle")
    lower_left: CalibratedSensor | None = Field(None, description="of the triangle")
    lower_right: CalibratedSensor | None = Field(None, description="of the triangle")
    front_left: CalibratedSensor | None = Field(None, description="of the bumper")
    front_right: CalibratedSensor | None = Field(None, description="of the bumper")


def sensitivity_mVpN(sheet: CalibratedSensor, kind: str, excitation_V: float) -> float | None:
    """What `/daq/raw` holds for a newton [mV/N]; None where the sheet does not say.

    A bridge is recorded as its output at the set excitation, a charge as 1 mV for each pC.
    """
    value: float | None = getattr(sheet, SENSITIVITY[kind])
    return value * excitation_V if value is not None and kind == "bridge" else value


def calibration_path(raw: Any) -> str | None:
    """The path of the calibration file in a raw config; None where there is none."""
    for key in KEY:
        raw = raw.get(key) if isinstance(raw, dict) else None
    return raw if isinstance(raw, str) else None


def put_calibration(raw: dict[str, Any], folder: Traversable) -> list[Problem]:
    """Replace the path of a calibration file, if the raw config holds one, by what is in the file.

    Args:
        raw: the config as read; changed in place. What is no path is left to the config's own check.
        folder: of the config.

    Returns:
        What is wrong with the file; then the raw config holds no calibration.
    """
    path, dotted = calibration_path(raw), ".".join(KEY)
    if path is None:
        return []
    section = raw["devices"]["daq"]
    del section["calibration"]
    if not path or "\0" in path:
        return [Problem(dotted, repr(path), "the path of a calibration file, or null")]
    file = folder / path
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = "not text in UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", "")
        return [Problem(dotted, f"{path}: {reason or 'cannot be read'}", f"a readable YAML file; looked for {file}")]
    content, problems = read_yaml(text, "(file)")
    problems = [Problem(dotted, f"{path}: {problem.key}: {problem.found}", problem.allowed) for problem in problems]
    if not problems and not isinstance(content, dict):
        problems = [Problem(dotted, f"{path}: no sections", "a section for each sensor, as in rig_configs/calibration")]
    if not problems:
        section["calibration"] = content
    return problems
