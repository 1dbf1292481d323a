"""`hil sweep`: runs over any keys of a config, a row of a table for each."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Literal

import typer

from hil.cli.batch import INTERRUPTED, BatchOptions, running
from hil.cli.exits import usage_errors
from hil.cli.options import with_groups


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
    from hil.campaign.sweep import expand_sweep, parquet_writer, run_sweep
    from hil.campaign.sweep_rows import UNFINISHED

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
        print(f"{len(rows)} of {len(runs)} runs: {judged}")
        print(f"table: {path}")
    if stop.wanted:
        raise typer.Exit(INTERRUPTED)
