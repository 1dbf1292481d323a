"""`hil recover`: make a complete record from the files of a killed run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.exits import USAGE, complain
from hil.cli.options import AsJson, progress

if TYPE_CHECKING:
    from hil.analysis.recovery import Recovered


def recover(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run that was killed.")],
    as_json: AsJson = False,
) -> None:
    """Make trial.h5 of a killed run whole, and its summary.json, and say what is missing."""
    from hil.analysis.afterwards import recover as recover_run
    from hil.analysis.recovery import NothingToRecoverError
    from hil.app.warm_up import report_compiling

    report_compiling(progress)
    try:
        made, summary = recover_run(run)
    except (NothingToRecoverError, OSError) as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    if as_json:
        print(json.dumps({**(asdict(made) if made else {}), "summary": summary}, allow_nan=False))
        return
    if made:
        _show(run, made)
    print(f"summary: {summary}")


def _show(run: Path, made: Recovered) -> None:
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
