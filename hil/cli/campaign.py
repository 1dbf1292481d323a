"""`hil campaign`: a plan of impact trials, one after the other on a real rig, at once on a simulated one."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from hil.cli.console import show
from hil.cli.exits import FAULT, USAGE, complain, usage_errors
from hil.cli.options import AsJson, ConfigSource, Overrides, Seed
from hil.cli.progress_bar import ProgressBar

if TYPE_CHECKING:
    from hil.campaign.run import Wanted
    from hil.campaign.workers import Workers
    from hil.config import Config

INTERRUPTED = 130
Count = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="Processes that run trials; default: one for each core."),
]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Run the trials on this Dask scheduler.", show_default=False),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where it stopped; what is there is checked and kept.")]


def campaign(
    config: ConfigSource,
    plan: Annotated[str, typer.Option("--plan", metavar="PLAN", help="A YAML file, or a shipped plan, like thesis.")],
    resume: Resume = False,
    workers: Count = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the campaign.", show_default=False)
    ] = None,
    figures: Annotated[bool, typer.Option("--figures", help="Draw a figure of each trial.")] = False,
    summaries_only: Annotated[bool, typer.Option("--summaries-only", help="Keep no folder of each trial.")] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Ask an operator on a simulated rig, too: a rehearsal.")] = False,
    overrides: Overrides = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Run a plan of impact trials: campaign.csv, campaign.json, and a run folder for each trial."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: the same sums in every process
    from hil.campaign.cluster import check_cluster
    from hil.campaign.run import Wanted, last_attempts
    from hil.recording.run_folder import run_folder

    with usage_errors():
        found, base, trials, first = _wanted(config, plan, overrides or [], seed)
        wanted = Wanted(found, base, trials, first, folders=not summaries_only, figures=figures)
        guided = ask or wanted.base.rig == "real"
        _refuse(wanted, guided, workers, cluster)
        if cluster:
            check_cluster(cluster)
        if resume:
            folder = out or _newest(f"*_{wanted.base.name}_{wanted.plan.name}*")
        else:
            folder = run_folder(out, wanted.base.name, wanted.plan.name)
    with ProgressBar("trials") as report, usage_errors():
        made, stopped = _run(wanted, folder, guided, where(wanted.base, workers, cluster, report), report, resume)
    last = last_attempts(made)
    if as_json:
        counts = Counter(trial["status"] for trial in last)
        print(json.dumps({"folder": str(folder), "planned": len(wanted.trials), "trials": len(made), **counts}))
    else:
        show(_table(wanted, last))
        print(f"campaign folder: {folder}")
    if stopped:
        raise typer.Exit(INTERRUPTED)
    if any(trial["status"] == "faulted" for trial in last):
        raise typer.Exit(FAULT)


def where(
    base: Config, count: int | None, cluster: str | None, report: ProgressBar
) -> Callable[[list[Config]], Callable[[], AbstractContextManager[Workers]]]:
    """The place where trials run, given the configs that between them need every kernel."""
    from hil.campaign import workers
    from hil.campaign.cluster import cluster as on_cluster

    if cluster:
        return lambda kinds: partial(on_cluster, cluster, kinds, report.text)
    if base.clock != "lockstep":
        return lambda kinds: partial(workers.this_process, kinds, report.text)
    processes = count or len(os.sched_getaffinity(0))
    return lambda kinds: partial(workers.process_pool, processes, kinds, report.text)


def refuse_real_time(base: Config, workers: int | None, cluster: str | None) -> None:
    """Trials against the wall clock are made one after the other, on this computer. Raises ConfigError."""
    from hil.config import ConfigError, Problem

    allowed = "with clock: lockstep only; in real time one trial runs after the other, here"
    given = {"--workers": workers if (workers or 1) > 1 else None, "--cluster": cluster}
    problems = [Problem(name, str(value), allowed) for name, value in given.items() if value]
    if base.clock != "lockstep" and problems:
        raise ConfigError(base.name, problems)


def _wanted(source: str, plan_source: str, overrides: list[str], seed: int | None) -> tuple[Any, ...]:
    """Plan, config, trials and seed of a campaign; the problems of plan and config at once."""
    from hil.campaign.expand import campaign_seed, expand
    from hil.campaign.plan import load_plan
    from hil.config import ConfigError, load_config

    problems: list[str] = []
    try:
        plan = load_plan(plan_source)
    except ConfigError as error:
        problems.append(str(error))
    overrides = [*overrides, "experiment=impact"]
    try:
        base = load_config(source, overrides, seed)
    except ConfigError as error:
        problems.append(str(error))
    if problems:
        complain("\n".join(problems))
        raise typer.Exit(USAGE)
    if base.clock == "lockstep":  # many at once: none has viewers
        overrides = [*overrides, 'telemetry.endpoint=""']
        base = load_config(source, overrides, seed)
    trials = expand(plan, source, overrides, seed)
    return plan, base, trials, None if base.rig == "real" else campaign_seed(plan, base, seed)


def _refuse(wanted: Wanted, guided: bool, workers: int | None, cluster: str | None) -> None:
    """Options that do not go together. Raises ConfigError."""
    from hil.config import ConfigError, Problem

    refuse_real_time(wanted.base, workers, cluster)
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


def _newest(pattern: str) -> Path:
    """The newest campaign of this config and plan. Raises FolderError: there is none."""
    from hil.analysis.campaign import JSON
    from hil.recording.run_folder import FolderError

    found = sorted(folder for folder in Path("runs").glob(pattern) if (folder / JSON).is_file())
    if not found:
        raise FolderError(f"no campaign to resume in runs/{pattern}: give its folder with --out")
    return found[-1]


def _run(
    wanted: Wanted, folder: Path, guided: bool, place: Callable[[list[Config]], Any], report: ProgressBar, resume: bool
) -> tuple[list[dict[str, Any]], bool]:
    from hil.campaign.folder import locked
    from hil.campaign.guided import run_guided
    from hil.campaign.operator import TerminalOperator
    from hil.campaign.run import Stop, run_campaign
    from hil.campaign.trial import kinds_of
    from hil.recording.run_folder import FolderError

    if not folder.is_dir():
        raise FolderError(f"{folder} is no folder: give that of the campaign with --out")
    with locked(folder), Stop(report) as stop:
        if guided:
            run = partial(_run_one, report=report, figure=wanted.figures)
            trials = run_guided(wanted, folder, TerminalOperator(), run, report, stop, resume=resume)
        else:
            kinds = kinds_of([trial.config for trial in wanted.trials])
            trials = run_campaign(wanted, folder, place(kinds), report, stop, resume=resume)
    return trials, stop.wanted


def _run_one(config: Config, folder: Path, *, report: ProgressBar, figure: bool) -> dict[str, Any]:
    from hil.app.run import run_experiment

    return run_experiment(config, folder, report.text, figure=figure).summary


def _table(wanted: Wanted, last: list[dict[str, Any]]) -> Table:
    """How many trials there are at each angle, by ground and verdict."""
    table = Table(title=f"Campaign {wanted.plan.name}", title_justify="left")
    for column in ("ground", "angle", "planned", "kept", "dropped", "faulted"):
        table.add_column(column, justify="left" if column == "ground" else "right")
    planned = Counter((trial.settings["ground"], trial.settings["angle_deg"]) for trial in wanted.trials)
    made = Counter((one["settings"]["ground"], one["settings"]["angle_deg"], one["status"]) for one in last)
    for ground, angle_deg in sorted(planned):
        counts = (made[ground, angle_deg, status] for status in ("kept", "dropped", "faulted"))
        table.add_row(ground, f"{angle_deg:g}°", str(planned[ground, angle_deg]), *map(str, counts))
    return table
