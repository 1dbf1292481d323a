"""`hil report` of a campaign."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.console import show
from hil.cli.exits import USAGE, complain, usage_errors

if TYPE_CHECKING:
    from hil.analysis.report.groups import Group
    from hil.analysis.statistics import SampleSpread


def is_campaign(folder: Path) -> bool:
    """Whether a folder is that of a campaign, and not of a single run."""
    try:
        return (folder / "campaign.json").is_file()
    except (OSError, ValueError):  # what is no path at all
        return False


def report_campaign(folder: Path, unverified: bool, as_json: bool) -> None:
    """Write report.html and the figures of a campaign, and print its table."""
    from hil.analysis.report import answers
    from hil.analysis.report.groups import FORCE
    from hil.analysis.report.make import DoubtedError
    from hil.analysis.report.make import report_campaign as make_report

    try:
        with usage_errors():
            made = make_report(folder, unverified=unverified)
    except DoubtedError as error:
        complain(f"{error}; --unverified makes a stamped report")
        raise typer.Exit(USAGE) from None
    if as_json:
        print(json.dumps({"page": str(made.page), "wrong": made.wrong, "groups": [*map(_plain, made.groups)]}))
        return
    if made.wrong:
        print(f"not verified: {made.wrong[0]}")
    print(answers.kept_sentence(made.trials))
    for group in made.groups:
        table = Table(title=Text(f"{group.label}: {FORCE}"), title_justify="left")
        for column in ("angle [deg]", "n", "mean [N]", "mean abs. dev. [N]", "95 % interval [N]"):
            table.add_column(column, justify="right")
        for angle, spread in group.over_angle(FORCE).items():
            table.add_row(f"{angle:g}", *spread_cells(spread))
        show(table)
        print(answers.trend_sentence(group, group.fitting))
    print(f"report: {made.page}")


def spread_cells(spread: SampleSpread | None) -> tuple[str, ...]:
    """Number, mean, mean absolute deviation and interval, for a table."""
    if spread is None:
        return "0", "-", "-", "-"
    interval = "-" if spread.low is None else f"{spread.low:.4g} to {spread.high:.4g}"
    return str(spread.n), f"{spread.mean:.4g}", f"{spread.mean_absolute_deviation:.2g}", interval


def _plain(group: Group) -> dict[str, Any]:
    """Statistics of a group, for JSON."""
    from hil.analysis.report.answers import trend_sentence
    from hil.analysis.report.groups import ENERGIES, FORCES

    keys = (*FORCES, *ENERGIES)
    return {
        "label": group.label,
        "trials": len(group.trials),
        "kept": len(group.kept),
        "over_angle": {
            key: [{"angle_deg": angle, **asdict(spread)} for angle, spread in group.over_angle(key).items()]
            for key in keys
        },
        "trends": [
            asdict(group.trend(key))
            | {"exponent": asdict(found := group.exponent(key)), "verdict": found.verdict}
            | {"words": trend_sentence(group, key)}
            for key in (group.fitting, group.other)
        ],
        "outliers": [
            {"trial": trial.label, **{key: value for key, value in asdict(one).items() if key != "place"}}
            for trial, one in group.outliers
        ],
    }
