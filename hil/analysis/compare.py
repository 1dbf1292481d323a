"""`hil compare`: the difference of two campaigns, at each angle and over all of them, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hil.analysis import statistics
from hil.analysis.campaign import RecordedCampaign, read_campaign
from hil.analysis.report import drawing
from hil.analysis.report.answers import source_line
from hil.analysis.report.groups import FORCE, FORCES, Trial, doubts, trials_of
from hil.analysis.report.make import DoubtedError
from hil.analysis.statistics import LEVEL, MeanDifference, SampleSpread
from hil.experiments.drawing import COLOURS
from hil.recording.child_reader import file_sha256
from hil.recording.run_folder import FolderError

Place = tuple[str, float]  # ground, or "" where grounds are not told apart; angle [deg]


@dataclass(frozen=True)
class _ComparisonRow:
    """Both campaigns at one angle."""

    ground: str  # of the trials; empty where the campaigns are not on the same grounds
    angle_deg: float  # of the obstacle
    first: SampleSpread | None  # spread of the quantity in the first campaign; None: it has no such trial
    second: SampleSpread | None  # in the second
    difference: MeanDifference | None  # second minus first; None where one of them has none


@dataclass(frozen=True)
class Comparison:
    """Two campaigns next to each other."""

    names: tuple[str, str]  # of the campaigns; of their folders where two have one name
    quantity: str  # key of campaign.csv
    rows: tuple[_ComparisonRow, ...]  # one an angle, of each ground
    # mean over the rows with trials of both, each with the same weight; None: there is none.
    overall: MeanDifference | None
    wrong: tuple[str, ...]  # why files of a campaign are not to be trusted
    digests: tuple[str, str]  # SHA-256 of each campaign.csv
    sources: tuple[str, str]  # of which campaign each is, in a line, and whether anything real moved

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"level": LEVEL, **asdict(self)}


def compare(first: Path, second: Path, quantity: str = FORCE, *, unverified: bool = False) -> Comparison:
    """Compare the trials of two campaigns that count. `quantity` is a key of campaign.csv.

    Raises FolderError: a folder holds no campaign, or no trial of it has the quantity; DoubtedError: a campaign does
    not match its digests, and `unverified` is not set.
    """
    campaigns = read_campaign(first), read_campaign(second)
    trials = [trials_of(campaign) for campaign in campaigns]
    wrong = tuple(doubt for pair in zip(campaigns, trials, strict=True) for doubt in doubts(*pair))
    if wrong and not unverified:
        raise DoubtedError(f"{first} and {second} are not compared: {wrong[0]}")
    grounds = [{str(trial.row.get("ground")) for trial in part} for part in trials]
    apart = grounds[0] == grounds[1]
    values = [_values(part, quantity, apart=apart) for part in trials]
    for campaign, values_at in zip(campaigns, values, strict=True):
        if not values_at:
            raise FolderError(f"{campaign.folder}: no trial that counts has the number {quantity}")
    places = sorted({*values[0], *values[1]})
    both = [(values[0][place], values[1][place]) for place in places if place in values[0] and place in values[1]]
    return Comparison(
        _names(campaigns),
        quantity,
        tuple(_row(place, values[0].get(place), values[1].get(place)) for place in places),
        statistics.stratified_difference(both) if both else None,
        wrong,
        (_digest(campaigns[0]), _digest(campaigns[1])),
        (source_line(campaigns[0]), source_line(campaigns[1])),
    )


def draw_comparison(found: Comparison) -> Figure:
    """Both campaigns over the angle, and the difference with its interval below."""
    grounds = list(dict.fromkeys(row.ground for row in found.rows))
    figure = drawing.new_figure(4.4)
    grid = figure.subplots(2, len(grounds), sharex="col", sharey="row", squeeze=False, height_ratios=(2, 1))
    for column, ground in enumerate(grounds):
        above, below = grid[:, column]
        rows = [row for row in found.rows if row.ground == ground]
        for place, (name, line) in enumerate(zip(found.names, ("-", "--"), strict=True)):
            spreads = [(row.angle_deg, (row.first, row.second)[place]) for row in rows]
            known = [(angle, one) for angle, one in spreads if one is not None]
            at = np.array([angle for angle, _ in known]) + (-0.5, 0.5)[place]
            half = [one.high - one.mean if one.high is not None else 0.0 for _, one in known]
            style = {
                "marker": drawing.marker_of(place),
                "color": COLOURS[place],
                "ls": line,
                "ms": 4.5,
                "capsize": 3,
                "lw": 1.1,
            }
            style |= {"mfc": "white" if place else COLOURS[0], "label": drawing.plain(f"{'AB'[place]}: {name}")}
            above.errorbar(at, [one.mean for _, one in known], half, **style)
        known_differences = [(row.angle_deg, row.difference) for row in rows if row.difference is not None]
        half = [one.high - one.value if one.high is not None else 0.0 for _, one in known_differences]
        style = {"fmt": "D", "color": "black", "ms": 4, "capsize": 3}
        below.errorbar([a for a, _ in known_differences], [one.value for _, one in known_differences], half, **style)
        below.axhline(0.0, color="#666666", lw=0.8)
        below.set_xlabel("obstacle angle [deg]")
        if ground:
            above.set_title(f"{ground} ground", loc="left", parse_math=False)
    words = f"{FORCES[found.quantity]} [N]" if found.quantity in FORCES else found.quantity
    grid[0, 0].set_ylabel(f"{words}\nmean, bars: 95 %")
    grid[1, 0].set_ylabel("B - A")
    drawing.legend_below(figure, *grid[0, 0].get_legend_handles_labels()[0])
    return figure


def _names(campaigns: Sequence[RecordedCampaign]) -> tuple[str, str]:
    first, second = campaigns
    if first.name != second.name:
        return first.name, second.name
    return first.folder.absolute().name, second.folder.absolute().name


def _values(trials: Sequence[Trial], quantity: str, *, apart: bool) -> dict[Place, list[float]]:
    values: dict[Place, list[float]] = {}
    for trial in trials:
        if trial.kept:
            ground = str(trial.row.get("ground")) if apart else ""
            for angle, value in statistics.paired([trial.row], "angle_deg", quantity):
                values.setdefault((ground, angle), []).append(value)
    return values


def _row(place: Place, first: list[float] | None, second: list[float] | None) -> _ComparisonRow:
    first_spread, second_spread = (statistics.spread_of(values) if values else None for values in (first, second))
    return _ComparisonRow(
        *place, first_spread, second_spread, statistics.welch(first, second) if first and second else None
    )


def _digest(campaign: RecordedCampaign) -> str:
    return file_sha256(campaign.folder / "campaign.csv")
