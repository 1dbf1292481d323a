"""How the rover stood in the trials of a campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hil.analysis.report.trials import Trial


class _MobilityRow(NamedTuple):
    """The worst of each metric in a trial; None where there is none.

    Attributes:
        label: of the trial.
        share: least share of the weight on a wheel [%].
        wheel: which one that is.
        stability_deg: least margin to tipping over.
        friction: largest friction needed.
    """

    label: str
    share: float | None
    wheel: str
    stability_deg: float | None
    friction: float | None


def mobility_rows(trials: Sequence[Trial]) -> list[_MobilityRow]:
    """One a trial whose summary has the metrics (`hil.experiments.mobility`)."""
    rows = []
    for trial in trials:
        found = trial.summary.get("mobility")
        if not isinstance(found, Mapping):
            continue
        shares = found.get("load_share") or {}
        least = [(share, str(name)) for name in shares if (share := _of(shares, name, "least")) is not None]
        share, wheel = min(least, default=(None, "–"))
        rows.append(
            _MobilityRow(
                trial.label,
                None if share is None else 100.0 * share,
                wheel.replace("_", " "),
                _of(found, "stability_deg", "least"),
                _of(found, "friction_needed", "largest"),
            )
        )
    return rows


def _of(found: Mapping[str, object], name: str, which: str) -> float | None:
    one = found.get(name)
    value = one.get(which) if isinstance(one, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
