"""`hil jog` and `hil valve`: move one thing for a while, through the same loop and limiter as everything else."""

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
    asked = {"wheels": wheel or [], "speed_mps": speed, "valve": "", "seconds": seconds}
    with usage_errors():
        effective = config_from(config, [*(overrides or ()), *_jog(asked)], seed, clock)
    _move(effective, out, endpoints, yes, as_json)


def valve(
    config: ConfigSource,
    side: Annotated[str, typer.Argument(metavar="CYLINDER", help="Which cylinder: left or right.")],
    way: Annotated[str, typer.Argument(metavar="WAY", help="Which way: extend or retract.")],
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
    asked = {"wheels": [], "valve": f"{side}_{way}", "seconds": seconds}
    with usage_errors():
        effective = config_from(config, [*(overrides or ()), *_jog(asked)], seed, clock)
    _move(effective, out, endpoints, yes, as_json)


def _jog(section: Mapping[str, Any]) -> list[str]:
    """Overrides that make a config one of a jog."""
    return ["experiment=jog", *(f"jog.{key}={json.dumps(value)}" for key, value in section.items())]


def _move(config: Config, out: Path | None, endpoints: Path | None, yes: bool, as_json: bool) -> None:
    from hil.experiments.jog.summary import what_moves

    if not yes:
        _confirm(what_moves(config), config)
    run_and_show(config, out, endpoints, as_json)


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
