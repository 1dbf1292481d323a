"""MAT, version 5: a struct for each dataset; the same names under `units` and `descriptions`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy.io import savemat

from hil.analysis.export.tables import Column, Table

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
