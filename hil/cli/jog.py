"""`hil jog` and `hil valve`: move one thing for a while, through the same loop and gate as a trial."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.console import show
from hil.cli.exits import REFUSED, USAGE, complain, usage_errors
from hil.cli.options import AsJson, Clock, ConfigSource, Endpoints, Out, Overrides, Seed, config_from, say

if TYPE_CHECKING:
    from hil.config import Config
    from hil.trials.jog import Motion

Seconds = Annotated[float, typer.Option("--for", metavar="SECONDS", help="How long, up to 10 s.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask: you stand at the rig, the emergency stop in reach.")]


def jog(
    config: ConfigSource,
    speed: Annotated[
        float, typer.Option("--speed", metavar="M/S", help="At the rim; negative: backward.", show_default=False)
    ],
    seconds: Seconds,
    wheel: Annotated[
        list[str] | None,
        typer.Option("--wheel", metavar="NAME", help="front_left, ..., or all; repeatable.", show_default=False),
    ] = None,
    out: Out = None,
    overrides: Overrides = None,
    seed: Seed = None,
    clock: Clock = None,
    endpoints: Endpoints = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Turn wheels for a while: do they turn, the right ones, the right way round? Wheels off the ground."""
    with usage_errors():
        effective = config_from(config, overrides, seed, clock)

        from hil.trials.jog import turn

        motion = turn(effective, wheel or (), speed, seconds)
    _move(effective, motion, "jog", out, endpoints, yes, as_json)


def valve(
    config: ConfigSource,
    side: Annotated[str, typer.Argument(metavar="left|right", help="Which side cylinder.")],
    way: Annotated[str, typer.Argument(metavar="extend|retract", help="Which way.")],
    seconds: Seconds,
    out: Out = None,
    overrides: Overrides = None,
    seed: Seed = None,
    clock: Clock = None,
    endpoints: Endpoints = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Power one valve for a while, wheels cut: does the right cylinder move the right way?"""
    with usage_errors():
        effective = config_from(config, overrides, seed, clock)

        from hil.trials.jog import power

        motion = power(side, way, seconds)
    _move(effective, motion, "valve", out, endpoints, yes, as_json)


def _move(
    config: Config, motion: Motion, command: str, out: Path | None, endpoints: Path | None, yes: bool, as_json: bool
) -> None:
    from hil.app.jog import in_words, run_motion
    from hil.folders import run_folder

    if not yes:
        _confirm(in_words(motion, config), config)
    with usage_errors():
        folder = run_folder(out, config.name, command)
        outcome = run_motion(config, folder, motion, say, endpoints)
    if as_json:
        print(json.dumps(outcome.summary, allow_nan=False))
    else:
        print(f"moved: {outcome.summary['motion']}")
        show(_table(outcome.summary))
        print(f"run folder: {folder}")
    raise typer.Exit(outcome.exit_code)


def _confirm(what: str, config: Config) -> None:
    """Have somebody say that the rig may move."""
    complain(f"{config.name} (rig: {config.rig}) will move: {what}")
    complain("this program is not an emergency stop: have the hard-wired one on motor power and valve supply in reach")
    if not sys.stdin.isatty():
        complain("there is no terminal to confirm it on: stand at the rig, or say --yes")
        raise typer.Exit(USAGE)
    if not typer.confirm("Is it, are the wheels off the ground, and everybody clear?", err=True):
        complain("not confirmed: nothing has moved")
        raise typer.Exit(REFUSED)


def _table(summary: dict[str, Any]) -> Table:
    table = Table(show_header=False)
    for key, unit, digits in (("speed_reached_mps", "m/s", 3), ("pressure_reached_kPa", "kPa", 1)):
        for name, value in summary[key].items():
            reached = "not measured" if value is None else f"{value:+.{digits}f} {unit}"
            table.add_row(Text(name.replace("_", " ")), Text(reached))
    troubles = "\n".join(summary["reasons"])
    table.add_row(Text("trouble"), Text(troubles, "bold red") if troubles else Text("none", "green"))
    return table
