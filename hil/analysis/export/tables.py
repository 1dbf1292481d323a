"""The datasets of a record as flat columns: an array field has one column for each of its elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hil.analysis.dataset import layout_of
from hil.messages.layout import SAMPLED, Layout
from hil.messages.signals import PLAIN, ROWS, Signal, flat, signals_of
from hil.recording import TrialRecord

# Of the names of the tables of a data acquisition.
_PREFIX = {"daq": "", "loads": "load_"}


class Column(NamedTuple):
    """One column of numbers or of text.

    Attributes:
        name: of the field, or `field.element`.
        unit: "" where it has none.
        description: what it means.
        values: (rows,) numbers, or text as objects.
    """

    name: str
    unit: str
    description: str
    values: NDArray[Any]


class Table(NamedTuple):
    """A dataset.

    Attributes:
        name: tick, events, timing, blocks or samples; load_blocks or load_samples, of leg sensors and load cell.
        description: of a row.
        columns: in order; one of them is `t_ns` but in timing, which has `tick` instead.
        even: whether its rows are equally spaced in time.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    even: bool

    def column(self, name: str) -> NDArray[Any]:
        """Values of a column."""
        return next(column.values for column in self.columns if column.name == name)

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.columns[0].values)


def tables_of(record: TrialRecord) -> list[Table]:
    """All datasets of a record; those that its rig has none of are left out. Raises RecordError: it has no layout."""
    layout = layout_of(record)
    parts = [("tick", "tick", record.tick), ("events", "events", record.events), ("timing", "timing", record.timing)]
    sampled = [group for group in SAMPLED if layout.of_group(group)]
    parts += [(_PREFIX[group] + "blocks", f"{group}/blocks", record.samples(group).blocks) for group in sampled]
    tables = [_compound(name, path, rows, layout) for name, path, rows in parts]
    return tables + [_samples(record, layout, group) for group in sampled]


def _compound(name: str, path: str, rows: NDArray[np.void], layout: Layout) -> Table:
    description, fields = ROWS[path][0], signals_of(path)
    columns = [column for key in rows.dtype.names or () for column in _columns(fields[key], rows[key], layout)]
    return Table(name, description, tuple(columns), name == "tick" and bool((np.diff(rows["tick"]) == 1).all()))


def _columns(field: Signal, values: NDArray[Any], layout: Layout) -> Iterator[Column]:
    if values.dtype.kind == "S":
        values = np.array([item.decode(errors="replace") for item in values], dtype=object)
    for place, element in enumerate(field.names(layout) or ("",)):
        name = f"{field.name}.{element}" if element else field.name
        yield Column(name, field.unit, field.description, flat(values)[:, place])


def _samples(record: TrialRecord, layout: Layout, group: str) -> Table:
    times, raw = PLAIN[f"{group}/t_ns"], PLAIN[f"{group}/raw"]
    samples = record.samples(group)
    steps = np.diff(samples.t_ns)
    # stamps are whole ns, and of a real clock they wander a little: a hole is what matters
    even = bool(steps.size and steps.max() < 1.5 * steps.min())
    columns = [Column("t_ns", times.unit, times.description, samples.t_ns)]
    columns += [
        Column(f"raw_V.{name}", raw.unit, raw.description, samples.raw[:, i])
        for i, name in enumerate(layout.of_group(group))
    ]
    return Table(_PREFIX[group] + "samples", raw.description, tuple(columns), even)
