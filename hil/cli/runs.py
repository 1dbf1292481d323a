"""`hil note` and `hil runs`: what people write on runs, and the runs of a folder.

`hil export`: a run or a campaign in another program's format.

`hil render`: a film or a picture of a run, the rover as it moved.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.run_options import AsJson, ProgressBar, Unverified
from hil.cli.terminal import USAGE, complain, printable, show, usage_errors
from hil.cli.trial import is_campaign

# Characters of a verdict: --json has all of its reasons.
_VERDICT = 60
# Numbers of a run in the table, the first of its experiment.
_NUMBERS = 3
# What a condition names and the table shows anyway.
_SHOWN = ("run", "experiment", "angle_deg", "accepted", "aborted", "reasons", "tags", "note")


def note(
    run: Annotated[Path, typer.Argument(metavar="RUN|CAMPAIGN", help="Folder of a run, or of a campaign.")],
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help='Replaces the note; "" removes it.')] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Add a tag; repeatable.")] = None,
    remove_tag: Annotated[list[str] | None, typer.Option("--remove-tag", metavar="TAG", help="Remove one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a note and tags on a run, next to its record, at any time; without TEXT and tags: show them."""
    from hil.recording.annotation import annotate, annotation_of
    from hil.recording.run_folder import FolderError

    with usage_errors(FolderError, ValueError):
        if text is None and not tag and not remove_tag:
            found = annotation_of(run)
        else:
            found = annotate(run, text, tag or (), remove_tag or ())
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
        typer.Option("--where", metavar="CONDITION", help='As "counts and angle_deg > 60", over summary.json.'),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the runs of a folder: what the rules and the operator say of them, notes and tags.

    A run counts if both accept it: --where counts.
    """
    from hil.analysis.listed_runs import FilterError, RunFilter, chosen, listed_runs

    problems: list[str] = []
    with usage_errors(FilterError):
        rows = chosen(listed_runs(folder, problems), where, tag or ())
        asked = RunFilter(where).names if where else ()
    for text in problems:
        complain(f"warning: {text}")
    if as_json:
        print(json.dumps(rows, allow_nan=False))
        return
    show(_table(rows, [name for name in asked if name not in _SHOWN]))


def _table(rows: Iterable[Mapping[str, Any]], more: Iterable[str]) -> Table:
    from hil.experiments.registry import main_values

    rows = list(rows)
    asked = ["operator"] * any("operator_verdict" in row for row in rows)
    table = Table("run", "experiment", "angle [deg]", "rules", *asked, "result", *more, "tags", "note")
    for row in rows:
        said = [row[key] for key in ("operator_verdict", "operator_word") if row.get(key)]
        cells = [_cell(row.get(key)) for key in ("run", "experiment", "angle_deg")]
        result = ", ".join(" ".join(one).rstrip() for one in main_values(row)[:_NUMBERS])
        cells += [_verdict(row), *[": ".join(said) or "-"] * len(asked), result]
        cells += [_cell(row.get(name)) for name in more]
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


class _ExportFormat(StrEnum):
    """Formats of `hil export`."""

    tdms = "tdms"
    csv = "csv"
    parquet = "parquet"
    mat = "mat"
    mcap = "mcap"
    rrd = "rrd"


def export(
    source: Annotated[Path, typer.Argument(metavar="RUN|CAMPAIGN", help="Folder of a run or a campaign.")],
    to: Annotated[_ExportFormat, typer.Option("--to", help="Format.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="File or folder to make.")] = None,
    unverified: Unverified = False,
) -> None:
    """Write a record in another format, with its names and units."""
    from hil.analysis.dataset import MissingPackageError, UnverifiedRunError
    from hil.analysis.export.run import export as export_source
    from hil.recording import RecordError

    with usage_errors(MissingPackageError, UnverifiedRunError, RecordError, OSError), ProgressBar("rows") as bar:
        made = export_source(source, to.value, out, unverified=unverified, progress=bar.done)
    for reason in made.left_out:
        complain(f"left out: {reason}")
    print(f"{made.runs} run{'' if made.runs == 1 else 's'}: {made.path}")


def render(
    run: Annotated[
        Path, typer.Argument(metavar="RUN|CAMPAIGN", help="Folder of a run; of a campaign: each of its trials.")
    ],
    view: Annotated[
        Literal["side", "top", "3d"],
        typer.Option("--view", help="From starboard, from above, or in three dimensions."),
    ] = "side",
    to: Annotated[
        Literal["mp4", "gif", "png"],
        typer.Option("--to", help="Film, or png: a strip of six pictures. mp4 needs ffmpeg."),
    ] = "gif",
    speed: Annotated[
        float,
        typer.Option(
            "--speed",
            metavar="X",
            min=1e-4,
            max=1000.0,
            help="Of the film: 0.01 is a hundredth. Below 0.2 it shows the impact alone, unless times are given.",
        ),
    ] = 1.0,
    fps: Annotated[float, typer.Option("--fps", metavar="N", min=0.5, max=50.0, help="Pictures a second.")] = 20.0,
    from_s: Annotated[float | None, typer.Option("--from", metavar="S", help="First time of the run.")] = None,
    to_s: Annotated[float | None, typer.Option("--to-time", metavar="S", help="Last time of the run.")] = None,
    at_s: Annotated[
        float | None,
        typer.Option("--at", metavar="S", help="One picture, of that time; with --to png."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="File to make; RUN/VIEW.TO.")] = None,
    camera: Annotated[
        bool, typer.Option("--camera", help="With the frames of the run's camera next to it, at the same time.")
    ] = False,
    unverified: Unverified = False,
) -> None:
    """Film a run: the rover with its legs and wheels, the plate, the loads, as the record has them."""
    from hil.analysis.dataset import UnverifiedRunError
    from hil.analysis.film.files import FilmError
    from hil.analysis.film.make import FilmRequest, trials_in
    from hil.analysis.film.make import render as render_run
    from hil.recording import RecordError

    if at_s is not None and to != "png":
        raise typer.BadParameter("--at makes one picture: allowed with --to png")
    if (many := is_campaign(run)) and out is not None:
        raise typer.BadParameter("--out is one file, a campaign has one in each trial's folder: leave --out away")
    wanted, failed = FilmRequest(view, to, speed, fps, from_s, to_s, at_s, unverified, camera), False
    for folder in trials_in(run) if many else [run]:
        with usage_errors():
            try:
                with ProgressBar("pictures") as bar:
                    path, count = render_run(folder, wanted, out, bar.done)
            except (FilmError, RecordError, UnverifiedRunError, OSError) as error:
                complain(f"{folder.name}: {error}" if many else str(error))
                failed = True
                continue
        print(f"{path}: {count} picture{'s' * (count != 1)}")
    if failed:
        raise typer.Exit(USAGE)
