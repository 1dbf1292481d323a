"""The soil estimated in the trials of a campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hil.analysis.report.trials import Trial
from hil.messages.layout import SOIL_PARAMETERS


class _SoilRow(NamedTuple):
    """A trial's estimate.

    Attributes:
        label: of the trial.
        values: of each of `SOIL_PARAMETERS`, in words: value and 95 % interval.
    """

    label: str
    values: tuple[str, ...]


def soil_rows(trials: Sequence[Trial]) -> list[_SoilRow]:
    """One a trial whose soil was estimated."""
    rows = []
    for trial in trials:
        estimate = trial.summary.get("soil_estimate")
        if isinstance(estimate, Mapping) and isinstance(parameters := estimate.get("parameters"), Mapping):
            rows.append(_SoilRow(trial.label, tuple(_words(parameters.get(name)) for name in SOIL_PARAMETERS)))
    return rows


def _words(one: object) -> str:
    if not isinstance(one, Mapping):
        return "–"
    numbers = [one.get(key) for key in ("value", "low", "high")]
    if not all(isinstance(number, int | float) for number in numbers):
        return "–"
    value, low, high = (f"{number:.3g}" for number in numbers)
    return f"{value} ({low} to {high})" + ("" if one.get("observable") else ", not observable")
