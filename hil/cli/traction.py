"""`hil drawbar` and `hil slope`: series of runs of the experiments of traction, on a real rig with an operator.

`hil sweep`: runs over any keys of a config, a row of a table for each.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from hil.cli.run_options import INTERRUPTED, BatchOptions, FigureOptions, running, with_groups
from hil.cli.terminal import show, usage_errors, write_folded

if TYPE_CHECKING:
    from pathlib import Path

    from hil.campaign.run import CampaignStop, ProgressReporter
    from hil.campaign.traction.guided import Guide
    from hil.config import Config
    from hil.config.schema.equipment import OperatorConfig


Ask = Annotated[bool, typer.Option("--ask", help="Ask an operator on a simulated rig, too: a rehearsal.")]
Commands = Annotated[
    bool, typer.Option("--commands", help="Ask by the command socket: `hil command` answers, not this terminal.")
]
_QUIET = 'telemetry.endpoint=""'  # many at once: none has viewers


@with_groups
def drawbar(options: BatchOptions, figures: FigureOptions, ask: Ask = False, commands: Commands = False) -> None:
    """Drawbar pull over slip, for each load distribution and payload: table, figure, JSON."""
    from hil.campaign.sweep import UNFINISHED, run_sweep
    from hil.campaign.traction.series import curves, expand_drawbar

    with usage_errors():
        runs = expand_drawbar(options.config, [*(options.overrides or ()), _QUIET], options.seed)
        base = runs[0].config
        guided = _is_guided(base, "drawbar", options, ask=ask, commands=commands)
        options.check_place(base.clock, base.name)
        folder = options.folder(base.name, "drawbar", UNFINISHED)
    with running("runs", folder) as (report, stop):
        if guided:
            from hil.campaign.traction.guided import run_drawbar

            with _guide(base.operator, base.name, folder, report, stop, commands=commands) as guide:
                rows = run_drawbar(runs, guide, resume=options.resume)
        else:
            place = options.place([run.config for run in runs], report)
            rows = run_sweep(runs, folder / "drawbar.csv", "csv", place, report, stop.now, resume=options.resume)
    pull_curves = curves(rows)
    from hil.campaign.traction.series import draw_drawbar
    from hil.experiments.drawing import save_study, study_facts

    form = figures.form()
    title = f"{base.name}: drawbar pull over slip, {_series(rows, len(runs))}"
    save_study(draw_drawbar(pull_curves, form), form, form.path(folder, "drawbar"), title, study_facts(base))
    result = {"planned": len(runs), "runs": len(rows), "curves": pull_curves}
    _finish(result, folder, "drawbar", as_json=options.as_json)
    if not options.as_json:
        table = Table("loads", "payload", "slip: pull [N]", "not accepted")
        for curve in pull_curves:
            points = ", ".join(_points(curve))
            table.add_row(curve["mode"], curve["weight"] or "-", points or "-", str(curve["left_out"]))
        show(table)
        write_folded(f"folder: {folder}")
    if stop.wanted:
        raise typer.Exit(INTERRUPTED)


@with_groups
def slope(options: BatchOptions, figures: FigureOptions, ask: Ask = False, commands: Commands = False) -> None:
    """The steepest slope that the rover climbs, for each load distribution: table, figure, JSON."""
    from hil.campaign.traction.series import expand_slope, kinds_of, run_slopes
    from hil.config import ConfigError, Problem

    with usage_errors():
        base = expand_slope(options.config, [*(options.overrides or ()), _QUIET], options.seed)
        if options.resume:
            raise ConfigError(base.name, [Problem("--resume", "given", "not for a search: start it again")])
        guided = _is_guided(base, "slope", options, ask=ask, commands=commands)
        options.check_place(base.clock, base.name)
        folder = options.folder(base.name, "slope", "slope.json")
    with running("runs", folder) as (report, stop):
        if guided:
            from hil.campaign.traction import guided as by_operator

            with _guide(base.operator, base.name, folder, report, stop, commands=commands) as guide:
                searches = by_operator.run_slopes(base, guide)
        else:
            searches = run_slopes(base, options.place(kinds_of(base), report), report, stop.now)
    from hil.campaign.traction.series import draw_slopes
    from hil.config.rig import Rig
    from hil.experiments.drawing import save_study, study_facts
    from hil.experiments.throttle import limit_at_even_loads_deg

    limit_deg = limit_at_even_loads_deg(Rig(base))
    form = figures.form()
    figure, tried = (
        draw_slopes(searches, limit_deg, base.slope.slip_limit, form),
        [one for s in searches for one in s.tried],
    )
    title = f"{base.name}: steepest slope, {_series(tried, len(tried))}"
    save_study(figure, form, form.path(folder, "slope"), title, study_facts(base))
    modes = [{"mode": search.mode, "steepest_deg": search.low_deg, "tried": search.tried} for search in searches]
    _finish({"modes": modes, "limit_at_even_loads_deg": limit_deg}, folder, "slope", as_json=options.as_json)
    if not options.as_json:
        table = Table("loads", "steepest slope climbed", "gentlest not climbed", "runs")
        for search in searches:
            table.add_row(search.mode, _degrees(search.low_deg), _degrees(search.high_deg), str(len(search.tried)))
        show(table)
        for reason in dict.fromkeys(
            trial["reasons"] for search in searches for trial in search.tried if trial["reasons"]
        ):
            write_folded(f"not accepted: {reason}")
        write_folded(f"by statics at even loads: {_degrees(limit_deg)}")
        write_folded(f"folder: {folder}")
    if stop.wanted:
        raise typer.Exit(INTERRUPTED)


def _is_guided(base: Config, name: str, options: BatchOptions, *, ask: bool, commands: bool) -> bool:
    """Whether an operator is asked. Raises ConfigError: the rig lacks what measures, or there is nobody to ask."""
    from hil.campaign.traction.guided import refuse_unmeasured
    from hil.config import ConfigError, Problem

    if base.rig == "real":
        refuse_unmeasured(base, name)
        if not commands and not sys.stdin.isatty():
            allowed = "one, or --commands: an operator pulls back, or tilts the bed, and says when all are clear"
            raise ConfigError(base.name, [Problem("terminal", "none", allowed)])
    guided = ask or commands or base.rig == "real"
    if guided and options.cluster:
        raise ConfigError(base.name, [Problem("--cluster", options.cluster, "without --ask, on a simulated rig")])
    return guided


@contextmanager
def _guide(
    section: OperatorConfig, name: str, folder: Path, report: ProgressReporter, stop: CampaignStop, *, commands: bool
) -> Iterator[Guide]:
    """Who is asked, at this terminal or by commands, and how a run is made."""
    from hil.app.run import run_experiment
    from hil.campaign.guided import TerminalOperator
    from hil.campaign.traction.guided import Guide

    def run(config: Config, place: Path) -> dict[str, Any]:
        return run_experiment(config, place, report.text).summary

    if not commands:
        yield Guide(TerminalOperator(), run, report, stop, folder)
        return
    from hil.app.console import Console
    from hil.app.resident import LatchedFaults
    from hil.app.server_process import CommandServer
    from hil.campaign.commanded import CommandedOperator, show_end, watched
    from hil.cli.operate import keep_alive

    with ExitStack() as stack:
        server = stack.enter_context(CommandServer(section, name))
        console = Console(server.memory, idle=partial(keep_alive, server, []))
        console.show("campaign", f"series in {folder}")
        needs = f"token in {server.token_file}" if server.token_file else "clients need keys"
        report.text(f"command socket {server.endpoint}, {needs}")
        latched = LatchedFaults()

        def run_watched(config: Config, place: Path) -> dict[str, Any]:
            with watched(console, latched):
                summary = run_experiment(config, place, report.text, console=console).summary
            show_end(console, summary)
            return summary

        operator = CommandedOperator(console, "by commands", latched)
        yield Guide(operator, run_watched, report, stop, folder)


def _series(rows: Sequence[Mapping[str, Any]], planned: int) -> str:
    """How many runs there are, and how many do not count."""
    return f"{len(rows)} of {planned} runs, {sum(not row['accepted'] for row in rows)} not accepted"


def _points(curve: dict[str, Any]) -> Iterator[str]:
    """Slip and pull of each point, with the half-widths of their 95 % intervals where they are measured."""
    halves = zip(curve.get("slip_u95", ()), curve.get("pull_u95_N", ()), strict=True)
    digits = 3 if curve.get("measured") else 2
    for slip, pull in zip(curve["slip"], curve["pull_N"], strict=True):
        slip_u95, pull_u95_N = next(halves, (None, None))
        yield f"{slip:.{digits}f}{_half(slip_u95, digits)}: {pull:.0f}{_half(pull_u95_N, 0)}"


def _half(value: float | None, digits: int) -> str:
    return "" if value is None else f" ± {value:.{digits}f}"


def _degrees(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} degrees"


def _finish(result: dict[str, Any], folder: Path, name: str, *, as_json: bool) -> None:
    """Write the result as JSON, and print it where that is wanted."""
    from hil.config.files import write_whole

    text = json.dumps(result, allow_nan=False)
    write_whole(folder / f"{name}.json", text + "\n")
    if as_json:
        print(text)


@with_groups
def sweep(
    options: BatchOptions,
    over: Annotated[
        list[str],
        typer.Option("--over", metavar="a.b=VALUES", help="Values 1,2,3 or a range 0:1:0.1, end included; repeatable."),
    ],
    table: Annotated[
        Literal["csv", "parquet"], typer.Option("--format", help="Of the table; parquet needs the extra export.")
    ] = "csv",
) -> None:
    """Run a config over the product of values of any keys: one table, no folder for a run."""
    from hil.campaign.sweep import UNFINISHED, expand_sweep, parquet_writer, run_sweep

    with usage_errors():
        if table == "parquet":
            parquet_writer()
        overrides = [*(options.overrides or ()), 'telemetry.endpoint=""']
        runs = expand_sweep(options.config, over, overrides, options.seed)
        configs = [run.config for run in runs]
        options.check_place(configs[0].clock, configs[0].name)
        folder = options.folder(configs[0].name, "sweep", UNFINISHED)
    path = folder / f"sweep.{table}"
    with running("runs", folder) as (report, stop):
        place = options.place(configs, report)
        rows = run_sweep(runs, path, table, place, report, stop.now, resume=options.resume)
    counts = Counter("accepted" if row["accepted"] else "not accepted" for row in rows)
    if options.as_json:
        print(json.dumps({"table": str(path), "planned": len(runs), "runs": len(rows), **counts}))
    else:
        judged = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        write_folded(f"{len(rows)} of {len(runs)} runs: {judged}")
        write_folded(f"table: {path}")
    if stop.wanted:
        raise typer.Exit(INTERRUPTED)
