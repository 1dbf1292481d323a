"""`hil check`: would the rig arm?"""

from __future__ import annotations

import json

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hil.cli.exits import REFUSED, usage_errors
from hil.cli.options import AsJson, Clock, ConfigSource, Overrides, Seed, config_from


def check(
    config: ConfigSource, overrides: Overrides = None, seed: Seed = None, clock: Clock = None, as_json: AsJson = False
) -> None:
    """Check the rig as arming does, without arming it."""
    with usage_errors():
        effective = config_from(config, overrides, seed, clock)

    from hil.app import check_rig

    with usage_errors():
        items = check_rig(effective)
    rows = [{"item": item.item, "ok": item.ok, "found": item.found, "allowed": item.allowed} for item in items]
    if as_json:
        print(json.dumps(rows))
    else:
        table = Table("item", "ok", "found", "allowed", title=f"{effective.name}: check before arming")
        for row in rows:
            verdict = Text("yes", "green") if row["ok"] else Text("NO", "bold red")
            table.add_row(Text(str(row["item"])), verdict, Text(str(row["found"])), Text(str(row["allowed"])))
        Console().print(table)
    if not all(row["ok"] for row in rows):
        raise typer.Exit(REFUSED)
