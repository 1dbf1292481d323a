"""`hil verify` and `hil replay`: check the record of a run.

`hil recover`: make a complete record from the files of a killed run.

`hil open`: what the rig's own detector and rules say of an impact that another program recorded.
"""

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
from hil.cli.run_options import AsJson, ConfigOptions, Out, ProgressBar, Unverified, progress, with_groups
from hil.cli.terminal import FAULT, printable, show, usage_errors

if TYPE_CHECKING:
    from hil.analysis.recovery import Recovered
    from hil.analysis.replay import Difference, Replay


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
    good = all(check.ok for check in checks)
    show_checks(checks, f"{run}: {'verified' if good else 'NOT VERIFIED'}", as_json, widest=_WIDEST)
    if not good:
        raise typer.Exit(FAULT)


def replay(run: Run, unverified: Unverified = False, as_json: AsJson = False) -> None:
    """Feed the recorded inputs of a run to today's program and compare its outputs, bit for bit."""
    from hil.analysis.recorded_inputs import CannotReplayError
    from hil.analysis.replay import replay as replay_run
    from hil.app.warm_up import report_compiling

    report_compiling(progress)
    with usage_errors(CannotReplayError), ProgressBar("ticks run again") as bar:
        outcome = replay_run(run, unverified=unverified, progress=bar.done)
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


def recover(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run that was killed.")],
    as_json: AsJson = False,
) -> None:
    """Make trial.h5 of a killed run whole, and its summary.json, and say what is missing."""
    from hil.analysis.recovered_summary import recover as recover_run
    from hil.analysis.recovery import NothingToRecoverError
    from hil.app.warm_up import report_compiling

    report_compiling(progress)
    with usage_errors(NothingToRecoverError, OSError):
        made, summary = recover_run(run)
    if as_json:
        print(json.dumps({**(asdict(made) if made else {}), "summary": summary}, allow_nan=False))
        return
    if made:
        _show_recovered(run, made)
    print(f"summary: {summary}")


def _show_recovered(run: Path, made: Recovered) -> None:
    from hil.analysis.recovery import KILLED
    from hil.recording.reader import FILE_NAME

    if made.finished:
        print(f"{run / FILE_NAME} is complete: the recorder had finished it; leftover files of the run are removed")
    else:
        print(f"{run / FILE_NAME} is complete now; the file of the killed recorder, if any, is {KILLED}")
    for name, (count, added) in (("ticks", made.ticks), ("samples", made.samples)):
        print(f"{name}: {count}, of them {count - added} from the file and {added} from the rings")
    print(f"events: {', '.join(made.events) or 'none'}")
    print(f"ticks missing (skipped by the clock, or lost): {_in_words(made.ticks_missing)}")
    print(f"blocks of sensor samples missing: {_in_words(made.blocks_missing)}")
    lost = "not known" if made.lost_ms is None else f"{made.lost_ms:.1f} ms"
    print(f"from the last recorded tick to the last heartbeat of the loop: {lost}")


def _in_words(holes: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in holes) or "none"


@with_groups
def open_foreign(
    options: ConfigOptions,
    data: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, MAT or TDMS of an impact hammer or force plate.")],
    columns: Annotated[Path, typer.Option("--map", metavar="MAP", help="YAML: time and a column for each sensor.")],
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Try detector, droop correction, peak and rules of a config on an impact that another program recorded."""
    from hil.analysis.foreign_impact import ForeignRecordError, impact_of, read_map, read_samples, write_forces
    from hil.config.files import write_whole
    from hil.config.rig import Rig
    from hil.experiments.impact.sensing import foreign_table, sensor_channels
    from hil.recording.run_folder import empty_folder

    with usage_errors(ForeignRecordError):
        config = options.load()
        if config.daq is None:
            raise ForeignRecordError(f"{config.name} has no force sensors; allowed: a config with section daq")
        sensors = sensor_channels(config)
        samples = read_samples(data, read_map(columns), config.layout.channels, sensors)
        summary, measured = impact_of(samples, Rig(config))
        folder = None if out is None else empty_folder(out)
    if folder is not None:
        write_whole(folder / "impact.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")
        if measured is not None:
            write_forces(measured, config.layout.channels, folder / "forces.csv")
    if as_json:
        print(json.dumps(summary, allow_nan=False))
    else:
        show(foreign_table(summary))
    if summary["impact_time_s"] is None:
        raise typer.Exit(FAULT)
