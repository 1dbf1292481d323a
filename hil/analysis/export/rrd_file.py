"""RRD, for Rerun: the rover in three dimensions, every number as a series with its unit, and events as a log."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hil.analysis.export.channels import event_words
from hil.analysis.export.motion import RecordedMotion
from hil.analysis.export.tables import Table
from hil.analysis.film.solids import WORLD, Box, Cylinder, Lines, Solid

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
