"""`hil note`, `hil runs` and `hil explain`: the runs of a folder, notes on them, and their faults."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table
from rich.text import Text

from hil.campaign.progress import ProgressBar
from hil.cli.run_options import (
    AsJson,
    ConfigSource,
    JsonFile,
    Overrides,
    Unverified,
    config_from,
    writable,
    write,
)
from hil.cli.terminal import FAULT, USAGE, complain, show, usage_errors, write_folded
from hil.cli.trial import is_campaign

if TYPE_CHECKING:
    from hil.analysis.fault_report import FaultReport, FaultWindow
    from hil.app.faults.case import FaultResult
    from hil.app.faults.table import RowLeftOut
    from hil.safety.fault_table import FaultRow


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
    from hil.recording.run_folder import FolderError, annotate, annotation_of

    with usage_errors(FolderError, ValueError):
        if text is None and not tag and not remove_tag:
            found = annotation_of(run)
        else:
            found = annotate(run, text, tag or (), remove_tag or ())
    if as_json:
        print(json.dumps(found._asdict()))
        return
    write_folded(f"note: {found.note or 'none'}\ntags: {', '.join(found.tags) or 'none'}")


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
    heads = ("run", "experiment", "angle [deg]", "rules", "operator", "result", *more, "tags", "note")
    cells = []
    for row in rows:
        said = [row[key] for key in ("operator_verdict", "operator_word") if row.get(key)]
        result = ", ".join(" ".join(one).rstrip() for one in main_values(row)[:_NUMBERS])
        named = (*map(_cell, map(row.get, ("run", "experiment", "angle_deg"))), _verdict(row), ": ".join(said) or "-")
        cells.append((*named, result, *map(_cell, map(row.get, more)), ", ".join(row["tags"]), row["note"]))
    shown = [
        column for column in zip(heads, *cells, strict=True) if not {*column[1:]} <= {"", "-"} or column[0] in more
    ]
    table = Table(*(head for head, *_ in shown))
    for texts in zip(*(column for _, *column in shown), strict=True):
        table.add_row(*map(Text, texts))
    return table


def _verdict(row: Mapping[str, Any]) -> str:
    if row.get("accepted") is None:
        return "no summary yet, or cut off (hil recover)" if "experiment" not in row else "-"
    if row["accepted"]:
        return "accepted"
    return f"not accepted: {row.get('reasons', '')}"


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
    rosbag2 = "rosbag2"


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
    write_folded(f"{made.runs} run{'' if made.runs == 1 else 's'}: {made.path}")


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
    if out is not None and out.suffix != f".{to}":
        raise typer.BadParameter(f"--out {out.name}: allowed with --to {to}: a name that ends with .{to}")
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
        write_folded(f"{path}: {count} picture{'s' * (count != 1)}")
    if failed:
        raise typer.Exit(USAGE)


def explain(
    fault: Annotated[str, typer.Argument(metavar="[FAULT]", help="Number or name of a fault.")] = "",
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="Report this fault of a run, or all of them."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a fault is, how soon it is noticed, and what to do; with --run, what the record shows of it.

    Without FAULT: the whole table, or every fault of the run.
    """
    from hil.safety.fault_table import FAULT_TABLE, row_of

    with usage_errors(ValueError):
        row = row_of(fault) if fault else None
    if run is not None:
        _explain_run(run, row, as_json)
    elif as_json:
        rows = [entry.as_json() for entry in FAULT_TABLE.values()] if row is None else row.as_json()
        print(json.dumps(rows, allow_nan=False))
    elif row is not None:
        show_row(row)
    else:
        table = Table("fault", "name", "watched", "reaction", title="fault table")
        for entry in FAULT_TABLE.values():
            table.add_row(*map(Text, (str(entry.number), entry.name, entry.watched, entry.reaction)))
        show(table)


def show_row(row: FaultRow) -> None:
    """Print a row of the fault table for the person at the rig."""
    table = Table("", "", title=f"fault {row.number}: {row.name}", show_header=False)
    for name, text in (
        ("watched", row.watched),
        ("noticed within", row.bound),
        ("reaction", row.reaction),
        ("latched", "yes" if row.latched else "no"),
        ("cleared", row.clears),
        ("what to do", row.operator),
    ):
        table.add_row(Text(name), Text(text))
    show(table)


def _explain_run(run: Path, row: FaultRow | None, as_json: bool) -> None:
    from hil.analysis.fault_report import cut_off, read_reports
    from hil.recording import RecordError

    with usage_errors(RecordError):
        reports, ended = read_reports(run), cut_off(run)
    wanted = [report for report in reports if row is None or report.row.number == row.number]
    if as_json:
        found = {"run": str(run), "cut_off": ended, "faults": [report.as_json() for report in wanted]}
        print(json.dumps(found, allow_nan=False))
        return
    if ended:
        write_folded(f"{run}: {ended}")
    if not wanted:
        faults = ", ".join(f"{report.row.number} {report.row.name}" for report in reports)
        what = "no fault" if row is None else f"no fault {row.number} ({row.name})"
        write_folded(f"{run}: {what}" + (f"; its faults: {faults}" if faults else ""))
    for report in wanted:
        _show_report(report)


def _show_report(report: FaultReport) -> None:
    show_row(report.row)
    write_folded(f"noticed in tick {report.tick}, at {report.t_s:.3f} s: {report.detail}")
    if report.value is not None:
        write_folded(f"found: {report.value:g}, allowed: {'-' if report.limit is None else f'{report.limit:g}'}")
    write_folded(f"recorded as: {report.event}")
    write_folded(f"first tick in Safe: {'none' if report.safe_tick is None else report.safe_tick}")
    if report.bound_ms is not None:
        write_folded(
            f"longest time from the cause to the reaction, with the config of this run: {report.bound_ms:g} ms"
        )
    if report.empty_ms is not None:
        write_folded(f"all chambers were empty {report.empty_ms:.0f} ms after that tick")
    write_folded(f"ticks before it: {_in_words(report.before)}")
    write_folded(f"ticks after it: {_in_words(report.after)}")
    for text in report.beside:
        write_folded(f"at that time: {text}")
    for t_s, text in report.events:
        write_folded(f"event at {t_s:.3f} s: {text}")
    if report.changes:
        columns = (f"{offset:+d}" if offset else str(report.tick) for offset in report.shown)
        table = Table("tick", *columns, title="changed")
        for change in report.changes:
            table.add_row(Text(change.quantity), *map(Text, change.values))
        show(table)
    if report.unchanged:
        write_folded(f"not changed: {', '.join(report.unchanged)}")


def _in_words(window: FaultWindow) -> str:
    missing = f", {window.missing} missing" if window.missing else ""
    return f"{window.found} ({window.first} to {window.last}{missing})" if window.found else "none"


def faults(
    config: ConfigSource,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="N", help="Number or name of a fault; repeatable."),
    ] = None,
    overrides: Overrides = None,
    json_file: JsonFile = None,
) -> None:
    """Inject every fault of the table into the simulated rig, and show how soon it was noticed and stopped.

    Devices and loop in lockstep, on the rig of CONFIG; lines and processes on the rig sim_wire. A real rig is refused.
    """
    from hil.config.command_requirements import SIMULATED, refuse_unfit
    from hil.safety.fault_table import row_of

    writable(json_file)
    try:
        rows = [row_of(text).number for text in only or ()]
    except ValueError as error:
        complain(f"--only: {error}")
        raise typer.Exit(USAGE) from None
    with usage_errors():
        given = config_from(config, overrides, None, None)
        refuse_unfit(given, "faults", SIMULATED)
        from hil.app.faults.table import IN_LOCKSTEP, SHORT_TRIAL, all_cases, inject_all, own_drivers

        short = SHORT_TRIAL if given.experiment == "impact" else ()
        whole = config_from(config, [*(overrides or ()), *IN_LOCKSTEP], None, None)
        effective = config_from(config, [*(overrides or ()), *IN_LOCKSTEP, *short], None, None)
    with ProgressBar("faults injected") as bar:
        results, left_out = inject_all(all_cases(effective, whole), rows, bar.done)
    write(json_file, [result.row() for result in results])
    _show(results, left_out, effective.name)
    if own := own_drivers(effective.devices):
        write_folded(
            f"lines were broken of the shipped drivers, not of {', '.join(own)}: break these in the tests of their "
            "package, with LineFault (drivers/sim/protocol/line.py)"
        )
    if not all(result.ok for result in results):
        raise typer.Exit(FAULT)


def _show(results: list[FaultResult], left_out: list[RowLeftOut], name: str) -> None:
    table = Table(title=f"{name}: injected faults; times in ms from the injection", padding=0)
    for column in ("no", "fault", "kind", "device", "state", "detected, reacted, bound", "runs in", "result"):
        table.add_column(column, justify="right" if column == "no" else "left")
    for result in results:
        row = result.row()
        words = (str(row["id"]), row["fault"], row["kind"], row["device"], row["state"])
        times = ", ".join(_ms(row[key]) for key in ("detected_ms", "reacted_ms", "bound_ms"))
        verdict = f"ok{', ' if row['detail'] else ''}{row['detail']}" if result.ok else f"WRONG: {row['detail']}"
        if not result.outcome.injected:
            verdict = f"not injected: {result.outcome.disturbed}"
        elif result.outcome.disturbed:
            verdict += f" (at that time: {result.outcome.disturbed})"
        where = row["level"] if row["rig"] == name else f"{row['level']}, {row['rig']}"
        table.add_row(*map(Text, (*words, times, where)), Text(verdict, "green" if result.ok else "bold red"))
    show(table)
    for omission in left_out:
        write_folded(f"left out: {omission.row}: {omission.reason}")
    counts = Counter(result.row()["ok"] for result in results)
    made = f"{counts[True] + counts[False]} faults injected: {counts[True]} ok, {counts[False]} wrong"
    write_folded(f"{made}; {counts[None]} not injected, {len(left_out)} rows left out")


def _ms(time_ms: float | None) -> str:
    return "-" if time_ms is None else f"{time_ms:.1f}"
