"""`hil.identify`: the soil's parameters from recorded drives and from a table of tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from hil.analysis.identification.directions import in_words, proposals
from hil.analysis.identification.fit import Identification
from hil.analysis.identification.fit import identify as identify_soil
from hil.analysis.identification.parameters import USUAL
from hil.analysis.identification.shown import warnings_of, yaml_section
from hil.analysis.identification.sources import check_enough, read_sources
from hil.api.frames import frame_of
from hil.api.result import Result
from hil.api.shown import html_table

if TYPE_CHECKING:
    from pandas import DataFrame


class IdentifiedSoil:
    """A soil that was identified.

    Args:
        found: the identification.

    Attributes:
        soil: all six parameters by the names of section soil, as `config.replace({"soil": found.soil})` takes them.
        determined: every combination of the parameters is known within a factor of two, with 95 % confidence.
        in_words: what the data cannot tell, and what is wrong with the fit, in sentences.
        further_experiments: that would tell what is not determined, the most telling first.
    """

    def __init__(self, found: Identification) -> None:
        self._found = found
        self.soil, self.determined = found.values, found.determined
        self.in_words = [*warnings_of(found), *in_words(found)]
        self.further_experiments = proposals(found)

    def to_dataframe(self) -> DataFrame:
        """A row for each parameter: value, 95 % interval. Raises MissingPackageError: pandas is not installed."""
        return frame_of([asdict(one) for one in self._found.parameters], "name")

    def to_yaml(self) -> str:
        """Section soil of a config, to paste."""
        return yaml_section(self._found)

    def __repr__(self) -> str:
        values = ", ".join(f"{one.name} {one.value:.4g}" for one in self._found.parameters)
        determined = "all determined" if self.determined else "not all determined"
        return f"<IdentifiedSoil of {len(self._found.windows)} windows: {values}; {determined}>"

    def _repr_html_(self) -> str:
        rows = [(one.name, f"{one.value:.4g} ({one.low:.3g} to {one.high:.3g})") for one in self._found.parameters]
        return html_table(f"soil of {len(self._found.windows)} windows", [*rows, ("", " ".join(self.in_words))])


def identify(
    runs: Iterable[str | Path | Result] = (),
    tests: str | Path | None = None,
    *,
    find: Iterable[str] = USUAL,
    given: Mapping[str, float] | None = None,
    torque_per_A_Nm: float | None = None,
    unverified: bool = False,
) -> IdentifiedSoil:
    """Identify the soil from steady drives and from tests of one wheel (docs/how-to/identify-a-soil.md).

    Args:
        runs: folders of runs of the experiments drawbar or slope, or runs that `hil.run` or `hil.open` gave.
        tests: CSV file of tests of one wheel, or of sinkage.
        find: names of the parameters to find.
        given: values by name, in place of what the config of the runs says: fixed, or where the search begins.
        torque_per_A_Nm: torque at an axle for each ampere of its motor; None: on a real rig torques are not used.
        unverified: also runs that do not match their digests.

    Raises:
        IdentificationError: a ValueError: the data cannot be used; the message says why, and what to do.
        FolderError, RecordError, UnverifiedRunError: a run cannot be read.
    """
    folders = [one.folder if isinstance(one, Result) else Path(one) for one in runs]
    values = [f"{name}={float(value)!r}" for name, value in (given or {}).items()]
    path = None if tests is None else Path(tests)
    read = read_sources(folders, path, values, torque_per_A_Nm=torque_per_A_Nm, unverified=unverified)
    names = tuple(find)
    check_enough(read.windows, names)
    return IdentifiedSoil(identify_soil(read.windows, read.soil, names))
