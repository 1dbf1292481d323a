"""TDMS: a group for each dataset, a channel for each column; equally spaced ones are waveforms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.analysis.export.tables import Table

# Each segment says again what it holds: 5 kB of 20 MB.
_ROWS_A_SEGMENT = 65536


def write_tdms(tables: Sequence[Table], facts: Mapping[str, str | float], path: Path) -> None:
    """Write one file.

    Channels of equally spaced rows have `wf_start_time` (when the run began), `wf_start_offset` [s], `wf_increment` [s]
    and `wf_samples`: other programs show them over time. In other groups the column `t_ns` is the time.
    """
    from nptdms import ChannelObject, GroupObject, RootObject, TdmsWriter

    began = _began(str(facts.get("wall_time", "")))
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


def _began(text: str) -> datetime:
    try:
        began = datetime.fromisoformat(text)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    return (began.astimezone(UTC) if began.tzinfo else began).replace(tzinfo=None)  # TDMS takes UTC without a zone
