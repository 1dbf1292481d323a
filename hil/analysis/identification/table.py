"""Windows from a table of tests that were not made with `hil`: a single wheel on its carriage, or a sinkage test."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from hil.analysis.identification.windows import IdentificationError, MeasuredMean, WheelSize, Window, in_millimetres
from hil.config.csv_rows import number_in, numbered_rows
from hil.config.text_file import read_text

_MOST_BYTES = 2**20
_MOST_LISTED = 10  # lines that are wrong
_VALUES = ("pull_N", "torque_Nm", "sinkage_m")
COLUMNS = (
    "load_N",
    "slip",
    "slip_sd",
    "radius_m",
    "width_m",
    *(f"{name}{end}" for name in _VALUES for end in ("", "_sd")),
)


def windows_of_table(path: Path, wheel: WheelSize | None = None) -> tuple[Window, ...]:
    """A window for each row of a CSV file; lines that begin with # do not count.

    Columns: `load_N`; `slip`, empty where the wheel was pressed down without turning, and `slip_sd`; and each of
    `pull_N`, `torque_Nm`, `sinkage_m` that was measured, with its standard deviation as `pull_N_sd` and so on. An empty
    cell: not measured. `radius_m` and `width_m` of the wheel; without them it is that of the runs.

    Args:
        path: of the file.
        wheel: of the runs; None: there are none.

    Raises:
        IdentificationError: the file cannot be read, or a row of it says too little.
    """
    try:
        text = read_text(path, _MOST_BYTES).removeprefix("\ufeff")
    except (OSError, ValueError) as error:
        raise IdentificationError(f"{path} cannot be read: {error}") from None
    rows = numbered_rows(text)
    columns = rows[0][1] if rows else []
    if "load_N" not in columns or set(columns) - set(COLUMNS) or len(set(columns)) < len(columns):
        raise IdentificationError(
            f"{path}: columns {', '.join(columns)[:200] or 'none'}; allowed: {', '.join(COLUMNS)}, load_N among them"
        )
    if len(rows) < 2:
        raise IdentificationError(f"{path} has no rows of numbers")
    found, wrong = list[Window](), list[str]()
    for number, cells in rows[1:]:
        line = f"{path.name}, line {number}"
        try:
            found.append(_window(line, cells, columns, wheel))
        except IdentificationError as error:
            wrong.append(str(error) if str(error).startswith(line) else f"{line}: {error}")
    if wrong:
        more = [f"{len(wrong) - _MOST_LISTED} more lines are wrong"] if len(wrong) > _MOST_LISTED else []
        raise IdentificationError("\n".join([*wrong[:_MOST_LISTED], *more]))
    return tuple(found)


def _window(name: str, cells: list[str], columns: list[str], wheel: WheelSize | None) -> Window:
    if len(cells) != len(columns):
        raise IdentificationError(f"{name} has {len(cells)} cells, allowed: {len(columns)}, as the header")
    row = {column: _number(name, column, cell) for column, cell in zip(columns, cells, strict=True) if cell}
    if "load_N" not in row:
        raise IdentificationError(f"{name}: load_N is empty; it is needed")
    if "radius_m" in row and "width_m" in row:
        wheel = WheelSize(row["radius_m"], row["width_m"])
    if wheel is None:
        raise IdentificationError(f"{name}: radius_m and width_m of the wheel are needed without runs")
    for column in ("sinkage_m", "sinkage_m_sd"):
        if not abs(length := row.get(column, 0.0)) < wheel.radius_m + wheel.grouser_height_m:
            allowed = f"below the radius of the wheel, {wheel.radius_m + wheel.grouser_height_m:g} m"
            raise IdentificationError(f"{name}: {column} is {length:g}, allowed: {allowed}{in_millimetres(length)}")
    slip = row.get("slip")
    return Window(
        name=name,
        wheel=wheel,
        load_N=(row["load_N"],),
        slip=None if slip is None else (slip,),
        slip_sd=() if slip is None else (row.get("slip_sd", 0.0),),
        pull_N=_measured(name, "pull_N", row),
        torque_Nm=_measured(name, "torque_Nm", row),
        sinkage_m=_measured(name, "sinkage_m", row),
    )


def _measured(name: str, column: str, row: Mapping[str, float]) -> MeasuredMean | None:
    if column not in row:
        return None
    if f"{column}_sd" not in row:
        raise IdentificationError(f"{name}: {column} without {column}_sd, its standard deviation; give both")
    return MeasuredMean(row[column], _above(name, f"{column}_sd", row))


def _above(name: str, column: str, row: Mapping[str, float]) -> float:
    if row[column] <= 0.0:
        raise IdentificationError(f"{name}: {column} is {row[column]:g}, allowed: above 0")
    return row[column]


def _number(name: str, column: str, cell: str) -> float:
    value = number_in(cell)
    if math.isnan(value):
        raise IdentificationError(f"{name}: {column} is {cell[:40]!r}; allowed: a finite number, or an empty cell")
    return value
