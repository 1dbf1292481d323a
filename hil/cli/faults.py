"""`hil faults`: the fault table, injected into a simulated rig."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.console import show
from hil.cli.exits import FAULT, USAGE, complain, usage_errors
from hil.cli.json_file import JsonFile, writable, write
from hil.cli.options import ConfigSource, Overrides, config_from, progress

if TYPE_CHECKING:
    from hil.app.faults.case import FaultResult
    from hil.app.faults.table import RowLeftOut


def faults(
    config: ConfigSource,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="N", help="Number or name of a fault; repeatable.", show_default=False),
    ] = None,
    overrides: Overrides = None,
    json_file: JsonFile = None,
) -> None:
    """Inject every fault of the table into the simulated rig, and show how soon it was noticed and stopped.

    Devices and loop in lockstep, on the rig of CONFIG; lines and processes on the rig sim_wire. A real rig is refused.
    """
    from hil.config.needs import SIMULATED, refuse_unfit
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
