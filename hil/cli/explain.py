"""`hil explain`: rows of the fault table, and the faults of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.console import show
from hil.cli.exits import USAGE, complain, usage_errors
from hil.cli.options import AsJson

if TYPE_CHECKING:
    from hil.analysis.fault_report import FaultReport, FaultWindow
    from hil.safety.fault_table import FaultRow


def explain(
    fault: Annotated[
        str, typer.Argument(metavar="[FAULT]", help="Number or name of a fault.", show_default=False)
    ] = "",
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="Report this fault of a run, or all of them.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a fault is, how soon it is noticed, and what to do; with --run, what the record shows of it.

    Without FAULT: the whole table, or every fault of the run.
    """
    from hil.safety.fault_table import FAULT_TABLE, row_of

    try:
        row = row_of(fault) if fault else None
    except ValueError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
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
    from hil.analysis.fault_report import read_reports
    from hil.recording import RecordError

    try:
        with usage_errors():
            reports = read_reports(run)
    except RecordError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    wanted = [report for report in reports if row is None or report.row.number == row.number]
    if as_json:
        print(json.dumps({"run": str(run), "faults": [report.as_json() for report in wanted]}, allow_nan=False))
        return
    if not wanted:
        faults = ", ".join(f"{report.row.number} {report.row.name}" for report in reports)
        what = "no fault" if row is None else f"no fault {row.number} ({row.name})"
        print(f"{run}: {what}" + (f"; its faults: {faults}" if faults else ""))
    for report in wanted:
        _show_report(report)


def _show_report(report: FaultReport) -> None:
    show_row(report.row)
    print(f"noticed in tick {report.tick}, at {report.t_s:.3f} s: {report.detail}")
    if report.value is not None:
        print(f"found: {report.value:g}, allowed: {'-' if report.limit is None else f'{report.limit:g}'}")
    print(f"recorded as: {report.event}")
    print(f"first tick in Safe: {'none' if report.safe_tick is None else report.safe_tick}")
    if report.bound_ms is not None:
        print(f"longest time from the cause to the reaction, with the config of this run: {report.bound_ms:g} ms")
    if report.empty_ms is not None:
        print(f"all chambers were empty {report.empty_ms:.0f} ms after that tick")
    print(f"ticks before it: {_in_words(report.before)}")
    print(f"ticks after it: {_in_words(report.after)}")
    for text in report.beside:
        print(f"beside it: {text}")
    for t_s, text in report.events:
        print(f"event at {t_s:.3f} s: {text}")
    if report.changes:
        columns = (f"{offset:+d}" if offset else str(report.tick) for offset in report.shown)
        table = Table("tick", *columns, title="changed")
        for change in report.changes:
            table.add_row(Text(change.quantity), *map(Text, change.values))
        show(table)
    if report.unchanged:
        print(f"not changed: {', '.join(report.unchanged)}")


def _in_words(window: FaultWindow) -> str:
    missing = f", {window.missing} missing" if window.missing else ""
    return f"{window.found} ({window.first} to {window.last}{missing})" if window.found else "none"
