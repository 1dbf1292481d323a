"""All windows of an identification: of runs and of a table, with the soil that the search begins at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from hil.analysis.identification.parameters import RANGES
from hil.analysis.identification.recorded import windows_of
from hil.analysis.identification.rigs import USUAL_UNCERTAINTY, Uncertainty, soil_section
from hil.analysis.identification.table import windows_of_table
from hil.analysis.identification.windows import IdentificationError, Window
from hil.config.schema.ground_and_obstacle import SoilConfig


@dataclass(frozen=True)
class Sources:
    """What an identification is made of.

    Attributes:
        windows: of all sources.
        soil: all six parameters by name: fixed, or where the search begins.
        name: of the config, or of the table.
    """

    windows: tuple[Window, ...]
    soil: Mapping[str, float]
    name: str


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
    return Sources(windows, soil, read.name if read is not None else str(tests and tests.stem))


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
        low = 0.0 if name == "cohesion_Pa" else low
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
