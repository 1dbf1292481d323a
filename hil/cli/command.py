"""`hil command NAME`: one command to a running `hil operate`, from any terminal."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from hil.cli.client_options import ClientOptions, hold_lease, send
from hil.cli.exits import complain
from hil.cli.jog import RATE_DEGPS, Angle, Joint, Rate, Seconds, Speed, Wheel, jog_of
from hil.cli.options import with_groups

command = typer.Typer(
    no_args_is_help=True,
    help="Send a command to the running `hil operate`.",
    epilog=(
        "Exit status: 0 accepted; 1 refused, or the lease was lost; 2 no `hil operate`, no answer, a wrong key or "
        "wrong usage. Stops need no lease; all else but status takes the operator lease and releases it again."
    ),
)


Hold = Annotated[bool, typer.Option("--hold", help="Keep the operator lease afterwards, until Ctrl-C.")]
Reason = Annotated[str, typer.Argument(help="For the record.")]


@command.command()
@with_groups
def status(
    client: ClientOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the state of the rig."""
    with client.client() as rig:
        fields = rig.status()
    if as_json:
        print(json.dumps(fields))
    for key, value in () if as_json else fields.items():
        print(f"{key}: {value if isinstance(value, str) else json.dumps(value)}")


@command.command()
@with_groups
def lease(
    client: ClientOptions,
    hold: Hold = False,
    wait_s: Annotated[
        float, typer.Option("--wait", metavar="S", min=0.0, help="With --hold: ask its holder for it for so long.")
    ] = 0.0,
    give: Annotated[bool, typer.Option("--give", help="Give it to the client that asks for it.")] = False,
) -> None:
    """Hold the operator lease (--hold: until Ctrl-C), ask its holder for it, or give it to who asks."""
    from hil.operator.command_messages import Lease

    if (hold and give) or (wait_s and not hold):
        raise typer.BadParameter("allowed: --hold, --hold --wait S, or --give")
    with client.client() as rig:
        if hold:
            hold_lease(rig, wait_s)
            return
        if give:
            print(f"given to {rig.give_lease()}")
            return
        rig.ask(Lease("ask"))
        state = rig.lease_state
        asked = "" if state.yours or not state.holder else "; it has been asked for it"
        print(f"held by {state.holder}{asked}" if state.holder else "held by nobody: hil command lease --hold takes it")


@command.command()
@with_groups
def stop(client: ClientOptions, reason: Reason = "") -> None:
    """End the run: drives cut, valves off. Needs no lease."""
    from hil.messages.operator_input import Stop

    send(client, Stop(reason))


@command.command("e-stop")
@with_groups
def e_stop(client: ClientOptions, reason: Reason = "") -> None:
    """Go to Safe at once, latched. Needs no lease. This program is not the emergency stop."""
    from hil.messages.operator_input import EStop

    send(client, EStop(reason))


@command.command()
@with_groups
def arm(client: ClientOptions, hold: Hold = False) -> None:
    """Run the arming checks, and arm if all pass."""
    from hil.messages.operator_input import Arm

    send(client, Arm(), needs="console", hold=hold)


@command.command()
@with_groups
def start(client: ClientOptions, hold: Hold = False) -> None:
    """Start to move; the rig is armed."""
    from hil.messages.operator_input import Start

    send(client, Start(), needs="console", hold=hold)


@command.command()
@with_groups
def clear(
    client: ClientOptions,
    fault: Annotated[int, typer.Argument(metavar="NUMBER", help="Number of the fault (hil explain).")],
    hold: Hold = False,
) -> None:
    """Clear one latched fault; it latches again while its cause lasts."""
    from hil.messages.operator_input import ClearFault

    send(client, ClearFault(fault), needs="lease", hold=hold)


@command.command("set-point")
@with_groups
def set_point(
    client: ClientOptions,
    name_of: Annotated[str, typer.Argument(metavar="NAME", help="As the experiment names it.")],
    value: Annotated[float, typer.Argument(help="New value, in SI units.")],
    hold: Hold = False,
) -> None:
    """Change a set-point of the running experiment."""
    from hil.messages.operator_input import SetPoint

    send(client, SetPoint(name_of, value), needs="lease", hold=hold)


@command.command()
@with_groups
def mode(
    client: ClientOptions,
    name_of: Annotated[str, typer.Argument(metavar="NAME", help="As the experiment names it.")],
    hold: Hold = False,
) -> None:
    """Change the mode of the running experiment."""
    from hil.messages.operator_input import Mode

    send(client, Mode(name_of), needs="lease", hold=hold)


@command.command("set-loads")
@with_groups
def set_loads(
    client: ClientOptions,
    wanted: Annotated[
        str, typer.Argument(metavar="MODE", help="passive, hold, uniform, share, max_traction or unload.")
    ],
    share: Annotated[list[float] | None, typer.Option("--share", help="Of each wheel, for share; repeatable.")] = None,
    wheel: Annotated[str, typer.Option("--wheel", help="The one to unload, for unload.")] = "",
    hold: Hold = False,
) -> None:
    """Change the wanted distribution of the wheel loads."""
    import msgspec

    from hil.messages.operator_input import SetLoads

    given = {"mode": wanted, "share": share or [], "wheel": wheel}
    try:
        send(client, msgspec.convert(given, SetLoads), needs="lease", hold=hold)
    except msgspec.ValidationError as error:
        raise typer.BadParameter(f"{wanted}: {error}") from None


@command.command()
@with_groups
def jog(
    client: ClientOptions,
    seconds: Seconds,
    speed: Speed = None,
    wheel: Wheel = None,
    joint: Joint = None,
    angle: Angle = None,
    rate: Rate = RATE_DEGPS,
    hold: Hold = False,
) -> None:
    """Turn wheels or a driven joint for a short time, between two runs. Wheels off the ground."""
    send(client, jog_of(wheel, speed, joint, angle, rate, seconds), needs="console", hold=hold)


@command.command()
@with_groups
def valve(
    client: ClientOptions,
    cylinder: Annotated[str, typer.Argument(help="Cylinder: left or right.")],
    way: Annotated[Literal["extend", "retract"], typer.Argument(help="Direction.")],
    seconds: Seconds,
    hold: Hold = False,
) -> None:
    """Power one valve for a short time, wheels cut, between two runs."""
    from hil.messages.operator_input import Valve

    send(client, Valve(cylinder, way, seconds), needs="console", hold=hold)


@command.command()
@with_groups
def campaign(
    client: ClientOptions,
    do: Annotated[Literal["start", "pause", "end"], typer.Argument(help="What to do.")],
    operator: Annotated[str, typer.Option("--operator", help="Name of the operator, for its trials.")] = "",
    hold: Hold = False,
) -> None:
    """Begin or resume the campaign (`hil operate --plan`), pause it after the running trial, or end it there."""
    from hil.messages.operator_input import Campaign

    send(client, Campaign(do, operator), needs="console" if do == "start" else "lease", hold=hold)


@command.command("set")
@with_groups
def set_values(
    client: ClientOptions,
    values: Annotated[
        list[str], typer.Argument(metavar="a.b=VALUE...", help="As --set of hil run; all of them or none.")
    ],
) -> None:
    """Change settings for the next runs, between two runs."""
    from hil.config.yaml_io import read_yaml

    wanted = {}
    for one in values:
        key, equals, text = one.partition("=")
        value, problems = read_yaml(text, f"set {key}") if text.strip() else ("", [])
        if not (equals and key.strip()) or problems or not isinstance(value, bool | int | float | str | None):
            raise typer.BadParameter(f"{one}: allowed: a.b=VALUE, a number, text, true, false or null")
        wanted[key.strip()] = value
    with client.client() as rig, rig.lease():
        rig.set(wanted)
    complain("set: done")


@command.command()
@with_groups
def plan(
    client: ClientOptions,
    name_of: Annotated[str, typer.Argument(metavar="NAME", help="One of those that the page offers, like thesis.")],
) -> None:
    """Choose the plan of the next campaign, between two runs."""
    with client.client() as rig, rig.lease():
        rig.choose_plan(name_of)
    complain("plan: done")


@command.command()
@with_groups
def verdict(
    client: ClientOptions,
    kept: Annotated[Literal["keep", "repeat"], typer.Argument(metavar="keep|repeat", help="The verdict.")],
    word: Annotated[str, typer.Argument(help="A word on it.")] = "",
    hold: Hold = False,
) -> None:
    """Keep the trial of the campaign that is over, or repeat it."""
    from hil.messages.operator_input import Verdict

    send(client, Verdict(kept, word), needs="lease", hold=hold)


@command.command()
@with_groups
def custom(
    client: ClientOptions,
    kind: Annotated[str, typer.Argument(help="Of the command.")],
    content: Annotated[str, typer.Argument(help="Its content.")] = "",
    hold: Hold = False,
) -> None:
    """Send a command that the experiment of an installed package defines."""
    from hil.messages.operator_input import Custom

    send(client, Custom(kind, content), needs="lease", hold=hold)
