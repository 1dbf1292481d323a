"""`hil drawbar` and `hil slope`: series of runs of the experiments of traction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from hil.cli.batch import INTERRUPTED, BatchOptions, running
from hil.cli.console import show
from hil.cli.exits import usage_errors
from hil.cli.options import with_groups

if TYPE_CHECKING:
    from pathlib import Path

_QUIET = 'telemetry.endpoint=""'  # many at once: none has viewers


@with_groups
def drawbar(options: BatchOptions) -> None:
    """Drawbar pull over slip, for each load distribution and payload: table, figure, JSON."""
    from hil.campaign.sweep import run_sweep
    from hil.campaign.sweep_rows import UNFINISHED
    from hil.campaign.traction.drawbar import curves, expand_drawbar

    with usage_errors():
        runs = expand_drawbar(options.config, [*(options.overrides or ()), _QUIET], options.seed)
        base = runs[0].config
        options.check_place(base.clock, base.name)
        folder = options.folder(base.name, "drawbar", UNFINISHED)
    with running("runs", folder) as (report, stop):
        place = options.place([run.config for run in runs], report)
        rows = run_sweep(runs, folder / "drawbar.csv", "csv", place, report, stop.now, resume=options.resume)
    pull_curves = curves(rows)
    from hil.campaign.traction.figures import draw_drawbar  # matplotlib takes half a second to import

    draw_drawbar(pull_curves, base, folder / "drawbar.png")
    result = {"planned": len(runs), "runs": len(rows), "curves": pull_curves}
    _finish(result, folder, "drawbar", as_json=options.as_json)
    if not options.as_json:
        table = Table("loads", "payload", "slip: pull [N]", "not accepted")
        for curve in pull_curves:
            points = ", ".join(f"{s:.2f}: {pull:.0f}" for s, pull in zip(curve["slip"], curve["pull_N"], strict=True))
            table.add_row(curve["mode"], curve["weight"] or "-", points or "-", str(curve["left_out"]))
        show(table)
        print(f"folder: {folder}")
    if stop.wanted:
        raise typer.Exit(INTERRUPTED)


@with_groups
def slope(options: BatchOptions) -> None:
    """The steepest slope that the rover climbs, for each load distribution: table, figure, JSON."""
    from hil.campaign.traction.slope import expand_slope, on_slope, run_slopes
    from hil.config import ConfigError, Problem

    with usage_errors():
        base = expand_slope(options.config, [*(options.overrides or ()), _QUIET], options.seed)
        if options.resume:
            raise ConfigError(base.name, [Problem("--resume", "given", "not for a search: start it again")])
        options.check_place(base.clock, base.name)
        folder = options.folder(base.name, "slope", "slope.json")
    with running("runs", folder) as (report, stop):
        slopes_deg = (base.slope.from_deg, base.slope.to_deg)
        configs = [on_slope(base, mode, search) for mode in base.slope.modes for search in slopes_deg]
        searches = run_slopes(base, options.place(configs, report), report, stop.now)
    from hil.campaign.traction.figures import draw_slopes  # matplotlib takes half a second to import
    from hil.config.rig import Rig
    from hil.experiments.slope.limit import limit_at_even_loads_deg

    limit_deg = limit_at_even_loads_deg(Rig(base))
    draw_slopes(searches, limit_deg, base, folder / "slope.png")
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
            print(f"not accepted: {reason}")
        print(f"by statics at even loads: {_degrees(limit_deg)}")
        print(f"folder: {folder}")
    if stop.wanted:
        raise typer.Exit(INTERRUPTED)


def _degrees(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} degrees"


def _finish(result: dict[str, Any], folder: Path, name: str, *, as_json: bool) -> None:
    """Write the result as JSON, and print it where that is wanted."""
    text = json.dumps(result, allow_nan=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    if as_json:
        print(text)
