"""`hil verify` and `hil replay`: check the record of a run."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.check import show_checks
from hil.cli.console import show
from hil.cli.exits import FAULT, USAGE, complain, printable, usage_errors
from hil.cli.options import AsJson, Unverified, progress
from hil.cli.progress_bar import ProgressBar

if TYPE_CHECKING:
    from hil.analysis.differences import Difference
    from hil.analysis.replay import Replay

# Of the table of `hil verify` without a terminal: its sentences would make it 200 wide.
_WIDEST = 120
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]


def verify(run: Run, as_json: AsJson = False) -> None:
    """Check record and summary of a run: digests, holes, clock steps, commands obeyed; and replay it.

    What it proves: every tick and every number of the summary follow from the recorded inputs. Only the digests show
    that the inputs are those that the devices gave.
    """
    from hil.analysis.verify import verify as verify_run
    from hil.app.warm_up import report_compiling

    report_compiling(progress)
    with usage_errors(), ProgressBar("ticks run again") as bar:
        checks = verify_run(run, bar.done)
    show_checks(checks, f"{run}: verified", as_json, widest=_WIDEST)
    if not all(check.ok for check in checks):
        raise typer.Exit(FAULT)


def replay(run: Run, unverified: Unverified = False, as_json: AsJson = False) -> None:
    """Feed the recorded inputs of a run to today's program and compare its outputs, bit for bit."""
    from hil.analysis.replay import replay as replay_run
    from hil.analysis.replayable import CannotReplayError
    from hil.app.warm_up import report_compiling

    report_compiling(progress)
    with usage_errors():
        try:
            with ProgressBar("ticks run again") as bar:
                outcome = replay_run(run, unverified=unverified, progress=bar.done)
        except CannotReplayError as error:
            complain(str(error))
            raise typer.Exit(USAGE) from None
    if as_json:
        differences = [_plain(difference) for difference in outcome.differences]
        result = {"identical": not differences} | asdict(outcome) | {"differences": differences}
        print(json.dumps(result, allow_nan=False))
    else:
        _show(outcome)
    if outcome.differences:
        raise typer.Exit(FAULT)


def _show(outcome: Replay) -> None:
    for note in outcome.notes:
        print(printable(f"note: {note}"))
    if outcome.recorded_version != outcome.version:
        print(printable(f"recorded by version {outcome.recorded_version}, replayed by {outcome.version}"))
    if not outcome.differences:
        print(f"identical: {outcome.ticks} ticks, bit for bit")
        return
    columns = ("what", "first tick", "recorded", "replayed", "ticks", "largest")
    table = Table(*columns, title=f"different: {outcome.ticks} ticks replayed")
    for difference in outcome.differences:
        table.add_row(*map(Text, _words(difference)))
    show(table)


def _plain(difference: Difference) -> dict[str, Any]:
    """For JSON: values that are not finite become text."""
    values = {key: getattr(difference, key) for key in ("recorded", "replayed")}
    odd = {key: str(value) for key, value in values.items() if isinstance(value, float) and not math.isfinite(value)}
    return difference._asdict() | odd


def _words(difference: Difference) -> tuple[str, ...]:
    element = "".join(f"[{place}]" for place in difference.element)
    values = ("-" if value is None else str(value) for value in (difference.recorded, difference.replayed))
    largest = "-" if difference.largest is None else f"{difference.largest:.3g}"
    return (difference.field + element, str(difference.first_tick), *values, str(difference.ticks), largest)
