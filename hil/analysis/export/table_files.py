"""CSV and Parquet: a folder with one file for each dataset."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from hil.analysis.export.tables import Table

Facts = Mapping[str, str | float]


def write_csv(tables: Sequence[Table], facts: Facts, folder: Path) -> None:
    """Write `<dataset>.csv`, `columns.csv` with unit and meaning of each column, and `run.csv` with the facts."""
    for table in tables:
        values = [column.values.tolist() for column in table.columns]
        _rows(folder / f"{table.name}.csv", [[column.name for column in table.columns], *zip(*values, strict=True)])
    known = [[table.name, one.name, one.unit, one.description] for table in tables for one in table.columns]
    _rows(folder / "columns.csv", [["dataset", "column", "unit", "description"], *known])
    _rows(folder / "run.csv", [["key", "value"], *facts.items()])


def _rows(path: Path, rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)  # floats by repr: they read back the same


def write_parquet(tables: Sequence[Table], facts: Facts, folder: Path) -> None:
    """Write `<dataset>.parquet`; columns have `unit` and `description`, each file the facts, as metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    about = {"description": "", "run": json.dumps(dict(facts))}
    for table in tables:
        arrays = [pa.array(column.values) for column in table.columns]
        fields = [
            pa.field(column.name, array.type, metadata={"unit": column.unit, "description": column.description})
            for column, array in zip(table.columns, arrays, strict=True)
        ]
        schema = pa.schema(fields, metadata=about | {"description": table.description})
        parquet.write_table(pa.table(arrays, schema=schema), folder / f"{table.name}.parquet")
