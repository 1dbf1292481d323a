"""A run as an xarray Dataset: time, wheels and channels as coordinates, units as attributes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drivers.extensions import install_command
from hil.analysis.digests import mismatch
from hil.messages.layout import Layout, Signal
from hil.messages.signals import PLAIN, flat, signals_of
from hil.recording import OpenRecord, RecordError, read_trial
from hil.recording.run_folder import recorded_run, summary_of

if TYPE_CHECKING:
    from xarray import Dataset


class MissingPackageError(RuntimeError):
    """A package of the extra `export` is not installed."""


@contextmanager
def imported(package: str, what: str) -> Iterator[None]:
    """A block that imports a package of the extra `export`. Raises MissingPackageError: `what` needs it."""
    try:
        yield
    except ImportError:
        raise MissingPackageError(
            f"{what} needs {package}, which is not installed: {install_command('export')}"
        ) from None


class UnverifiedRunError(ValueError):
    """Record and summary of a run do not match their digests."""


def verified_summary(folder: Path, *, unverified: bool = False) -> tuple[dict[str, Any], str]:
    """Summary of a run, and in words what of it and its record does not match its digest.

    Raises FolderError: its summary cannot be read; RecordError: there is no record, or it is damaged;
    UnverifiedRunError: something does not match, and `unverified` is not given.
    """
    summary = summary_of(recorded_run(folder))
    wrong = mismatch(folder, summary)
    if wrong and not unverified:
        raise UnverifiedRunError(f"{folder}: {wrong} (hil verify says more, --unverified takes it all the same)")
    return summary or {}, wrong


def open_run(run: str | Path, *, unverified: bool = False) -> Dataset:
    """A run as an xarray Dataset.

    Coordinates: `time` of the ticks and `sample_time` of the sensor samples [s], `wheel`, `channel`, `valve`; of leg
    sensors and load cell `load_sample_time` and `load_channel`. Variables: the fields of `/tick`, `raw_V` (sample_time,
    channel), and `load_raw_V` (load_sample_time, load_channel); of a driver that reads loads, `load_raw_N` with the
    coordinate `load_unit`, where a moment has N m. Each has `units` and `description`; the Dataset's own
    attributes are those of `/meta` and, as `summary_<key>`, numbers, texts and flags of the summary. Flags are true or
    false, in variables too.

    Args:
        run: its folder.
        unverified: also one that does not match its digests; then the attribute `unverified` says why.

    Raises:
        FolderError: no such folder, or its summary cannot be read.
        RecordError: there is no record, or it is damaged.
        UnverifiedRunError: record and summary do not match their digests.
        MissingPackageError: xarray is not installed.

    Example:
        In the working folder is the folder of a run, `runs/jog`:

        >>> run = open_run("runs/jog")
        >>> run["wheel_speed_radps"].dims, run["wheel_speed_radps"].attrs["units"]
        (('time', 'wheel'), 'rad/s')
        >>> round(run["wheel_speed_radps"].sel(wheel="front_left").max().item(), 1)
        0.1
    """
    with imported("xarray", "an xarray Dataset"):
        import xarray
    summary, wrong = verified_summary(Path(run), unverified=unverified)
    record = read_trial(Path(run))
    layout, fields = layout_of(record), signals_of("tick")
    dimensions = {"wheels": "wheel", "chambers": "valve", "channels": "channel", "instruments": "instrument"}
    coordinates: dict[str, Any] = {
        "time": ("time", record.tick["t_ns"] * 1e-9, {"units": "s", "description": fields["t_ns"].description}),
        "wheel": ("wheel", list(layout.wheels)),
    }
    variables: dict[str, Any] = {}
    for name in record.tick.dtype.names or ():
        if name == "t_ns":
            continue
        field, values = fields[name], record.tick[name]
        last = dimensions.get(field.elements, name + "_element")
        if field.flag:
            values = values.astype(bool)
        if field.elements:
            values = flat(values)
            coordinates.setdefault(last, (last, list(field.names(layout))))
        variables[name] = (("time", last)[: values.ndim], values, _attributes(field))
    for group, prefix in (("daq", ""), ("loads", "load_")):
        if channels := layout.parts(group):
            samples, times = record.samples(group), {"units": "s", "description": PLAIN[f"{group}/t_ns"].description}
            coordinates[f"{prefix}channel"] = (f"{prefix}channel", list(channels))
            coordinates[f"{prefix}sample_time"] = (f"{prefix}sample_time", samples.t_ns * 1e-9, times)
            place = f"{prefix}sample_time", f"{prefix}channel"
            if reads_loads := group == "loads" and layout.reads_loads:
                coordinates["load_unit"] = (f"{prefix}channel", list(layout.units_of(group)))
            field = PLAIN[f"{group}/raw"]._replace(unit="N" if reads_loads else "V")
            variables[f"{prefix}raw_{field.unit}"] = (place, samples.raw, _attributes(field))
    attributes: dict[str, Any] = dict(record.meta) | {f"summary_{key}": value for key, value in scalars(summary)}
    if "attended" in attributes:
        attributes["attended"] = bool(attributes["attended"])
    return xarray.Dataset(variables, coordinates, attributes | ({"unverified": wrong} if wrong else {}))


def layout_of(record: OpenRecord) -> Layout:
    """Names of wheels, cylinders and channels of a record. Raises RecordError: it does not say them, or they differ."""
    try:
        layout = Layout.from_json(str(record.meta["layout"]))
    except (KeyError, ValueError) as error:
        raise RecordError(f"the record does not say its layout ({error}): it is of an older version") from None
    rows = {"tick": record.tick, "events": record.events, "timing": record.timing, "daq/blocks": record.blocks}
    for path, dataset in rows.items():
        for name in dataset.dtype.names or ():
            if (field := signals_of(path).get(name)) is None:
                raise RecordError(f"/{path} has a field {name}, which is not known: another version reads it")
            numbers, known = math.prod(dataset.dtype[name].shape), len(field.names(layout)) or 1
            if numbers != known:
                raise RecordError(f"/{path} has {numbers} numbers in {name}, its layout {known}")
    if (channels := record.raw.shape[1]) != len(layout.channels):
        raise RecordError(f"/daq/raw has {channels} channels, its layout {len(layout.channels)}")
    return layout


def scalars(summary: dict[str, Any]) -> list[tuple[str, str | float | bool]]:
    """Numbers, texts and flags of a summary that are no groups; what is null is left out."""
    return [(key, value) for key, value in summary.items() if isinstance(value, (str, int, float))]


def _attributes(field: Signal) -> dict[str, str]:
    return {"units": field.unit, "description": field.description}
