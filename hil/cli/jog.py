"""`hil jog` and `hil valve`: move one part for a short time, through the same loop and limiter as a trial."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.exits import REFUSED, USAGE, complain, usage_errors
from hil.cli.options import RunOptions, with_groups
from hil.cli.trial import run_and_show

if TYPE_CHECKING:
    from hil.messages.operator_input import Jog, JogJoint, Valve

Seconds = Annotated[float, typer.Option("--for", metavar="SECONDS", help="Duration, up to 10 s.", show_default=False)]
Wheel = Annotated[
    list[str] | None,
    typer.Option("--wheel", metavar="NAME", help="front_left, ..., or all; repeatable.", show_default=False),
]
Speed = Annotated[
    float | None,
    typer.Option("--speed", metavar="M/S", help="Speed of the rim; negative: backward.", show_default=False),
]
Joint = Annotated[
    str | None,
    typer.Option("--joint", metavar="NAME", help="A driven joint, in place of wheels.", show_default=False),
]
Angle = Annotated[
    float | None, typer.Option("--angle", metavar="DEG", help="Angle that the joint turns to.", show_default=False)
]
Rate = Annotated[float, typer.Option("--rate", metavar="DEG/S", help="Speed of the joint.")]
RATE_DEGPS = 5.0  # of a joint, if not told
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask: you are at the rig, with the emergency stop in reach.")]


def jog_of(
    wheels: list[str] | None, speed: float | None, joint: str | None, angle: float | None, rate: float, seconds: float
) -> Jog | JogJoint:
    """What the options of a jog ask for. Raises typer.BadParameter: wheels and a joint, or half of either."""
    from hil.messages.operator_input import Jog, JogJoint

    if joint is None:
        if speed is None or angle is not None:
            raise typer.BadParameter("give --speed with --wheel, or --angle with --joint")
        return Jog(tuple(wheels or ()), speed, seconds)
    if angle is None or speed is not None or wheels:
        raise typer.BadParameter("--joint needs --angle, and has no --wheel and no --speed")
    return JogJoint(joint, angle, rate, seconds)


@with_groups
def jog(
    options: RunOptions,
    seconds: Seconds,
    speed: Speed = None,
    wheel: Wheel = None,
    joint: Joint = None,
    angle: Angle = None,
    rate: Rate = RATE_DEGPS,
    yes: Yes = False,
) -> None:
    """Turn wheels or a driven joint for a short time, to check wiring and direction. Wheels off the ground."""
    _move(options, jog_of(wheel, speed, joint, angle, rate, seconds), yes)


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


def _move(options: RunOptions, asked: Jog | JogJoint | Valve, yes: bool) -> None:
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
