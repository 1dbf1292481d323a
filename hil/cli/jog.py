"""`hil jog` and `hil valve`: move one part for a short time, through the same loop and limiter as a trial."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli.exits import REFUSED, USAGE, complain, usage_errors
from hil.cli.options import AsJson, Clock, ConfigSource, Endpoints, Out, Overrides, Seed, config_from
from hil.cli.trial import run_and_show

if TYPE_CHECKING:
    from hil.config import Config

Seconds = Annotated[float, typer.Option("--for", metavar="SECONDS", help="Duration, up to 10 s.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask: you are at the rig, with the emergency stop in reach.")]


def jog(
    config: ConfigSource,
    speed: Annotated[
        float, typer.Option("--speed", metavar="M/S", help="Speed of the rim; negative: backward.", show_default=False)
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
    """Turn wheels for a short time, to check wiring and direction. Wheels off the ground."""
    asked = {"wheels": wheel or [], "speed_mps": speed, "valve": "", "seconds": seconds}
    with usage_errors():
        effective = config_from(config, [*(overrides or ()), *_jog(asked)], seed, clock)
    _move(effective, out, endpoints, yes, as_json)


def valve(
    config: ConfigSource,
    side: Annotated[str, typer.Argument(metavar="CYLINDER", help="Cylinder: left or right.")],
    way: Annotated[str, typer.Argument(metavar="WAY", help="Direction: extend or retract.")],
    seconds: Seconds,
    out: Out = None,
    overrides: Overrides = None,
    seed: Seed = None,
    clock: Clock = None,
    endpoints: Endpoints = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Power one valve for a short time, wheels cut, to check cylinder and direction."""
    asked = {"wheels": [], "valve": f"{side}_{way}", "seconds": seconds}
    with usage_errors():
        effective = config_from(config, [*(overrides or ()), *_jog(asked)], seed, clock)
    _move(effective, out, endpoints, yes, as_json)


def _jog(section: Mapping[str, Any]) -> list[str]:
    """Overrides that turn a config into the config of a jog."""
    return ["experiment=jog", *(f"jog.{key}={json.dumps(value)}" for key, value in section.items())]


def _move(config: Config, out: Path | None, endpoints: Path | None, yes: bool, as_json: bool) -> None:
    from hil.experiments.jog.summary import what_moves

    if not yes:
        _confirm(what_moves(config), config)
    run_and_show(config, out, endpoints, as_json)


def _confirm(what: str, config: Config) -> None:
    """Ask for confirmation that the rig may move."""
    complain(f"{config.name} (rig: {config.rig}) will move: {what}")
    complain("this program is not an emergency stop: keep the hard-wired one for motor power and valve supply in reach")
    if not sys.stdin.isatty():
        complain("no terminal for the confirmation: run this at the rig, or use --yes")
        raise typer.Exit(USAGE)
    if not typer.confirm("Is it in reach, are the wheels off the ground, and is everybody clear?", err=True):
        complain("not confirmed: nothing has moved")
        raise typer.Exit(REFUSED)
