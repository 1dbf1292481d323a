"""`hil campaign`: a plan of impact trials, one after the other on a real rig, at once on a simulated one.

`hil compare`: two campaigns next to each other.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from hil.cli.run_options import INTERRUPTED, AsJson, BatchOptions, Out, Unverified, complete_plan, running, with_groups
from hil.cli.terminal import FAULT, USAGE, complain, show, usage_errors, write_folded
from hil.cli.trial import is_campaign, spread_cells

if TYPE_CHECKING:
    from hil.analysis.compare import Comparison
    from hil.analysis.statistics import MeanDifference
    from hil.campaign.plan import Plan
    from hil.campaign.progress import ProgressBar
    from hil.campaign.run import CampaignOrder
    from hil.config import Config


@with_groups
def campaign(
    options: BatchOptions,
    plan: Annotated[
        str,
        typer.Option(
            "--plan", metavar="PLAN", help="A YAML file, or a shipped plan, like thesis.", autocompletion=complete_plan
        ),
    ],
    figures: Annotated[bool, typer.Option("--figures", help="Draw a figure of each trial.")] = False,
    summaries_only: Annotated[bool, typer.Option("--summaries-only", help="Keep no folder of each trial.")] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Ask an operator on a simulated rig, too: a rehearsal.")] = False,
) -> None:
    """Run a plan of impact trials: campaign.csv, campaign.json, and a run folder for each trial."""
    from hil.analysis.campaign import JSON
    from hil.campaign.run import last_attempts

    with usage_errors():
        overrides = options.overrides or []
        wanted = campaign_of(
            plan_for(options.config, plan, overrides, options.seed), options.config, overrides, options.seed,
            folders=not summaries_only, figures=figures, many_at_once=True,
        )  # fmt: skip
        guided = ask or wanted.base.rig == "real"
        _refuse(wanted, guided, options.cluster)
        options.check_place(wanted.base.clock, wanted.base.name)
        folder = options.folder(wanted.base.name, wanted.plan.name, JSON)
    made, stopped = _run(wanted, folder, guided, options)
    last = last_attempts(made)
    if options.as_json:
        counts = Counter(trial["status"] for trial in last)
        print(json.dumps({"folder": str(folder), "planned": len(wanted.trials), "trials": len(made), **counts}))
    else:
        show(_table(wanted, last))
        write_folded(f"campaign folder: {folder}")
    if stopped:
        raise typer.Exit(INTERRUPTED)
    if any(trial["status"] == "faulted" for trial in last):
        raise typer.Exit(FAULT)


def plan_for(config: str, source: str, overrides: list[str], seed: int | None) -> Plan:
    """A plan for a rig. One with problems ends the command, which shows those of the config, too."""
    from hil.campaign.plan import load_plan
    from hil.config import ConfigError, load_config

    try:
        return load_plan(source)
    except ConfigError as error:
        problems = [str(error)]
    try:
        load_config(config, [*overrides, "experiment=impact"], seed)
    except ConfigError as error:
        problems.append(str(error))
    complain("\n".join(problems))
    raise typer.Exit(USAGE)


def campaign_of(
    plan: Plan,
    source: str,
    overrides: list[str],
    seed: int | None,
    *,
    folders: bool = True,
    figures: bool = False,
    many_at_once: bool = False,
) -> CampaignOrder:
    """The campaign of a plan on a rig.

    `many_at_once`: in virtual time trials are, and none publishes telemetry.

    Raises:
        ConfigError: problems of the config or of the trials.
    """
    from hil.campaign.plan import campaign_seed, expand
    from hil.campaign.run import CampaignOrder
    from hil.config import load_config

    overrides = [*overrides, "experiment=impact"]
    base = load_config(source, overrides, seed)
    if many_at_once and base.clock == "lockstep":
        overrides = [*overrides, 'telemetry.endpoint=""']
        base = load_config(source, overrides, seed)
    trials = expand(plan, source, overrides, seed)
    first = None if base.rig == "real" else campaign_seed(plan, base.seed, seed)
    return CampaignOrder(plan, base, trials, first, folders, figures)


def _refuse(wanted: CampaignOrder, guided: bool, cluster: str | None) -> None:
    """Options that do not go together. Raises ConfigError."""
    from hil.config import ConfigError, Problem

    problems = []
    if wanted.base.rig == "real" and not sys.stdin.isatty():
        problems.append(Problem("terminal", "none", "one: an operator sets the obstacle and says when all are clear"))
    if guided and not wanted.folders:
        problems.append(Problem("--summaries-only", "given", "on a simulated rig that nobody is asked about"))
    if guided and cluster:
        problems.append(Problem("--cluster", cluster, "without --ask"))
    if wanted.figures and not wanted.folders:
        problems.append(Problem("--figures", "with --summaries-only", "one of them: a figure is drawn from a record"))
    if problems:
        raise ConfigError(wanted.base.name, problems)


def _run(wanted: CampaignOrder, folder: Path, guided: bool, options: BatchOptions) -> tuple[list[dict[str, Any]], bool]:
    from hil.campaign.guided import TerminalOperator, run_guided
    from hil.campaign.run import run_campaign

    with running("trials", folder) as (report, stop):
        if guided:
            run = partial(_run_one, report=report, figure=wanted.figures)
            trials = run_guided(wanted, folder, TerminalOperator(), run, report, stop, resume=options.resume)
        else:
            place = options.place([trial.config for trial in wanted.trials], report)
            trials = run_campaign(wanted, folder, place, report, stop, resume=options.resume)
    return trials, stop.wanted


def _run_one(config: Config, folder: Path, *, report: ProgressBar, figure: bool) -> dict[str, Any]:
    from hil.app.run import run_experiment

    return run_experiment(config, folder, report.text, figure=figure).summary


def _table(wanted: CampaignOrder, last: list[dict[str, Any]]) -> Table:
    """How many trials there are at each angle, by ground and verdict; kept by both the rules and the operator."""
    from hil.analysis.campaign import row_of

    table = Table(title=f"Campaign {wanted.plan.name}", title_justify="left")
    for column in ("ground", "angle", "planned", "kept", "dropped", "faulted", "rejected"):
        table.add_column(column, justify="left" if column == "ground" else "right")
    planned = Counter((trial.settings["ground"], trial.settings["angle_deg"]) for trial in wanted.trials)
    made = Counter(
        (
            row["ground"],
            row["angle_deg"],
            "rejected" if row["status"] == "kept" and not row["counts"] else row["status"],
        )
        for row in map(row_of, last)
    )
    for ground, angle_deg in sorted(planned):
        counts = (made[ground, angle_deg, status] for status in ("kept", "dropped", "faulted", "rejected"))
        table.add_row(ground, f"{angle_deg:g}°", str(planned[ground, angle_deg]), *map(str, counts))
    return table


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Folder of a campaign, or of a run.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Folder of another.")],
    quantity: Annotated[
        str, typer.Option("--quantity", metavar="KEY", help="Number to compare: a column of campaign.csv.")
    ] = "sum_of_peaks_N",
    out: Out = None,
    unverified: Unverified = False,
    as_json: AsJson = False,
) -> None:
    """Compare two campaigns: table, figure, and the difference B - A with its interval, at each angle and over all.

    Of two runs: each number of summary.json in which they differ, and the difference B - A; no figure.
    """
    if not (is_campaign(first) or is_campaign(second)):
        _compare_runs((first, second), unverified, as_json)
        return
    from hil.analysis.compare import compare as compare_campaigns
    from hil.analysis.compare import draw_comparison
    from hil.analysis.report import drawing
    from hil.analysis.report.make import DoubtedError
    from hil.experiments.drawing import stamp
    from hil.recording.run_folder import run_folder

    try:
        with usage_errors():
            comparison = compare_campaigns(first, second, quantity, unverified=unverified)
            folder = run_folder(out, "campaigns", "compare")
    except DoubtedError as error:
        complain(f"{error} (--unverified compares them all the same, and stamps the figure)")
        raise typer.Exit(USAGE) from None
    with drawing.styled():
        figure = draw_comparison(comparison)
        drawing.settle(figure, "\n".join(comparison.sources))
        if comparison.wrong:
            stamp(figure, "NOT VERIFIED")
        drawing.save(figure, folder / "compare", "compare", {"csv_sha256": ", ".join(comparison.digests)})
    if as_json:
        print(json.dumps(comparison.plain(), allow_nan=False))
        return
    if comparison.wrong:
        write_folded(f"not verified: {comparison.wrong[0]}")
    show(_comparison_table(comparison))
    difference, p = _difference(comparison.overall)
    write_folded(f"over all angles: B - A {difference}, p {p}")
    write_folded(f"figure: {folder / 'compare.png'}, and as PDF and SVG")


def _compare_runs(runs: tuple[Path, Path], unverified: bool, as_json: bool) -> None:
    """Print the numbers in which two runs differ; the times that a computer took are not among them."""
    from hil.analysis.campaign import numbers_of
    from hil.analysis.dataset import UnverifiedRunError, verified_summary
    from hil.recording import RecordError

    with usage_errors(UnverifiedRunError, RecordError):
        first, second = (numbers_of(verified_summary(run, unverified=unverified)[0]) for run in runs)
    both = {
        key: (first[key], second[key]) for key in first if {type(first[key]), type(second.get(key))} <= {int, float}
    }
    apart = {key: pair for key, pair in both.items() if pair[0] != pair[1] and not key.startswith("loop.")}
    if as_json:
        print(
            json.dumps({key: {"a": a, "b": b, "difference": b - a} for key, (a, b) in apart.items()}, allow_nan=False)
        )
        return
    table = Table("number", *(Column(name, justify="right") for name in ("A", "B", "B - A")))
    for key, (a, b) in apart.items():
        table.add_row(Text(key), f"{a:.5g}", f"{b:.5g}", f"{b - a:+.3g}")
    show(table)
    equal = sum(a == b for a, b in both.values())
    write_folded(f"A {runs[0]}, B {runs[1]}: {len(apart)} numbers differ, {equal} are equal")


def _comparison_table(found: Comparison) -> Table:
    table = Table(title=Text(f"{found.quantity}: A {found.names[0]}, B {found.names[1]}"), title_justify="left")
    for column in (
        "ground",
        "angle [deg]",
        "A: mean, n, 95 % interval",
        "B: mean, n, 95 % interval",
        "B - A, interval, p",
    ):
        table.add_column(column, justify="right")
    for row in found.rows:
        difference, p = _difference(row.difference)
        means = (spread_cells(one) for one in (row.first, row.second))
        cells = (f"{mean}, {n}\n{interval}" for n, mean, _, interval in means)
        table.add_row(Text(row.ground), f"{row.angle_deg:g}", *cells, f"{difference.replace(' (', chr(10) + '(')}, {p}")
    return table


def _difference(found: MeanDifference | None) -> tuple[str, str]:
    if found is None:
        return "-", "-"
    if found.low is None or found.p is None:
        return f"{found.value:+.4g} (too few trials for an interval)", "-"
    return f"{found.value:+.4g} ({found.low:+.4g} to {found.high:+.4g})", f"{found.p:.2g}"
