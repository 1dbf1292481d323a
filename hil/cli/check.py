"""`hil check`: run the arming checks without moving."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.console import show
from hil.cli.exits import REFUSED, USAGE, complain, usage_errors
from hil.cli.options import AsJson, ConfigOptions, Endpoints, progress, with_groups

if TYPE_CHECKING:
    from hil.messages.check import Check


Quick = Annotated[bool, typer.Option("--quick", help="Leave out the 10 s measurement of the machine.")]


@with_groups
def check(options: ConfigOptions, endpoints: Endpoints = None, quick: Quick = False, as_json: AsJson = False) -> None:
    """Read every device, run the arming checks, and compute bus loads and cut latency; nothing moves.

    With the realtime clock, measure for 10 s whether this machine keeps the rate of the loop.
    """
    with usage_errors():
        effective = options.load()

    from hil.app.check import check_rig
    from hil.app.extensions import broken_extensions

    with usage_errors():
        checks, missing = check_rig(effective, progress, endpoints, quick=quick)
    show_checks(checks, f"{effective.name}: check before arming", as_json)
    for text in broken_extensions():
        complain(f"warning: {text}")
    for text in missing:
        complain(text)
    if missing:
        raise typer.Exit(USAGE)
    if not all(item.ok for item in checks):
        raise typer.Exit(REFUSED)


# A digest in a table is as long as one needs to tell it from another; `--json` has all of it.
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


def show_checks(checks: Sequence[Check], title: str, as_json: bool, widest: int = 10_000) -> None:
    """Print checks as a table, or as JSON. `widest`: see `show`."""
    if as_json:
        import msgspec

        print(msgspec.json.encode(checks).decode())
        return
    table = Table("item", "ok", "found", "allowed", title=title)
    for check in checks:
        verdict = Text("yes", "green") if check.ok else Text("NO", "bold red")
        allowed = Text(_short(check.allowed))
        if check.to_do:
            allowed.append(f"\n{check.to_do}", "bold")
        table.add_row(Text(check.item), verdict, Text(_short(check.found)), allowed)
    show(table, widest)


def _short(text: str) -> str:
    return _DIGEST.sub(r"\1...", text)
