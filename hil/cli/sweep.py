"""`hil sweep`: runs over any keys of a config, a row of a table for each."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Annotated, Literal

import typer

from hil.cli.campaign import INTERRUPTED, Cluster, Count, refuse_real_time, where
from hil.cli.exits import usage_errors
from hil.cli.options import AsJson, ConfigSource, Out, Overrides, Seed
from hil.cli.progress_bar import ProgressBar


def sweep(
    config: ConfigSource,
    over: Annotated[
        list[str],
        typer.Option("--over", metavar="a.b=VALUES", help="Values 1,2,3 or a range 0:1:0.1, end included; repeatable."),
    ],
    workers: Count = None,
    cluster: Cluster = None,
    out: Out = None,
    table: Annotated[
        Literal["csv", "parquet"], typer.Option("--format", help="Of the table; parquet needs the extra export.")
    ] = "csv",
    overrides: Overrides = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Run a config over the product of values of any keys: one table, no folder for a run."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: the same sums in every process
    from hil.campaign.cluster import check_cluster
    from hil.campaign.run import Stop
    from hil.campaign.sweep import expand_sweep, parquet_writer, run_sweep
    from hil.campaign.trial import kinds_of
    from hil.recording.run_folder import run_folder

    with usage_errors():
        if table == "parquet":
            parquet_writer()
        runs = expand_sweep(config, over, [*(overrides or ()), 'telemetry.endpoint=""'], seed)
        base = runs[0].config
        refuse_real_time(base, workers, cluster)
        if cluster:
            check_cluster(cluster)
        folder = run_folder(out, base.name, "sweep")
    path = folder / f"sweep.{table}"
    with ProgressBar("runs") as report, Stop(report) as stop, usage_errors():
        place = where(base, workers, cluster, report)(kinds_of([run.config for run in runs]))
        rows = run_sweep(runs, path, table, place, report, stop.now)
    counts = Counter("accepted" if row["accepted"] else "not accepted" for row in rows)
    if as_json:
        print(json.dumps({"table": str(path), "planned": len(runs), "runs": len(rows), **counts}))
    else:
        judged = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        print(f"{len(rows)} of {len(runs)} runs: {judged}")
        print(f"table: {path}")
    if stop.wanted:
        raise typer.Exit(INTERRUPTED)
