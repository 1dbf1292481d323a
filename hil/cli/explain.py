"""`hil explain`: rows of the fault table, and the faults of a run.

`hil faults`: the fault table, injected into a simulated rig.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.run_options import AsJson, ConfigSource, JsonFile, Overrides, config_from, progress, writable, write
from hil.cli.terminal import FAULT, USAGE, complain, show, usage_errors

if TYPE_CHECKING:
    from hil.analysis.fault_report import FaultReport, FaultWindow
    from hil.app.faults.case import FaultResult
    from hil.app.faults.table import RowLeftOut
    from hil.safety.fault_table import FaultRow


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
    from hil.analysis.fault_report import read_reports
    from hil.recording import RecordError

    with usage_errors(RecordError):
        reports = read_reports(run)
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
        from hil.app.faults.table import IN_LOCKSTEP, SHORT_TRIAL, all_cases, inject_all

        short = SHORT_TRIAL if given.experiment == "impact" else ()
        whole = config_from(config, [*(overrides or ()), *IN_LOCKSTEP], None, None)
        effective = config_from(config, [*(overrides or ()), *IN_LOCKSTEP, *short], None, None)
    results, left_out = inject_all(all_cases(effective, whole), rows, progress)
    write(json_file, [result.row() for result in results])
    _show(results, left_out, effective.name)
    if not all(result.ok for result in results):
        raise typer.Exit(FAULT)


def _show(results: list[FaultResult], left_out: list[RowLeftOut], name: str) -> None:
    table = Table(title=f"{name}: injected faults; times in ms from the injection", padding=0)
    for column in ("no", "fault", "kind", "device", "state", "detected", "reacted", "bound", "runs in", "result"):
        table.add_column(column, justify="right" if column in ("no", "detected", "reacted", "bound") else "left")
    for result in results:
        row = result.row()
        words = (str(row["id"]), row["fault"], row["kind"], row["device"], row["state"])
        times = [_ms(row[key]) for key in ("detected_ms", "reacted_ms", "bound_ms")]
        verdict = f"ok{', ' if row['detail'] else ''}{row['detail']}" if result.ok else f"WRONG: {row['detail']}"
        if not result.outcome.injected:
            verdict = f"not injected: {result.outcome.disturbed}"
        elif result.outcome.disturbed:
            verdict += f" (beside it: {result.outcome.disturbed})"
        where = row["level"] if row["rig"] == name else f"{row['level']}, {row['rig']}"
        table.add_row(*map(Text, (*words, *times, where)), Text(verdict, "green" if result.ok else "bold red"))
    show(table)
    for omission in left_out:
        print(f"left out: {omission.row}: {omission.reason}")
    counts = Counter(result.row()["ok"] for result in results)
    made = f"{counts[True] + counts[False]} faults injected: {counts[True]} ok, {counts[False]} wrong"
    print(f"{made}; {counts[None]} not injected, {len(left_out)} rows left out")


def _ms(time_ms: float | None) -> str:
    return "-" if time_ms is None else f"{time_ms:.1f}"
