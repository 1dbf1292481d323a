"""`hil note` and `hil runs`: what people write on runs, and the runs of a folder."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.console import show
from hil.cli.exits import USAGE, complain, printable, usage_errors
from hil.cli.options import AsJson

# Characters of a verdict: --json has all of its reasons.
_VERDICT = 60
# What a condition names and the table shows anyway.
_SHOWN = ("run", "experiment", "angle_deg", "accepted", "aborted", "reasons", "tags", "note")


def note(
    run: Annotated[Path, typer.Argument(metavar="RUN|CAMPAIGN", help="Folder of a run, or of a campaign.")],
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help='Replaces the note; "" removes it.', show_default=False)
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Add a tag; repeatable.", show_default=False)
    ] = None,
    remove_tag: Annotated[
        list[str] | None, typer.Option("--remove-tag", metavar="TAG", help="Remove one.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a note and tags on a run, beside its record, at any time; without TEXT and tags: show them."""
    from hil.recording.annotation import annotate, annotation_of
    from hil.recording.run_folder import FolderError

    try:
        if text is None and not tag and not remove_tag:
            found = annotation_of(run)
        else:
            found = annotate(run, text, tag or (), remove_tag or ())
    except (FolderError, ValueError) as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    if as_json:
        print(json.dumps(found._asdict()))
        return
    print(printable(f"note: {found.note or 'none'}\ntags: {', '.join(found.tags) or 'none'}"))


def runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of runs; campaigns in it count.")] = Path("runs"),
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Runs with this tag; repeatable.")
    ] = None,
    where: Annotated[
        str,
        typer.Option("--where", metavar="CONDITION", help='As "accepted and angle_deg > 60", over summary.json.'),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the runs of a folder with their verdicts, notes and tags."""
    from hil.analysis.listed_runs import chosen, listed_runs
    from hil.analysis.run_filter import FilterError, RunFilter

    problems: list[str] = []
    try:
        with usage_errors():
            rows = chosen(listed_runs(folder, problems), where, tag or ())
            asked = RunFilter(where).names if where else ()
    except FilterError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    for text in problems:
        complain(f"warning: {text}")
    if as_json:
        print(json.dumps(rows, allow_nan=False))
        return
    show(_table(rows, [name for name in asked if name not in _SHOWN]))


def _table(rows: Iterable[Mapping[str, Any]], more: Iterable[str]) -> Table:
    table = Table("run", "experiment", "angle [deg]", "verdict", *more, "tags", "note")
    for row in rows:
        cells = [_cell(row.get(key)) for key in ("run", "experiment", "angle_deg")]
        cells += [_verdict(row), *(_cell(row.get(name)) for name in more)]
        table.add_row(*map(Text, [*cells, ", ".join(row["tags"]), row["note"]]))
    return table


def _verdict(row: Mapping[str, Any]) -> str:
    if row.get("accepted") is None:
        return "no summary" if "experiment" not in row else "-"
    if row["accepted"]:
        return "accepted"
    return textwrap.shorten(f"not accepted: {row.get('reasons', '')}", _VERDICT, placeholder=" ...")


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
