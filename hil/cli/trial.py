"""`hil run`, `hil trial` and `hil report`: make a run, and show one again."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.run_options import AsJson, FigureOptions, Repeat, RunOptions, Unverified, progress, with_groups
from hil.cli.terminal import LINE, USAGE, complain, show, usage_errors, write_folded

if TYPE_CHECKING:
    from hil.analysis.report.groups import Group
    from hil.analysis.statistics import SampleSpread
    from hil.app.resident import RunOutcome
    from hil.config import Config


def is_campaign(folder: Path) -> bool:
    """Whether a folder is that of a campaign, and not of a single run."""
    try:
        return (folder / "campaign.json").is_file()
    except (OSError, ValueError):  # what is no path at all
        return False


def report_campaign(folder: Path, unverified: bool, as_json: bool) -> None:
    """Write report.html and the figures of a campaign, and print its table."""
    from hil.analysis.report import answers
    from hil.analysis.report.groups import FORCE
    from hil.analysis.report.make import DoubtedError
    from hil.analysis.report.make import report_campaign as make_report

    try:
        with usage_errors():
            made = make_report(folder, unverified=unverified)
    except DoubtedError as error:
        complain(f"{error}; --unverified makes a stamped report")
        raise typer.Exit(USAGE) from None
    if as_json:
        print(json.dumps({"page": str(made.page), "wrong": made.wrong, "groups": [*map(_plain, made.groups)]}))
        return
    if made.wrong:
        write_folded(f"not verified: {made.wrong[0]}")
    write_folded(answers.kept_sentence(made.trials))
    for group in made.groups:
        table = Table(title=Text(f"{group.label}: {FORCE}"), title_justify="left")
        for column in ("angle [deg]", "n", "mean [N]", "mean abs. dev. [N]", "95 % interval [N]"):
            table.add_column(column, justify="right")
        for angle, spread in group.over_angle(FORCE).items():
            table.add_row(f"{angle:g}", *spread_cells(spread))
        show(table)
        write_folded(answers.trend_sentence(group, group.fitting))
    write_folded(f"report: {made.page}")


def spread_cells(spread: SampleSpread | None) -> tuple[str, ...]:
    """Number, mean, mean absolute deviation and interval, for a table."""
    if spread is None:
        return "0", "-", "-", "-"
    interval = "-" if spread.low is None else f"{spread.low:.4g} to {spread.high:.4g}"
    return (
        str(spread.n),
        f"{spread.mean:.4g}",
        f"{spread.mean_absolute_deviation:.2g}" if spread.n > 1 else "-",
        interval,
    )


def _plain(group: Group) -> dict[str, Any]:
    """Statistics of a group, for JSON."""
    from hil.analysis.report.answers import trend_sentence
    from hil.analysis.report.groups import ENERGIES, FORCES

    keys = (*FORCES, *ENERGIES)
    return {
        "label": group.label,
        "trials": len(group.trials),
        "kept": len(group.kept),
        "over_angle": {
            key: [{"angle_deg": angle, **asdict(spread)} for angle, spread in group.over_angle(key).items()]
            for key in keys
        },
        "trends": [
            asdict(group.trend(key))
            | {"exponent": asdict(found := group.exponent(key)), "verdict": found.verdict}
            | {"words": trend_sentence(group, key)}
            for key in (group.fitting, group.other)
        ],
        "outliers": [
            {"trial": trial.label, **{key: value for key, value in asdict(one).items() if key != "place"}}
            for trial, one in group.outliers
        ],
    }


@with_groups
def run(options: RunOptions, repeat: Repeat = 1) -> None:
    """Run the experiment that the config names: record it, sum it up, draw it."""
    with usage_errors():
        config = options.load()
    run_and_show(config, options, repeat)


@with_groups
def trial(options: RunOptions, repeat: Repeat = 1) -> None:
    """One impact trial: drive into the obstacle, cut at the impact, record, judge."""
    with usage_errors():
        config = options.load("experiment=impact")
    run_and_show(config, options, repeat)


def run_and_show(config: Config, options: RunOptions, repeat: int = 1) -> None:
    """Run what a config names, print each summary, and end with the last run's exit status."""
    from hil.experiments.registry import experiment_named
    from hil.recording.run_folder import run_folder

    if repeat > 1 and config.rig == "real" and not sys.stdin.isatty():
        complain(f"--repeat {repeat}: no terminal to say on that the rover is back at its start: make single runs")
        raise typer.Exit(USAGE)
    with usage_errors():
        kind = experiment_named(config.experiment)

    if config.rig != "simulated" or config.clock == "realtime":
        LINE.only_until_output()
    out = options.out

    def folder_of(number: int) -> Path:
        if out and repeat > 1 and not number:
            run_folder(out, config.name, "")
        place = out / f"run_{number + 1}" if out and repeat > 1 else out
        return run_folder(place, config.name, kind.label(config))

    def print_outcome(outcome: RunOutcome) -> None:
        if options.as_json:
            print(json.dumps(outcome.summary, allow_nan=False), flush=True)
        else:
            show(kind.table(outcome.summary))
            print(f"run folder: {outcome.folder}", flush=True)

    def go_on(outcome: RunOutcome) -> bool:
        print_outcome(outcome)
        question = "The drives are cut. Is the rover back at its start, and everybody clear?"
        return config.rig != "real" or typer.confirm(question, err=True)

    with usage_errors():
        first = folder_of(0)

    from hil.app.run import run_repeatedly
    from hil.config.rig import Rig

    try:
        with usage_errors():
            outcome = run_repeatedly(
                Rig(config), repeat, lambda number: folder_of(number) if number else first, progress,
                options.endpoints, go_on,
            )  # fmt: skip
    finally:
        with suppress(OSError):  # of a run that was refused before it had a record nothing is left
            first.rmdir()
    print_outcome(outcome)
    raise typer.Exit(outcome.exit_code)


@with_groups
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run, or of a campaign.")],
    figures: FigureOptions,
    unverified: Unverified = False,
    as_json: AsJson = False,
) -> None:
    """Draw the figure again from the record, and print the table; of a campaign, write report.html and its figures.

    A run that a camera has filmed also gets camera.png: frames around the impact next to the forces, with their times.
    One whose folder has the scan after it, as after.ply, also gets ruts.png and the table of its ruts.
    """
    from hil.analysis.digests import mismatch
    from hil.analysis.report.trial_figures import draw_camera
    from hil.analysis.ruts import draw_ruts, ruts_in_folder
    from hil.cli.energy import show_ruts
    from hil.experiments.registry import draw, experiment_named
    from hil.recording import RecordError, open_trial
    from hil.recording.run_folder import FolderError, finished_run, summary_of

    if is_campaign(run):
        report_campaign(run, unverified, as_json)
        return
    with usage_errors():
        folder = finished_run(run)
        summary = summary_of(folder) or {}
    place = folder / "trial.h5"
    wrong = mismatch(folder, summary)
    if wrong and not unverified:
        complain(f"{folder} is not reported: {wrong} (hil verify says more, --unverified draws a stamped figure)")
        raise typer.Exit(USAGE)
    figure = filmed = None
    try:
        with open_trial(place) as record:
            with usage_errors():
                kind = experiment_named(str(record.meta.get("experiment", "impact")))
            form = figures.form(wrong)
            figure = draw(kind, record, summary, folder, form)
            filmed = draw_camera(record, summary, folder, form)
        with usage_errors():
            ruts = ruts_in_folder(folder, unverified=unverified)
        rutted = draw_ruts(ruts, form, folder) if ruts else None
    except (RecordError, FolderError, OSError) as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        complain(f"{place} and summary.json are not of one trial of this version ({type(error).__name__}: {error})")
        raise typer.Exit(USAGE) from None
    if as_json:
        print(json.dumps(summary, allow_nan=False))
    else:
        if wrong:
            write_folded(f"not verified: {wrong}")
        show(kind.table(summary))
        if ruts:
            show_ruts(ruts)
        for drawn in filter(None, (figure, filmed, rutted)):
            write_folded(f"figure: {drawn}")
