"""`hil jog` and `hil valve`: move one part for a short time, through the same loop and limiter as a trial."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.exits import REFUSED, USAGE, complain, usage_errors
from hil.cli.options import RunOptions, with_groups
from hil.cli.trial import run_and_show

if TYPE_CHECKING:
    from hil.messages.operator_input import Jog, Valve

Seconds = Annotated[float, typer.Option("--for", metavar="SECONDS", help="Duration, up to 10 s.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask: you are at the rig, with the emergency stop in reach.")]


@with_groups
def jog(
    options: RunOptions,
    speed: Annotated[
        float, typer.Option("--speed", metavar="M/S", help="Speed of the rim; negative: backward.", show_default=False)
    ],
    seconds: Seconds,
    wheel: Annotated[
        list[str] | None,
        typer.Option("--wheel", metavar="NAME", help="front_left, ..., or all; repeatable.", show_default=False),
    ] = None,
    yes: Yes = False,
) -> None:
    """Turn wheels for a short time, to check wiring and direction. Wheels off the ground."""
    from hil.messages.operator_input import Jog

    _move(options, Jog(tuple(wheel or ()), speed, seconds), yes)


@with_groups
def valve(
    options: RunOptions,
    side: Annotated[str, typer.Argument(metavar="CYLINDER", help="Cylinder: left or right.")],
    way: Annotated[str, typer.Argument(metavar="WAY", help="Direction: extend or retract.")],
    seconds: Seconds,
    yes: Yes = False,
) -> None:
    """Power one valve for a short time, wheels cut, to check cylinder and direction."""
    from hil.messages.operator_input import Valve

    _move(options, Valve(side, way, seconds), yes)  # type: ignore[arg-type]  # the config checks it


def _move(options: RunOptions, asked: Jog | Valve, yes: bool) -> None:
    """Run the config as a jog of what was asked for."""
    from hil.experiments.jog.experiment import what_moves
    from hil.experiments.jog.overrides import jog_overrides

    with usage_errors():
        config = options.load(*jog_overrides(asked))
    if not yes:
        _confirm(what_moves(config), config.name, config.rig)
    run_and_show(config, options)


def _confirm(what: str, name: str, rig: str) -> None:
    """Ask for confirmation that the rig may move."""
    complain(f"{name} (rig: {rig}) will move: {what}")
    complain("this program is not an emergency stop: keep the hard-wired one for motor power and valve supply in reach")
    if not sys.stdin.isatty():
        complain("no terminal for the confirmation: run this at the rig, or use --yes")
        raise typer.Exit(USAGE)
    if not typer.confirm("Is it in reach, are the wheels off the ground, and is everybody clear?", err=True):
        complain("not confirmed: nothing has moved")
        raise typer.Exit(REFUSED)
