"""All windows of an identification, of runs and of a table of tests, with the soil that the search begins at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from hil.analysis.identification.forward import (
    MAY_BE_ZERO,
    RANGES,
    IdentificationError,
    MeasuredMean,
    WheelSize,
    Window,
    in_millimetres,
)
from hil.analysis.identification.recorded import USUAL_UNCERTAINTY, Sources, Uncertainty, soil_section, windows_of
from hil.config.files import read_text
from hil.config.schema.ground_and_obstacle import SoilConfig
from hil.config.text_io import number_in, numbered_rows
from hil.experiments.drawing import TESTS

_MOST_BYTES = 2**20
_MOST_LISTED = 10  # lines that are wrong
_VALUES = ("pull_N", "torque_Nm", "sinkage_m")
COLUMNS = (
    "load_N",
    "slip",
    "slip_sd",
    "radius_m",
    "width_m",
    "grouser_height_m",
    *(f"{name}{end}" for name in _VALUES for end in ("", "_sd")),
)


def windows_of_table(path: Path, wheel: WheelSize | None = None) -> tuple[Window, ...]:
    """A window for each row of a CSV file; lines that begin with # do not count.

    Columns: `load_N`; `slip`, empty where the wheel was pressed down without turning, and `slip_sd`; and each of
    `pull_N`, `torque_Nm`, `sinkage_m` that was measured, with its standard deviation as `pull_N_sd` and so on. An empty
    cell: not measured. `radius_m` and `width_m` of the wheel; without them it is that of the runs.

    Raises IdentificationError: the file cannot be read, or a row of it says too little.
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
        wheel = WheelSize(row["radius_m"], row["width_m"], row.get("grouser_height_m", 0.0))
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
    if (sd := row[f"{column}_sd"]) <= 0.0:
        raise IdentificationError(f"{name}: {column}_sd is {sd:g}, allowed: above 0")
    return MeasuredMean(row[column], sd)


def _number(name: str, column: str, cell: str) -> float:
    value = number_in(cell)
    if math.isnan(value):
        raise IdentificationError(f"{name}: {column} is {cell[:40]!r}; allowed: a finite number, or an empty cell")
    return value


def read_sources(
    runs: Sequence[Path],
    tests: Path | None = None,
    given: Sequence[str] = (),
    uncertainty: Uncertainty = USUAL_UNCERTAINTY,
    torque_per_A_Nm: float | None = None,
    *,
    unverified: bool = False,
    spread: Executor | None = None,
) -> Sources:
    """Read runs and a table.

    Args:
        runs: folders; see `windows_of`.
        tests: CSV file; see `windows_of_table`.
        given: `NAME=VALUE`, in place of what the config of the runs says of the soil.
        uncertainty: of loads and torques.
        torque_per_A_Nm: see `windows_of`.
        unverified: also runs that do not match their digests.
        spread: reads the runs; see `windows_of`.

    Raises:
        IdentificationError: they cannot be used.
        FolderError, RecordError, UnverifiedRunError, ConfigError: a run cannot be read.
    """
    if not runs and tests is None:
        raise IdentificationError("no run and no table: give folders of runs, or --tests FILE")
    read = windows_of(runs, uncertainty, torque_per_A_Nm, unverified=unverified, spread=spread) if runs else None
    windows = read.windows if read else ()
    if tests is not None:
        windows += windows_of_table(tests, windows[0].wheel if windows else None)
    soil = {**(read.soil if read else soil_section(SoilConfig())), **_given(given)}
    name = read.name if read else str(tests and tests.stem)
    facts = dict(read.facts) if read else {"rig": TESTS}
    return Sources(windows, soil, name, facts | ({"tests": tests.name} if tests else {}))


def check_enough(windows: Sequence[Window], find: Sequence[str]) -> None:
    """Raises IdentificationError: fewer measured values than parameters to find."""
    values = sum(len(window.measured) for window in windows)
    if values < len(find):
        raise IdentificationError(
            f"{len(windows)} windows with {values} measured values for {len(find)} parameters ({', '.join(find)}): "
            "too few. Give more runs, at other slips; or a table of tests (--tests); or find fewer (--find NAME), "
            "and give the others (--given NAME=VALUE)"
        )


def _given(texts: Sequence[str]) -> dict[str, float]:
    found = dict[str, float]()
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        low, high = RANGES.get(name, (math.nan, math.nan))
        low = 0.0 if name in MAY_BE_ZERO else low
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not low <= number <= high:
            allowed = ", ".join(f"{one} up to {most:g}" for one, (_, most) in RANGES.items())
            raise IdentificationError(
                f"--given {text[:60]}: allowed is NAME=VALUE, a name and a number in its range: {allowed}"
            )
        found[name] = number
    return found
