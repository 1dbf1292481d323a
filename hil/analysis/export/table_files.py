"""CSV and Parquet: a folder with one file for each dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

from hil.analysis.export.tables import Table
from hil.config.csv_rows import write_rows

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
