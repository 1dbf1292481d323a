"""What a rig's own detector, droop correction, peak and rules say of a CSV, MAT or TDMS file of another program."""

from __future__ import annotations

import base64
import csv
import io
import math
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from drivers.extensions import install_command
from drivers.messages import DaqBlock, DriveSample, ValveSample
from hil.analysis.energy import energy_curve
from hil.config import ConfigError
from hil.config.files import read_bytes, read_text, replacing
from hil.config.limited_process import in_limited_process
from hil.config.rig import Rig
from hil.config.text_io import MOST_BYTES, read_yaml, write_rows
from hil.estimation.estimator import ZERO_TIME_S, Estimator
from hil.experiments.impact.acceptance import Evidence, judge, quality_rows, refusals
from hil.experiments.impact.sensing import impact_in, measured_keys, peak_keys, sensor_channels
from hil.experiments.summary import finite
from hil.messages.stages import Estimate, Samples
from hil.signals.impact import MeasuredImpact
from hil.signals.traces import SensorChannels

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
    """Where the force on a sensor stands."""

    # name of the column: of CSV as in its header, of TDMS `group/channel`, of MAT the variable, `a.b` of a struct, with
    # `:2` behind it the second column of a matrix.
    column: str
    unit: Literal["N", "kN", "mN", "lbf", "V", "mV"]  # of force on the plate, or of the sensor's voltage
    scale: float = 1.0  # by which the numbers are multiplied: -1 where a push is negative


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
    """Samples as a rig's own data acquisition gives them."""

    t_ns: NDArray[np.int64]  # (n,) from the first sample on [ns]
    volts: Floats  # (n, channels) [V]
    notes: tuple[str, ...]  # what was done to the data, in words


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


def _with_nptdms() -> None:
    try:
        import nptdms  # noqa: F401
    except ImportError:
        raise ValueError(f"TDMS needs npTDMS: {install_command('export')}") from None


_READERS: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys((".csv", ".txt"), (lambda: None, _csv)),
    ".mat": (partial(import_module, "scipy.io.matlab"), _mat),
    ".tdms": (_with_nptdms, _tdms),
}


_SECOND_NS = 1_000_000_000


def impact_of(samples: ForeignSamples, rig: Rig) -> tuple[dict[str, Any], MeasuredImpact | None]:
    """Run the samples through the rig's estimator, block by block and tick by tick, and judge the impact in them.

    No force acts in the first `ZERO_TIME_S` of the samples.

    Raises ForeignRecordError: too short, or a force acts while the sensors are zeroed.

    Returns:
        keys as in summary.json, with `cut_tick_ms` from the impact's first sample to the tick that cuts, whatever a
            drive takes then, and `effective_kinetic_energy_nominal_J`, T_c of the config's rover at its speed; and the
            impact that was measured from all samples, None: there was none.
    """
    config, sensors, estimator = rig.config, sensor_channels(rig.config), Estimator(rig)
    _check_zeroing(samples, sensors, config.detector.threshold_N)
    estimate, cut_ns = _through(samples, rig, estimator)
    impact_ns, volts = estimate.impact_ns, samples.volts
    *each_N, sum_N, _ = estimator.peaks_N
    measured = None if impact_ns is None else impact_in(sensors, samples.t_ns, volts, impact_ns)
    evidence = Evidence(
        config, estimator, estimate.saturated, impact=measured, largest_V=float(np.abs(volts).max(initial=0.0))
    )
    results = judge(evidence) if impact_ns is not None else {}
    reasons = refusals(results) if impact_ns is not None else ["no impact: no force over detector.threshold_N"]
    return {
        "accepted": not reasons,
        "reasons": reasons,
        "angle_deg": config.trial.angle_deg,
        **(peak_keys(measured, (sum_N, sum(each_N))) if impact_ns is not None else {}),
        "impact_peak_force_N": finite(estimator.impact_peak_N),
        **measured_keys(measured),
        "load_point_m": [finite(one) for one in estimator.load_points_m[1]] if config.plate else None,
        "impact_time_s": None if impact_ns is None else impact_ns / _SECOND_NS,
        "contact_duration_s": estimator.contact_duration_s,
        "cut_tick_ms": None if impact_ns is None or cut_ns is None else (cut_ns - impact_ns) * 1e-6,
        "effective_kinetic_energy_nominal_J": energy_curve(rig, [config.trial.angle_deg])["energy_J"][0],
        "quality": quality_rows(results),
        "notes": list(samples.notes),
    }, measured


def write_forces(measured: MeasuredImpact, channels: tuple[str, ...], path: Path) -> None:
    """Write the forces of an impact over time as CSV: as read, with the droop added back, and without vibration."""
    traces, kinds = measured.traces, ("raw", "corrected", "filtered")
    head = ["t_s", *(f"{channel}_{kind}_N" for kind in kinds for channel in channels)]
    rows = np.column_stack([traces.t_s, *(getattr(traces, kind) for kind in kinds)]).tolist()
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        write_rows(file, [head, *rows])


def _check_zeroing(samples: ForeignSamples, sensors: SensorChannels, allowed_N: float) -> None:
    count = round(ZERO_TIME_S * sensors.rate_hz)
    if len(samples.t_ns) <= count:
        raise ForeignRecordError(f"{len(samples.t_ns)} samples; allowed: more than {ZERO_TIME_S:g} s, for the zero")
    most_N = float(np.ptp((samples.volts[:count] * sensors.newton_per_volt).sum(axis=1)))
    if most_N >= allowed_N:
        raise ForeignRecordError(
            f"the force changes by {most_N:.3g} N in the first {ZERO_TIME_S:g} s, in which the sensors are zeroed; "
            f"allowed: below detector.threshold_N, {allowed_N:g} N: begin the data earlier, or check unit and scale"
        )


def _through(samples: ForeignSamples, rig: Rig, estimator: Estimator) -> tuple[Estimate, int | None]:
    """The last estimate, and the time of the tick that cuts [ns]: the first after the block with the impact."""
    config, daq = rig.config, rig.config.daq
    assert daq is not None
    drives, valves = DriveSample(0, 0, rig.layout.zero_speeds, -1), ValveSample(0, 0)
    no_overload, cut_ns, estimate = (False,) * len(rig.layout.channels), None, None
    for number, first in enumerate(range(0, len(samples.t_ns), daq.block_samples), start=1):
        part = slice(first, first + daq.block_samples)
        block = DaqBlock(number, samples.t_ns[part], samples.volts[part], no_overload)
        tick = -(-int(block.t_ns[-1]) * config.loop.rate_hz // _SECOND_NS)
        tick_ns = tick * _SECOND_NS // config.loop.rate_hz
        estimate = estimator.estimate(Samples(tick_ns, (block,), 0, number, drives, valves))
        if estimate.impact_ns is not None and cut_ns is None:
            cut_ns = tick_ns
    assert estimate is not None
    return estimate, cut_ns
