"""`hil trial` and `hil report`: make a trial, and show one again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hil.cli.console import show
from hil.cli.exits import USAGE, complain, usage_errors
from hil.cli.options import AsJson, Clock, ConfigSource, Endpoints, Out, Overrides, Seed, config_from, say


def trial(
    config: ConfigSource,
    out: Out = None,
    overrides: Overrides = None,
    seed: Seed = None,
    clock: Clock = None,
    endpoints: Endpoints = None,
    as_json: AsJson = False,
) -> None:
    """One impact trial: drive into the obstacle, cut at the impact, record, judge."""
    from hil.folders import run_folder

    with usage_errors():
        effective = config_from(config, overrides, seed, clock)
        folder = run_folder(out, effective.name, f"{effective.trial.angle_deg:g}")

    from hil.app.trial import run_trial
    from hil.trials.report import trial_table

    with usage_errors():
        outcome = run_trial(effective, folder, say, endpoints)
    if as_json:
        print(json.dumps(outcome.summary, allow_nan=False))
    else:
        show(trial_table(outcome.summary))
        print(f"run folder: {folder}")
    raise typer.Exit(outcome.exit_code)


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished trial.")],
    as_json: AsJson = False,
) -> None:
    """Draw trial.png again from the record, and print the table."""
    from hil.folders import FolderError, finished_run, summary_of

    with usage_errors():
        folder = finished_run(run)
        summary = summary_of(folder) or {}
        if "motion" in summary:
            raise FolderError(f"{run} is of `hil jog` or `hil valve`: {summary['motion']}; give the folder of a trial")

    from hil.record import RecordError, read_trial
    from hil.trials.report import draw_trial, trial_table

    place = folder / "trial.h5"
    try:
        draw_trial(read_trial(place), summary, folder / "trial.png")
    except (RecordError, OSError) as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        complain(f"{place} and summary.json are not of one trial of this version ({type(error).__name__}: {error})")
        raise typer.Exit(USAGE) from None
    if as_json:
        print(json.dumps(summary, allow_nan=False))
    else:
        show(trial_table(summary))
        print(f"figure: {folder / 'trial.png'}")
