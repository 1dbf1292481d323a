"""Files of calibration sheets and of thresholds of residuals, whose content a config has in place of their path."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from drivers.device_sections import INSTRUMENTS
from drivers.section import Calibration
from hil.config.files import TextFile, WrongContentError, read_text, replacing, write_whole
from hil.config.schema.instruments import ImuSheet, JointsSheet, MotionSheet
from hil.config.schema.loads import LoadSheet
from hil.config.schema.normal_force import CylinderSheet
from hil.config.schema.residuals import ResidualSheet
from hil.config.text_io import MOST_BYTES, read_yaml, write_yaml

KEY = "devices.daq.calibration"
_SECTIONS = "a section for each sensor, as in rig_configs/calibration"


class SheetError(ValueError):
    """A calibration file that cannot be read, written, or would not be one."""


def _sections(text: str) -> dict[str, Any]:
    content, problems = read_yaml(text, "(file)")
    if problems:
        raise WrongContentError(*((f"{problem.key}: {problem.found}", problem.allowed) for problem in problems))
    if not isinstance(content, dict):
        raise WrongContentError(("no sections", _SECTIONS))
    return content


CALIBRATIONS = tuple(
    TextFile(key, MOST_BYTES, "a readable YAML file, or null", _sections)
    for key in (KEY, *(f"{section}.calibration" for section in ("loads", "cylinders", "residuals", *INSTRUMENTS)))
)
Sheets = Mapping[str, Mapping[str, float | str]]
# Checks of the contents of a calibration file, by what it calibrates.
CHECKED: dict[str, TypeAdapter[Any]] = {
    "daq": TypeAdapter(Calibration),
    "loads": TypeAdapter(dict[str, LoadSheet]),
    "cylinders": TypeAdapter(dict[str, CylinderSheet]),
    "residuals": TypeAdapter(ResidualSheet),
    "motion": TypeAdapter(MotionSheet),
    "imu": TypeAdapter(ImuSheet),
    "joints": TypeAdapter(JointsSheet),
}


def update_sheets(file: Path, sheets: Sheets, kind: str, date: str | None = None) -> Path | None:
    """Write numbers of sensors into a calibration file, which is made if there is none.

    What the file has of other keys and sensors stays; its comments do not, so the former file is kept.

    Args:
        file: to be written.
        sheets: numbers by the key of the sheet, by sensor.
        kind: of `CHECKED`.
        date: of the calibration, YYYY-MM-DD; None: the numbers are none of those that a calibration is dated by.

    Returns:
        Where the former file is; None: there was none.

    Raises:
        SheetError: nothing was written.
    """
    dated = {} if date is None else {"date": date}
    with _refused(file):
        content = _content(file)
        for sensor, numbers in sheets.items():
            sheet = content.get(sensor) or {}
            content[sensor] = {"serial": "unknown", **(sheet if isinstance(sheet, dict) else {}), **numbers, **dated}
        return _write(file, content, kind)


def update_sheet(file: Path, numbers: Mapping[str, Any], kind: str) -> Path | None:
    """Write what was found of an instrument of motion; what the file has of other keys stays.

    Returns:
        Where the former file is; None: there was none.

    Raises:
        SheetError: nothing was written.
    """
    with _refused(file):
        return _write(file, {**(_content(file) if file.is_file() else {"serial": "unknown"}), **numbers}, kind)


def replace_residuals(file: Path, content: Mapping[str, Any]) -> Path | None:
    """Write thresholds of residuals; those of other runs that the file had do not stay.

    Returns:
        Where the former file is; None: there was none.

    Raises:
        SheetError: nothing was written.
    """
    with _refused(file):
        return _write(file, content, "residuals")


def _content(file: Path) -> dict[str, Any]:
    """What a calibration file holds; nothing where there is none."""
    if not file.is_file():
        return {}
    content, problems = read_yaml(read_text(file, MOST_BYTES), "(file)")
    if problems or not isinstance(content, dict):
        raise SheetError(f"{file}: found what is not a calibration file; nothing was written")
    return content


def _write(file: Path, content: Any, kind: str) -> Path | None:
    CHECKED[kind].validate_python(content)
    if not file.is_file():
        write_whole(file, write_yaml(content))
        return None
    former = file.with_name(f"{file.name}.former")
    with replacing(former) as kept:
        shutil.copyfile(file, kept)
        write_whole(file, write_yaml(content))
    return former


@contextmanager
def _refused(file: Path) -> Iterator[None]:
    """What is wrong with the content or the file, as a SheetError."""
    try:
        yield
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors())
        raise SheetError(f"{file}: {problems}; nothing was written") from None
    except SheetError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SheetError(f"{file}: {reason}; nothing was written") from None
