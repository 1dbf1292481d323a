"""Samples that another program recorded: columns of a CSV, MAT or TDMS file, by a map, as volts of a rig's sensors."""

from __future__ import annotations

import base64
import csv
import io
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from drivers.extras import install_command
from hil.config import ConfigError
from hil.config.limited_process import in_limited_process
from hil.config.text_file import read_bytes, read_text
from hil.config.yaml_io import MOST_BYTES, read_yaml
from hil.signals.channels import SensorChannels

Floats = NDArray[np.float64]
_MOST_FILE_BYTES, _MOST_SAMPLES = 2**28, 2**24
# A CSV file has its names in one of so many first lines, and units in so many behind them.
_HEAD_LINES, _UNIT_LINES = 100, 3
# Steps of time that are off the sensors' rate by this share of a step are those of its clock.
_STEP = 0.01
_NEWTON = {"N": 1.0, "kN": 1e3, "mN": 1e-3, "lbf": 4.4482216152605}
_VOLT = {"V": 1.0, "mV": 1e-3}
_SECOND = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class ForeignRecordError(ValueError):
    """A file or map that no samples can be read by; the message says why, and what is allowed."""


class SensorColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the force on a sensor stands.

    Attributes:
        column: name of the column: of CSV as in its header, of TDMS `group/channel`, of MAT the variable, `a.b` of a
            struct, with `:2` behind it the second column of a matrix.
        unit: of force on the plate, or of the sensor's voltage.
        scale: by which the numbers are multiplied: -1 where a push is negative.
    """

    column: str
    unit: Literal["N", "kN", "mN", "lbf", "V", "mV"]
    scale: float = 1.0


class Time(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Times of the samples: of a column, or evenly by a rate."""

    column: str | None = None
    unit: Literal["s", "ms", "us", "ns"] = "s"
    rate_hz: float | None = None


class Map(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the columns of a file are: the time, and a column for each sensor of the rig that has one."""

    time: Time
    channels: dict[str, SensorColumn]


class ForeignSamples(NamedTuple):
    """Samples as a rig's own data acquisition gives them.

    Attributes:
        t_ns: (n,) from the first sample on [ns].
        volts: (n, channels) [V].
        notes: what was done to the data, in words.
    """

    t_ns: NDArray[np.int64]
    volts: Floats
    notes: tuple[str, ...]


def read_map(path: Path) -> Map:
    """The map of a YAML file. Raises ForeignRecordError."""
    try:
        value, problems = read_yaml(read_text(path, MOST_BYTES), str(path))
        if problems:
            raise ForeignRecordError("\n".join(map(str, problems)))
        return msgspec.convert(value, Map)
    except (OSError, ValueError, ConfigError, msgspec.ValidationError) as error:
        if isinstance(error, ForeignRecordError):
            raise
        raise ForeignRecordError(f"{path} is no map of columns: {error}; {_FORM}") from None


_FORM = "time: {column: NAME, unit: s} or {rate_hz: 51200}, and channels: {SENSOR: {column: NAME, unit: N}}"


def read_samples(path: Path, columns: Map, names: Sequence[str], sensors: SensorChannels) -> ForeignSamples:
    """The samples of a file.

    Args:
        path: of the file, .csv, .txt, .mat or .tdms.
        columns: what stands where.
        names: of the rig's sensors.
        sensors: their sensitivities turn newtons into volts.

    Raises:
        ForeignRecordError: the file, or what the map says of it, cannot be used.
    """
    timed = columns.time.column is not None
    if unknown := [name for name in columns.channels if name not in names] or not columns.channels:
        raise ForeignRecordError(f"channels {unknown or 'none'}, allowed: one or more of {', '.join(names)}")
    if timed == (columns.time.rate_hz is not None) or not (timed or 0.0 < (columns.time.rate_hz or 0.0) < 1e9):
        raise ForeignRecordError("time has a column or a rate_hz above 0, and not both")
    asked = ([columns.time.column or ""] if timed else []) + [one.column for one in columns.channels.values()]
    try:
        found = _columns(path, asked)
    except (OSError, ValueError) as error:
        raise ForeignRecordError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    t_s = found[0] * _SECOND[columns.time.unit] if timed else np.arange(len(found[0])) / (columns.time.rate_hz or 1.0)
    if not np.isfinite(found).all() or len(t_s) < 2 or (np.diff(t_s) <= 0.0).any():
        raise ForeignRecordError(f"{path}: {len(t_s)} samples; allowed: two or more, finite numbers, at rising times")
    volts, notes = np.zeros((len(t_s), len(names))), list[str]()
    for (name, one), values in zip(columns.channels.items(), found[timed:], strict=True):
        place = names.index(name)
        unit = _VOLT.get(one.unit) or _NEWTON[one.unit] / sensors.newton_per_volt[place]
        volts[:, place] = values * one.scale * unit
    if missing := [name for name in names if name not in columns.channels]:
        notes.append(f"no column for {', '.join(missing)}: taken as 0 V; rules of a single sensor say nothing then")
    return _on_clock(t_s - t_s[0], volts, sensors.rate_hz, notes)


def _on_clock(t_s: Floats, volts: Floats, rate_hz: int, notes: list[str]) -> ForeignSamples:
    """The samples at the rate of the rig's sensors, interpolated where the file has another one."""
    if (np.abs(np.diff(t_s) * rate_hz - 1.0) <= _STEP).all():
        return ForeignSamples(np.rint(t_s * 1e9).astype(np.int64), volts, tuple(notes))
    if (count := math.floor(t_s[-1] * rate_hz) + 1) > _MOST_SAMPLES:
        raise ForeignRecordError(f"{t_s[-1]:g} s, allowed: {_MOST_SAMPLES / rate_hz:.0f} s of daq.rate_hz {rate_hz}")
    own_hz = (len(t_s) - 1) / t_s[-1]
    notes.append(f"{own_hz:.6g} samples a second, interpolated to those of daq.rate_hz, {rate_hz}")
    even_s = np.arange(count) / rate_hz
    made = np.column_stack([np.interp(even_s, t_s, one) for one in volts.T])
    return ForeignSamples(np.rint(even_s * 1e9).astype(np.int64), made, tuple(notes))


def _columns(path: Path, names: Sequence[str]) -> Floats:
    """(names, samples) of a file, read in a process with limits. Raises OSError, ValueError."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"a file that ends with {path.suffix or 'nothing'}; allowed: {', '.join(_READERS)}")
    prepare, read = reader
    text = in_limited_process(prepare, partial(_packed, read, read_bytes(path, _MOST_FILE_BYTES), list(names)))
    return np.frombuffer(base64.b64decode(text), "<f8").reshape(len(names), -1)


def _packed(read: Any, content: bytes, names: list[str]) -> str:
    columns = [np.asarray(one, "<f8").ravel() for one in read(content, names)]
    if len({len(one) for one in columns}) > 1:
        found = ", ".join(f"{name}: {len(one)}" for name, one in zip(names, columns, strict=True))
        raise ValueError(f"columns of different lengths: {found}")
    return base64.b64encode(np.array(columns).tobytes()).decode("ascii")


def _csv(content: bytes, names: list[str]) -> list[Floats]:
    lines = content.decode("utf-8", errors="replace").removeprefix("\ufeff").splitlines()
    heads = ((at, mark) for at in range(min(len(lines), _HEAD_LINES)) for mark in ";\t,")
    for at, mark in heads:
        cells = [cell.strip() for cell in next(csv.reader([lines[at]], delimiter=mark), [])]
        if set(names) <= set(cells):
            break
    else:
        raise ValueError(f"none of its first {_HEAD_LINES} lines has all of the columns {', '.join(names)}")
    rows = [line for line in lines[at + 1 :] if line.strip()]
    if mark != ",":  # then a comma is that of decimals
        rows = [line.replace(",", ".") for line in rows]
    begins = next((i for i, line in enumerate(rows[: _UNIT_LINES + 1]) if _is_number(line.split(mark)[0])), 0)
    places = [cells.index(name) for name in names]
    table = np.loadtxt(rows[begins:], delimiter=mark, usecols=places, ndmin=2, comments=None, quotechar='"')
    return list(table.T)


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip().strip('"'))
    except ValueError:
        return False
    return True


def _mat(content: bytes, names: list[str]) -> list[Floats]:
    from scipy.io import loadmat

    load: Any = loadmat  # its stubs know no file that is open already
    try:
        variables = load(io.BytesIO(content), simplify_cells=True)
    except NotImplementedError:
        raise ValueError("MAT of version 7.3; save it with -v7") from None
    found = []
    for name in names:
        path, _, column = name.partition(":")
        value: Any = variables
        for part in path.split("."):
            if not isinstance(value, dict) or part not in value:
                raise ValueError(f"it has no variable {name}; there are {', '.join(variables)[:300]}")
            value = value[part]
        array = np.atleast_2d(np.asarray(value, dtype=float))
        found.append(array[:, int(column) - 1] if column else array)
    return found


def _tdms(content: bytes, names: list[str]) -> list[Floats]:
    from nptdms import TdmsFile

    file = TdmsFile.read(io.BytesIO(content))
    there = {f"{group.name}/{channel.name}": channel for group in file.groups() for channel in group.channels()}
    if missing := [name for name in names if name not in there]:
        raise ValueError(f"it has no channels {', '.join(missing)}; there are {', '.join(there)[:300]}")
    return [there[name][:] for name in names]


def _nothing() -> None:
    """CSV is read by what is there already."""


def _with_scipy() -> None:
    import scipy.io.matlab  # noqa: F401


def _with_nptdms() -> None:
    try:
        import nptdms  # noqa: F401
    except ImportError:
        raise ValueError(f"TDMS needs npTDMS: {install_command('export')}") from None


_READERS: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys((".csv", ".txt"), (_nothing, _csv)),
    ".mat": (_with_scipy, _mat),
    ".tdms": (_with_nptdms, _tdms),
}
