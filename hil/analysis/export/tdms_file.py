"""TDMS: a group for each dataset, a channel for each column; equally spaced ones are waveforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from hil.analysis.export.tables import Column, Table


def write_tdms(tables: Sequence[Table], facts: Mapping[str, str | float], path: Path) -> None:
    """Write one file.

    Channels of equally spaced rows have `wf_start_time` (when the run began), `wf_start_offset` [s], `wf_increment` [s]
    and `wf_samples`: other programs show them over time. In other groups the column `t_ns` is the time.
    """
    from nptdms import ChannelObject, GroupObject, RootObject, TdmsWriter

    began = _began(str(facts.get("wall_time", "")))
    objects: list[Any] = [RootObject(properties={"name": "rover-hil", **facts})]
    for table in tables:
        objects.append(GroupObject(table.name, properties={"description": table.description}))
        time = _axis(table)
        if time:
            time = {"wf_start_time": began, **time}
        for column in table.columns:
            properties = {"unit_string": column.unit, "description": column.description} | time
            objects.append(ChannelObject(table.name, column.name, _plain(column), properties=properties))
    with TdmsWriter(path) as writer:
        writer.write_segment(objects)


def _axis(table: Table) -> dict[str, Any]:
    """Start and increment of a waveform [s]; nothing where rows are not equally spaced."""
    if not table.even or table.rows < 2:
        return {}
    t_ns = table.column("t_ns")
    increment = float(t_ns[-1] - t_ns[0]) * 1e-9 / (table.rows - 1)
    return {
        "wf_start_offset": float(t_ns[0]) * 1e-9,
        "wf_increment": increment,
        "wf_samples": table.rows,
        "wf_xname": "Time",
        "wf_xunit_string": "s",
    }


def _plain(column: Column) -> Any:
    """Text as a list, numbers of a type that TDMS has."""
    values = column.values
    if values.dtype == object:
        return [str(item) for item in values]
    return np.ascontiguousarray(values.astype(np.uint8) if values.dtype == bool else values)


def _began(text: str) -> datetime:
    try:
        began = datetime.fromisoformat(text)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    return (began.astimezone(UTC) if began.tzinfo else began).replace(tzinfo=None)  # TDMS takes UTC without a zone
