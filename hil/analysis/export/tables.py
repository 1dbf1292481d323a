"""The datasets of a record as flat columns: an array field has one column for each of its elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.analysis.dataset import layout_of
from hil.messages.layout import SAMPLED, Layout, Signal
from hil.messages.signals import PLAIN, ROWS, flat, raw_signals, signals_of
from hil.recording import OpenRecord
from hil.recording.content import Recorded

Progress = Callable[[int, int], None]
# Of the names of the tables of a data acquisition.
_PREFIX = {"daq": "", "loads": "load_"}
# Rows that are written together, where a format does not say how many.
ROWS_A_BLOCK = 8192


class Column(NamedTuple):
    """One column of numbers or of text."""

    name: str  # of the field, or `field.element`
    unit: str  # "" where it has none
    description: str  # what it means
    kind: str  # of its values, as in `numpy.dtype.kind`; "O" for text


@dataclass(frozen=True)
class Table:
    """A dataset.

    Attributes:
        name: tick, events, timing, blocks or samples; load_blocks or load_samples, of leg sensors and load cell.
        description: of a row.
        columns: in order; one of them is `t_ns` but in timing, which has `tick` instead.
        parts: datasets of its rows.
        values: of all columns, in order, in rows of the parts.
        rows: how many.
        written: is told that so many rows more of a long table were given out.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    parts: tuple[Recorded, ...]
    values: Callable[..., list[NDArray[Any]]]
    written: Callable[[int], None] = lambda _: None

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.parts[0])

    def blocks(self, rows: int = 0) -> Iterator[list[NDArray[Any]]]:
        """Values (rows,) of all columns, text as objects, so many rows at a time; of no rows an empty block."""
        rows = rows or ROWS_A_BLOCK
        for first in range(0, max(self.rows, 1), rows):
            yield self.values(*(part[first : first + rows] for part in self.parts))
            if self.rows > rows:
                self.written(min(rows, self.rows - first))

    def whole(self) -> list[NDArray[Any]]:
        """Values of all columns, all at once."""
        return self.values(*(part[:] for part in self.parts))

    def steps(self, column: str) -> tuple[int, int]:
        """Shortest and longest step between two rows of a column of whole numbers; 0 of fewer than two."""
        place = self.place(column)
        found, last = [], np.zeros(0, np.int64)
        for first in range(0, self.rows, ROWS_A_BLOCK):
            numbers = np.append(last, self.values(*(part[first : first + ROWS_A_BLOCK] for part in self.parts))[place])
            if (between := np.diff(numbers)).size:
                found += [int(between.min()), int(between.max())]
            last = numbers[-1:]
        return min(found, default=0), max(found, default=0)

    def ends_ns(self) -> tuple[int, int]:
        """Column `t_ns` of the first and of the last row [ns]."""
        rows = [self.values(*(part[end : end + 1] for part in self.parts)) for end in (0, self.rows - 1)]
        first, last = (int(values[self.place("t_ns")][0]) for values in rows)
        return first, last

    def place(self, column: str) -> int:
        """Which column has that name."""
        return [one.name for one in self.columns].index(column)

    def even(self) -> bool:
        """Whether its rows are equally spaced in time."""
        if self.name == "tick":
            return self.steps("tick") == (1, 1)
        # stamps are whole ns, and of a real clock they wander a little: a hole is what matters
        shortest, longest = self.steps("t_ns") if self.name.endswith("samples") else (0, 0)
        return longest < 1.5 * shortest


def tables_of(record: OpenRecord, progress: Progress = lambda *_: None) -> list[Table]:
    """All datasets of a record; those that its rig has none of are left out.

    `progress` is called now and then, of a long record, with how many rows were given out and how many there are.

    Raises RecordError: it has no layout.
    """
    layout, done = layout_of(record), 0
    parts = [("tick", "tick", record.tick), ("events", "events", record.events), ("timing", "timing", record.timing)]
    sampled = [group for group in SAMPLED if layout.parts(group)]
    parts += [(_PREFIX[group] + "blocks", f"{group}/blocks", record.samples(group).blocks) for group in sampled]
    tables = [_compound(name, path, rows, layout) for name, path, rows in parts]
    tables += [_samples(record, layout, group) for group in sampled]

    def written(rows: int) -> None:
        nonlocal done
        done += rows
        progress(done, total)

    total = sum(table.rows for table in tables if table.rows > ROWS_A_BLOCK)
    return [replace(table, written=written) for table in tables]


def _compound(name: str, path: str, rows: Recorded, layout: Layout) -> Table:
    description, fields = ROWS[path][0], signals_of(path)
    names = rows.dtype.names or ()
    columns = [column for key in names for column in columns_of(fields[key], rows.dtype[key], layout)]

    def values(rows: NDArray[np.void]) -> list[NDArray[Any]]:
        return [column for key in names for column in _values(fields[key], rows[key], layout)]

    return Table(name, description, tuple(columns), (rows,), values)


def columns_of(field: Signal, dtype: np.dtype[Any], layout: Layout) -> Iterator[Column]:
    """The columns of a field."""
    kind = "O" if dtype.base.kind == "S" else dtype.base.kind
    for element in field.names(layout) or ("",):
        yield Column(
            f"{field.name}.{element}" if element else field.name, field.unit_of(element), field.description, kind
        )


def _values(field: Signal, values: NDArray[Any], layout: Layout) -> Iterator[NDArray[Any]]:
    if values.dtype.kind == "S":
        values = np.array([item.decode(errors="replace") for item in values], dtype=object)
    for place in range(len(field.names(layout)) or 1):
        yield flat(values)[:, place]


def _samples(record: OpenRecord, layout: Layout, group: str) -> Table:
    times, raw, names = PLAIN[f"{group}/t_ns"], raw_signals(group, layout), layout.parts(group)
    samples = record.samples(group)
    columns = [Column("t_ns", times.unit, times.description, "i")]
    columns += [
        Column(f"{kind}.{name}", one.unit, one.description, "f") for (kind, one), name in zip(raw, names, strict=True)
    ]
    return Table(
        _PREFIX[group] + "samples",
        PLAIN[f"{group}/raw"].description,
        tuple(columns),
        (samples.t_ns, samples.raw),
        lambda t_ns, values: [t_ns, *values.T],
    )
