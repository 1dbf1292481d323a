"""`hil compare`: two campaigns beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.campaign_report import spread_cells
from hil.cli.console import show
from hil.cli.exits import USAGE, complain, usage_errors
from hil.cli.options import AsJson, Out, Unverified

if TYPE_CHECKING:
    from hil.analysis.compare import Comparison
    from hil.analysis.statistics import MeanDifference


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Folder of a campaign.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Folder of another.")],
    quantity: Annotated[
        str, typer.Option("--quantity", metavar="KEY", help="Number to compare: a column of campaign.csv.")
    ] = "sum_of_peaks_N",
    out: Out = None,
    unverified: Unverified = False,
    as_json: AsJson = False,
) -> None:
    """Compare two campaigns: table, figure, and the difference B - A with its interval, at each angle and over all."""
    from hil.analysis.compare import compare as compare_campaigns
    from hil.analysis.compare import draw_comparison
    from hil.analysis.report import drawing
    from hil.analysis.report.make import DoubtedError
    from hil.experiments.figure_file import stamp
    from hil.recording.run_folder import run_folder

    try:
        with usage_errors():
            comparison = compare_campaigns(first, second, quantity, unverified=unverified)
            folder = run_folder(out, "campaigns", "compare")
    except DoubtedError as error:
        complain(f"{error} (--unverified compares them all the same, and stamps the figure)")
        raise typer.Exit(USAGE) from None
    with drawing.styled():
        figure = draw_comparison(comparison)
        drawing.settle(figure)
        if comparison.wrong:
            stamp(figure, "NOT VERIFIED")
        drawing.save(figure, folder / "compare", "compare", {"csv_sha256": ", ".join(comparison.digests)})
    if as_json:
        print(json.dumps(comparison.plain(), allow_nan=False))
        return
    if comparison.wrong:
        print(f"not verified: {comparison.wrong[0]}")
    show(_table(comparison))
    difference, p = _difference(comparison.overall)
    print(f"over all angles: B - A {difference}, p {p}")
    print(f"figure: {folder / 'compare.png'}, and as PDF and SVG")


def _table(found: Comparison) -> Table:
    table = Table(title=Text(f"{found.quantity}: A {found.names[0]}, B {found.names[1]}"), title_justify="left")
    heads = ("n", "mean", "mean abs. dev.", "95 % interval")
    for column in ("ground", "angle [deg]", *(f"{head}, {side}" for side in "AB" for head in heads), "B - A", "p"):
        table.add_column(column, justify="right")
    for row in found.rows:
        cells = (*spread_cells(row.first), *spread_cells(row.second), *_difference(row.difference))
        table.add_row(Text(row.ground), f"{row.angle_deg:g}", *cells)
    return table


def _difference(found: MeanDifference | None) -> tuple[str, str]:
    if found is None:
        return "-", "-"
    if found.low is None or found.p is None:
        return f"{found.value:+.4g} (too few trials for an interval)", "-"
    return f"{found.value:+.4g} ({found.low:+.4g} to {found.high:+.4g})", f"{found.p:.2g}"
