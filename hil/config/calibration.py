"""The calibration file of a set of sensors: values of their calibration sheets, stored with every record.

In a config, `devices.daq.calibration` is the path of such a file, relative to the folder of the config. The effective
config holds the content of the file: so a record needs no second file, and its checksum changes with a sensor.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from drivers.calibration import Calibration
from hil.config.problems import Problem
from hil.config.yaml_io import read_yaml, write_yaml

KEY = ("devices", "daq", "calibration")


class SheetError(ValueError):
    """A calibration file that cannot be read, written, or would not be one."""


def calibration_path(raw: Any) -> str | None:
    """The path of the calibration file in a raw config; None if there is none."""
    for key in KEY:
        raw = raw.get(key) if isinstance(raw, dict) else None
    return raw if isinstance(raw, str) else None


def put_calibration(raw: dict[str, Any], folder: Traversable) -> list[Problem]:
    """Replace the path of a calibration file, if the raw config has one, by the content of the file.

    Args:
        raw: the config as read; changed in place. A value that is not a path is left to the check of the config.
        folder: of the config.

    Returns:
        The problems of the file; if there are any, the raw config has no calibration.
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


def update_sheet(file: Path, sensor: str, numbers: Mapping[str, float]) -> Path | None:
    """Write numbers of a sensor into a calibration file, which is made if there is none.

    What the file has of other keys and sensors stays; its comments do not, so the former file is kept.

    Args:
        file: to be written.
        sensor: as in `daq.channels`.
        numbers: by the key of the sheet.

    Returns:
        Where the former file is; None: there was none.

    Raises:
        SheetError: nothing was written.
    """
    content: Any = {}
    try:
        there = file.is_file()
        if there:
            content, problems = read_yaml(file.read_text(encoding="utf-8"), "(file)")
            if problems or not isinstance(content, dict):
                raise SheetError(f"{file}: found what is not a calibration file; nothing was written")
        one = content.get(sensor) or {}
        content[sensor] = {"serial": "unknown", **(one if isinstance(one, dict) else {}), **numbers}
        Calibration.model_validate(content)
        former = file.with_name(f"{file.name}.former")
        if there:
            shutil.copyfile(file, former)
        file.write_text(write_yaml(content), encoding="utf-8")
    except ValidationError as error:
        found = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise SheetError(f"{file}: {found}; nothing was written") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text in UTF-8"
        raise SheetError(f"{file}: {reason}; nothing was written") from None
    return former if there else None
