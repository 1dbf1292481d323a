"""Exports a recorded run to the file formats of other programs."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.io import savemat

from drivers.extensions import install_command
from hil.analysis.dataset import MissingPackageError, UnverifiedRunError, scalars, verified_summary
from hil.analysis.export.channels import RecordedMotion, began_utc, event_words, motion_of, write_mcap
from hil.analysis.export.rosbag import write_rosbag2
from hil.analysis.export.tables import Column, Progress, Table, tables_of
from hil.analysis.film.solids import WORLD, Box, Cylinder, Lines, Solid
from hil.config.files import replacing
from hil.config.text_io import write_rows
from hil.recording import RecordError, open_trial
from hil.recording.run_folder import FolderError, file_in

TIMELINE = "time"
_SERIES = ("tick", "samples", "load_samples")
_MOMENTS = 2000  # of a chunk of transforms
_AXLE = (0.5**0.5, 0.0, 0.0, 0.5**0.5)  # turns the axis of its cylinder, z, to that of a wheel, y


def write_rrd(
    tables: Sequence[Table], facts: Mapping[str, str | float], path: Path, motion: RecordedMotion | None
) -> None:
    """Write one file; the time line `time` is that of the record, 0 at the start of the run.

    A number of a tick is the entity `tick/FIELD/ELEMENT`, whose name has the unit; the rover is under `world`, and is
    left out where the record has no motion. The facts are the recording's property `run`.
    """
    import rerun

    known = "/".join(str(facts.get(key, "")) for key in ("wall_time", "summary_config_sha256", "config"))
    recording = rerun.RecordingStream(
        "rover-hil", recording_id=uuid.uuid5(uuid.NAMESPACE_OID, known), send_properties=False
    )
    recording.save(path)
    details: dict[str, Any] = {key: str(value) for key, value in facts.items()}
    recording.send_property("run", rerun.AnyValues(**details))
    for table in tables:
        if table.name in _SERIES:
            _series(recording, table)
        elif table.name == "events":
            _log(recording, table)
    if motion is not None:
        _draw(recording, motion.rig.solids())
        _move(recording, motion)
    recording.flush()
    recording.disconnect()


def _times(t_ns: Any) -> Any:
    import rerun

    return rerun.TimeColumn(TIMELINE, duration=np.asarray(t_ns, np.int64).astype("timedelta64[ns]"))


def _series(recording: Any, table: Table) -> None:
    import rerun

    places = {column.name: f"{table.name}/{column.name.replace('.', '/')}" for column in table.columns}
    for column in table.columns:
        name = f"{column.name} [{column.unit}]" if column.unit else column.name
        recording.log(places[column.name], rerun.SeriesLines(names=name), static=True)
        about = rerun.AnyValues(unit=column.unit, description=column.description)
        recording.log(places[column.name], about, static=True)
    at = table.place("t_ns")
    for values in table.blocks():
        if not len(values[at]):
            continue
        times = _times(values[at])
        for column, one in zip(table.columns, values, strict=True):
            scalars = rerun.Scalars.columns(scalars=one.astype(float))
            recording.send_columns(places[column.name], indexes=[times], columns=scalars)


def _log(recording: Any, table: Table) -> None:
    import rerun

    names, values = [column.name for column in table.columns], table.whole()
    events = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
    if not events:
        return
    made = rerun.TextLog.columns(
        text=[event_words(event) for event in events], level=["ERROR" if event["id"] else "INFO" for event in events]
    )
    times = _times([event["t_ns"] for event in events])
    recording.send_columns("log", indexes=[times], columns=made)


def _draw(recording: Any, solids: Sequence[Solid]) -> None:
    import rerun

    recording.log(WORLD, rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    for number, solid in enumerate(solids):
        place = f"{WORLD}/{solid.frame}/{type(solid).__name__.lower()}_{number}"
        colour = [tuple(round(255 * part) for part in solid.colour)]
        shape: Any
        if isinstance(solid, Box):
            shape = rerun.Boxes3D(centers=[solid.centre], sizes=[solid.sides], colors=colour, fill_mode="solid")
        elif isinstance(solid, Cylinder):
            shape = rerun.Cylinders3D(
                lengths=[solid.width], radii=[solid.radius], quaternions=[_AXLE], colors=colour, fill_mode="solid"
            )
        else:
            assert isinstance(solid, Lines)
            pairs = solid.points.reshape(-1, 2, 3)
            shape = rerun.LineStrips3D(pairs, radii=0.5 * solid.thickness, colors=colour * len(pairs))
        recording.log(place, shape, static=True)


def _move(recording: Any, motion: RecordedMotion) -> None:
    import rerun

    found = motion.frames()
    while moments := list(islice(found, _MOMENTS)):
        times = _times([t_ns for t_ns, _ in moments])
        for place, name in enumerate(motion.rig.names):
            columns = rerun.Transform3D.columns(
                translation=np.array([frames.origins[place] for _, frames in moments]),
                quaternion=np.array([frames.quaternions[place] for _, frames in moments]),
            )
            recording.send_columns(f"{WORLD}/{name}", indexes=[times], columns=columns)


_HEADER = b"MATLAB 5.0 MAT-file, written by rover-hil"  # in place of one with the time of day
_HEADER_BYTES = 116


def write_mat(tables: Sequence[Table], facts: Mapping[str, str | float], path: Path) -> None:
    """Write one file; all but letters and digits of a name is `_`, as in `field_element`.

    This format takes each dataset as a whole, so that a long record needs several times its size of memory.
    """
    content: dict[str, Any] = {"run": {name[:63]: value for name, value in facts.items()}}
    for table in tables:
        values = zip(table.columns, table.whole(), strict=True)
        content[table.name] = {_name(column): one.reshape(-1, 1) for column, one in values}
    for part in ("units", "descriptions"):
        key = part.removesuffix("s")
        content[part] = {
            table.name: {_name(column): getattr(column, key) for column in table.columns} for table in tables
        }
    savemat(path, content, long_field_names=True, do_compression=True)
    with path.open("r+b") as file:
        file.write(_HEADER.ljust(_HEADER_BYTES))


def _name(column: Column) -> str:
    return re.sub("[^0-9A-Za-z]", "_", column.name)


Facts = Mapping[str, str | float]
# Of Parquet: fewer compress worse, more take more memory.
_ROWS_A_GROUP = 65536


def write_csv(tables: Sequence[Table], facts: Facts, folder: Path) -> None:
    """Write `<dataset>.csv`, `columns.csv` with unit and meaning of each column, and `run.csv` with the facts."""
    for table in tables:
        rows = (row for values in table.blocks() for row in zip(*(one.tolist() for one in values), strict=True))
        _rows(folder / f"{table.name}.csv", [column.name for column in table.columns], rows)
    known = [[table.name, one.name, one.unit, one.description] for table in tables for one in table.columns]
    _rows(folder / "columns.csv", ["dataset", "column", "unit", "description"], known)
    _rows(folder / "run.csv", ["key", "value"], facts.items())


def _rows(path: Path, head: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        write_rows(file, chain([head], rows))


def write_parquet(tables: Sequence[Table], facts: Facts, folder: Path) -> None:
    """Write `<dataset>.parquet`; columns have `unit` and `description`, each file the facts, as metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    about = {"description": "", "run": json.dumps(dict(facts))}
    for table in tables:
        with ExitStack() as stack:
            writer = None
            for values in table.blocks(_ROWS_A_GROUP):
                arrays = [pa.array(one) for one in values]
                if writer is None:
                    fields = [
                        pa.field(one.name, array.type, metadata={"unit": one.unit, "description": one.description})
                        for one, array in zip(table.columns, arrays, strict=True)
                    ]
                    schema = pa.schema(fields, metadata=about | {"description": table.description})
                    writer = stack.enter_context(parquet.ParquetWriter(folder / f"{table.name}.parquet", schema))
                writer.write_table(pa.table(arrays, schema=schema))


# Each segment says again what it holds: 5 kB of 20 MB.
_ROWS_A_SEGMENT = 65536


def write_tdms(tables: Sequence[Table], facts: Mapping[str, str | float], path: Path) -> None:
    """Write one file.

    Channels of equally spaced rows have `wf_start_time` (when the run began), `wf_start_offset` [s], `wf_increment` [s]
    and `wf_samples`: other programs show them over time. In other groups the column `t_ns` is the time.
    """
    from nptdms import ChannelObject, GroupObject, RootObject, TdmsWriter

    began = began_utc(str(facts.get("wall_time", "")))
    objects: list[Any] = [RootObject(properties={"name": "rover-hil", **facts})]
    with TdmsWriter(path) as writer:
        rest: list[tuple[Table, Iterator[list[Any]]]] = []
        for table in tables:
            objects.append(GroupObject(table.name, properties={"description": table.description}))
            time = _axis(table)
            if time:
                time = {"wf_start_time": began, **time}
            blocks = table.blocks(_ROWS_A_SEGMENT)
            for column, values in zip(table.columns, next(blocks), strict=True):
                properties = {"unit_string": column.unit, "description": column.description} | time
                objects.append(ChannelObject(table.name, column.name, _plain(values), properties=properties))
            rest.append((table, blocks))
        writer.write_segment(objects)
        for table, blocks in rest:
            names = [column.name for column in table.columns]
            for block in blocks:
                pairs = zip(names, block, strict=True)
                writer.write_segment([ChannelObject(table.name, name, _plain(values)) for name, values in pairs])


def _axis(table: Table) -> dict[str, Any]:
    """Start and increment of a waveform [s]; nothing where rows are not equally spaced."""
    if table.rows < 2 or not table.even():
        return {}
    first_ns, last_ns = table.ends_ns()
    return {
        "wf_start_offset": float(first_ns) * 1e-9,
        "wf_increment": float(last_ns - first_ns) * 1e-9 / (table.rows - 1),
        "wf_samples": table.rows,
        "wf_xname": "Time",
        "wf_xunit_string": "s",
    }


def _plain(values: NDArray[Any]) -> Any:
    """Text as a list, numbers of a type that TDMS has."""
    if values.dtype == object:
        return [str(item) for item in values]
    return np.ascontiguousarray(values.astype(np.uint8) if values.dtype == bool else values)


CAMPAIGN = "campaign.csv"
# What brings a package, where it has another name.
_DISTRIBUTIONS = {"nptdms": "npTDMS", "foxglove": "foxglove-sdk", "rerun": "rerun-sdk"}


class Format(NamedTuple):
    """One format."""

    write: Callable[..., None]  # takes tables, facts, the path and, where it shows it, the motion
    packages: tuple[str, ...] = ()  # that it needs, as they are imported
    folder: bool = False  # whether it makes a folder with a file for each dataset
    motion: bool = False  # whether it shows the rover in three dimensions
    extra: str = "export"  # of this distribution, that brings its packages


FORMATS = {
    "tdms": Format(write_tdms, ("nptdms",)),
    "csv": Format(write_csv, folder=True),
    "parquet": Format(write_parquet, ("pyarrow",), folder=True),
    "mat": Format(write_mat),
    "mcap": Format(write_mcap, ("mcap", "foxglove"), motion=True),
    "rrd": Format(write_rrd, ("rerun",), motion=True, extra="rerun"),
    "rosbag2": Format(write_rosbag2, ("rosbags",), motion=True, extra="ros2"),
}


class _WrittenFile(NamedTuple):
    """What was written."""

    path: Path  # of the file or folder
    runs: int  # how many
    left_out: tuple[str, ...]  # for each run of a campaign that could not be exported: why, in a sentence


def export(
    source: Path,
    to: str,
    out: Path | None = None,
    *,
    unverified: bool = False,
    progress: Progress = lambda *_: None,
) -> _WrittenFile:
    """Write a run, or a campaign's table and all its runs, in another format.

    Args:
        source: folder of the run or the campaign.
        to: of `FORMATS`.
        out: the file (csv, parquet and campaigns: the folder) to make; by default `trial.<format>` or `<format>/` in
            `source`.
        unverified: also what does not match its digests; it is marked so inside.
        progress: see `tables_of`; of a single run.

    Raises:
        FolderError: nothing to export there, or `out` exists.
        RecordError: a run without a record that can be read.
        UnverifiedRunError: record and summary do not match their digests.
        MissingPackageError: the format's package is not installed.
    """
    made = FORMATS[to]
    if missing := [package for package in made.packages if importlib.util.find_spec(package) is None]:
        named = " and ".join(_DISTRIBUTIONS.get(package, package) for package in missing)
        are = "is" if len(missing) == 1 else "are"
        raise MissingPackageError(f"--to {to} needs {named}, which {are} not installed: {install_command(made.extra)}")
    if file_in(source, CAMPAIGN).is_file():
        return _campaign(source, to, out or source / f"export_{to}", unverified)
    path = out or source / (to if made.folder else f"trial.{to}")
    _run(source, made, path, unverified, progress)
    return _WrittenFile(path, 1, ())


def _run(folder: Path, made: Format, path: Path, unverified: bool, progress: Progress = lambda *_: None) -> None:
    summary, wrong = verified_summary(folder, unverified=unverified)
    with open_trial(folder) as record, _making(path) as unfinished:
        facts: dict[str, Any] = dict(record.meta)
        # formats differ in what they have for true and false
        facts |= {f"summary_{key}": float(one) if isinstance(one, bool) else one for key, one in scalars(summary)}
        if wrong:
            facts["unverified"] = wrong
        tables = tables_of(record, progress)
        if made.folder:
            unfinished.mkdir()
        made.write(tables, facts, unfinished, *([motion_of(record, facts)] if made.motion else []))


def _campaign(source: Path, to: str, out: Path, unverified: bool) -> _WrittenFile:
    made, runs, left_out = FORMATS[to], 0, []
    with _making(out) as unfinished:
        unfinished.mkdir()
        _table(source / CAMPAIGN, to, unfinished)
        for folder in sorted(path.parent for path in source.glob("*/trial.h5") if not path.parent.is_symlink()):
            try:
                _run(folder, made, unfinished / (folder.name if made.folder else f"{folder.name}.{to}"), unverified)
                runs += 1
            except (FolderError, RecordError, UnverifiedRunError) as error:
                left_out.append(f"{folder.name}: {error}")
    return _WrittenFile(out, runs, tuple(left_out))


def _table(place: Path, to: str, folder: Path) -> None:
    """The campaign's table: Parquet with typed columns where that was asked for, else as it is."""
    if to != "parquet":
        shutil.copyfile(place, folder / CAMPAIGN)
        return
    from pyarrow import csv, parquet

    parquet.write_table(csv.read_csv(place), folder / "campaign.parquet")


@contextmanager
def _making(path: Path) -> Iterator[Path]:
    """A name next to a file or folder to write it under; it gets its name once it is whole. Raises FolderError."""
    if path.exists():
        raise FolderError(f"{path} exists: remove it, or give another with --out")
    if not path.parent.is_dir():
        raise FolderError(f"{path.parent} is no folder: give a file in one with --out")
    try:
        with replacing(path, new=True) as unfinished:
            yield unfinished
    except FileExistsError:
        raise FolderError(f"{path} exists by now, of another export: give another with --out") from None
