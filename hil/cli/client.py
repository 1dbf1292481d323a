"""`hil keys new`: CURVE keys; and `hil command NAME`: one command to a running `hil operate`, from any terminal.

`hil command NAME`: one command to a running `hil operate`, from any terminal.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hil.cli.operate import JogOptions, Seconds
from hil.cli.run_options import with_groups
from hil.cli.terminal import FAULT, USAGE, complain, usage_errors, write_folded

if TYPE_CHECKING:
    from hil.messages.operator_input import OperatorRequest
    from hil.operator.client import CommandClient


# How often the console looks at its lease [s].
_LOOK_S = 0.2


@dataclass(frozen=True)
class _ClientOptions:
    """Which `hil operate`, and as whom."""

    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="tcp://ADDRESS:PORT", help="Not the running one of this user.")
    ] = None
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="Its token, as hil operate names it.")
    ] = None
    key: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="Secret key of this client (hil keys new).")
    ] = None
    server_key: Annotated[
        Path | None, typer.Option("--server-key", metavar="FILE", help="Public key of the rig's computer.")
    ] = None
    name: Annotated[str | None, typer.Option("--name", help="Name of this client, instead of USER@COMPUTER.")] = None

    @contextmanager
    def client(self) -> Iterator[CommandClient]:
        """The client; refusals end the command with exit status 1, everything else with 2."""
        from hil.operator.client import CommandClient, CommandError, own_name
        from hil.operator.curve import KeysError
        from hil.operator.runtime_folder import RuntimeFolderError, read_token

        name = self.name or own_name()
        try:
            if self.endpoint is None:
                self._nothing_else()
                client = CommandClient.running(name)
            elif self.key and self.server_key and not self.token_file:
                client = CommandClient(self.endpoint, keys=(self.key, self.server_key), name=name)
            elif self.token_file and not (self.key or self.server_key):
                client = CommandClient(self.endpoint, token=read_token(self.token_file), name=name)
            else:
                raise typer.BadParameter("--endpoint needs --token-file, or --key and --server-key")
            with client:
                yield client
        except CommandError as error:
            complain(str(error))
            raise typer.Exit(USAGE if error.refusal in (None, "not_authenticated", "malformed") else FAULT) from None
        except (KeysError, RuntimeFolderError) as error:
            complain(str(error))
            raise typer.Exit(USAGE) from None

    def _nothing_else(self) -> None:
        if self.token_file or self.key or self.server_key:
            raise typer.BadParameter("--token-file, --key and --server-key go with --endpoint")


def send(
    options: _ClientOptions,
    asked: OperatorRequest,
    *,
    needs: Literal["key", "lease", "console"] = "key",
    hold: bool = False,
) -> None:
    """Send a command.

    Args:
        options: of the client.
        asked: the command.
        needs: the key alone; the lease for a moment; or a console: what moves would be lost at once without one.
        hold: keep the lease afterwards.
    """
    from hil.operator.command_messages import Status

    what = asked.__struct_config__.tag
    with options.client() as rig:
        rig.ask(Status())
        if needs == "key" or rig.lease_state.yours:  # another process of this client is the console
            rig.ask(asked)
        elif needs == "console" and not hold:
            complain(
                f"{what}: no console holds the operator lease, and a run without one is lost at once: add --hold, or "
                "keep `hil command lease --hold` running in another terminal"
            )
            raise typer.Exit(USAGE)
        else:
            with rig.lease():
                rig.ask(asked)
                if hold:
                    complain(f"{what}: accepted")
                    _watch(rig)
                    return
        complain(f"{what}: accepted")


def hold_lease(rig: CommandClient, wait_s: float) -> None:
    """Be the console until Ctrl-C; ask another one for the lease for so long [s]."""
    from hil.operator.command_messages import Status

    rig.ask(Status())
    if rig.lease_state.yours:
        complain(f"another process of {rig.lease_state.holder} holds the operator lease already")
        raise typer.Exit(FAULT)
    if wait_s:
        rig.wait_for_lease(wait_s)
    with rig.lease():
        _watch(rig)


def _watch(rig: CommandClient) -> None:
    """Keep the lease, and show what is new, until Ctrl-C; exit status 1 if the lease is lost."""
    complain(f"{rig.lease_state.holder} holds the operator lease until Ctrl-C")
    message, asked_by = "", ""
    try:
        while not rig.lost:
            newest = str(rig.status().get("message", ""))
            if newest != message:
                complain(newest)
            if rig.lease_state.asked_by not in ("", asked_by):
                complain(f"{rig.lease_state.asked_by} asks for the operator lease: `hil command lease --give` gives it")
            message, asked_by = newest, rig.lease_state.asked_by
            time.sleep(_LOOK_S)
    except KeyboardInterrupt:
        complain("the operator lease is released")
        return
    complain(rig.lost)
    raise typer.Exit(FAULT)


command = typer.Typer(
    no_args_is_help=True,
    help="Send a command to the running `hil operate`.",
    epilog=(
        "Exit status: 0 accepted; 1 refused, or the lease was lost; 2 no `hil operate`, no answer, a wrong key or "
        "wrong usage. Stops need no lease; all else but status takes the operator lease and releases it again."
    ),
)


def _subcommand(name: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return lambda function: command.command(name)(with_groups(function))


Hold = Annotated[bool, typer.Option("--hold", help="Keep the operator lease afterwards, until Ctrl-C.")]
Reason = Annotated[str, typer.Argument(help="For the record.")]


@_subcommand()
def status(
    client: _ClientOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the state of the rig."""
    with client.client() as rig:
        fields = rig.status()
    if as_json:
        print(json.dumps(fields))
    for key, value in () if as_json else fields.items():
        print(f"{key}: {value if isinstance(value, str) else json.dumps(value)}")


@_subcommand()
def lease(
    client: _ClientOptions,
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
            write_folded(f"given to {rig.give_lease()}")
            return
        rig.ask(Lease("ask"))
        state = rig.lease_state
        asked = "" if state.yours or not state.holder else "; it has been asked for it"
        write_folded(
            f"held by {state.holder}{asked}" if state.holder else "held by nobody: hil command lease --hold takes it"
        )


@_subcommand()
def stop(client: _ClientOptions, reason: Reason = "") -> None:
    """End the run: drives cut, valves off. Needs no lease."""
    from hil.messages.operator_input import Stop

    send(client, Stop(reason))


@_subcommand("e-stop")
def e_stop(client: _ClientOptions, reason: Reason = "") -> None:
    """Go to Safe at once, latched. Needs no lease. This program is not the emergency stop."""
    from hil.messages.operator_input import EStop

    send(client, EStop(reason))


@_subcommand()
def arm(client: _ClientOptions, hold: Hold = False) -> None:
    """Run the arming checks, and arm if all pass."""
    from hil.messages.operator_input import Arm

    send(client, Arm(), needs="console", hold=hold)


@_subcommand()
def start(client: _ClientOptions, hold: Hold = False) -> None:
    """Start to move; the rig is armed."""
    from hil.messages.operator_input import Start

    send(client, Start(), needs="console", hold=hold)


@_subcommand()
def clear(
    client: _ClientOptions,
    fault: Annotated[int, typer.Argument(metavar="NUMBER", help="Number of the fault (hil explain).")],
    hold: Hold = False,
) -> None:
    """Clear one latched fault; it latches again while its cause lasts."""
    from hil.messages.operator_input import ClearFault

    send(client, ClearFault(fault), needs="lease", hold=hold)


@_subcommand("set-point")
def set_point(
    client: _ClientOptions,
    name_of: Annotated[str, typer.Argument(metavar="NAME", help="As the experiment names it.")],
    value: Annotated[float, typer.Argument(help="New value, in SI units.")],
    hold: Hold = False,
) -> None:
    """Change a set-point of the running experiment."""
    from hil.messages.operator_input import SetPoint

    send(client, SetPoint(name_of, value), needs="lease", hold=hold)


@_subcommand()
def mode(
    client: _ClientOptions,
    name_of: Annotated[str, typer.Argument(metavar="NAME", help="As the experiment names it.")],
    hold: Hold = False,
) -> None:
    """Change the mode of the running experiment."""
    from hil.messages.operator_input import Mode

    send(client, Mode(name_of), needs="lease", hold=hold)


@_subcommand("set-loads")
def set_loads(
    client: _ClientOptions,
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


@_subcommand()
def jog(client: _ClientOptions, what: JogOptions, hold: Hold = False) -> None:
    """Turn wheels or a driven joint for a short time, between two runs. Wheels off the ground."""
    send(client, what.command(), needs="console", hold=hold)


@_subcommand()
def valve(
    client: _ClientOptions,
    cylinder: Annotated[str, typer.Argument(help="Cylinder: left or right.")],
    way: Annotated[Literal["extend", "retract"], typer.Argument(help="Direction.")],
    seconds: Seconds,
    hold: Hold = False,
) -> None:
    """Power one valve for a short time, wheels cut, between two runs."""
    from hil.messages.operator_input import Valve

    send(client, Valve(cylinder, way, seconds), needs="console", hold=hold)


@_subcommand()
def campaign(
    client: _ClientOptions,
    do: Annotated[Literal["start", "pause", "end"], typer.Argument(help="What to do.")],
    operator: Annotated[str, typer.Option("--operator", help="Name of the operator, for its trials.")] = "",
    hold: Hold = False,
) -> None:
    """Begin or resume the campaign (`hil operate --plan`), pause it after the running trial, or end it there."""
    from hil.messages.operator_input import Campaign

    send(client, Campaign(do, operator), needs="console" if do == "start" else "lease", hold=hold)


@_subcommand()
def joystick(
    client: _ClientOptions,
    device: Annotated[Path, typer.Argument(metavar="DEVICE", help="/dev/input/by-id/...-event-joystick, or a FIFO.")],
    button: Annotated[str, typer.Option("--button", help="Held to run: trigger, thumb, a, b, tl, tr, ...")] = "trigger",
    axis: Annotated[
        list[str] | None,
        typer.Option("--axis", metavar="NAME=AXIS:MOST", help="Set-point, axis (x, y, ...), value at its end [SI]."),
    ] = None,
    jog: Annotated[
        list[str] | None,
        typer.Option("--jog", metavar="WHEEL", help="Jog this wheel, or all, by --axis speed_mps=...; repeatable."),
    ] = None,
    rate: Annotated[float, typer.Option("--rate", min=1e-4, help="Largest change of a set-point a second [SI].")] = 0.1,
    dead_zone: Annotated[float, typer.Option("--dead-zone", min=0.0, max=0.9, help="Share of an axis.")] = 0.1,
    silent_s: Annotated[float, typer.Option("--silent", min=0.0, help="Stop without an event for so long [s].")] = 10.0,
) -> None:
    """Run, or jog wheels, while a button is held; axes set set-points; stop when it is let go. Until Ctrl-C."""
    from hil.operator.joystick import AXES, BUTTONS, HoldToRun, Joystick, JoystickError, SetPointAxis

    axes = []
    for one in axis or ():
        name, _, rest = one.partition("=")
        code, _, most = rest.partition(":")
        try:
            axes.append(SetPointAxis(name, AXES[code], float(most), rate))
        except (KeyError, ValueError):
            raise typer.BadParameter(f"--axis {one}: allowed: NAME=AXIS:MOST, AXIS one of {', '.join(AXES)}") from None
    if jog and [one.name for one in axes] != ["speed_mps"]:
        raise typer.BadParameter("--jog needs one axis: --axis speed_mps=AXIS:MOST")
    if button not in BUTTONS:
        raise typer.BadParameter(f"--button {button}: allowed: {', '.join(BUTTONS)}")
    try:
        stick = Joystick(device, tuple(one.axis for one in axes))
        complain(f"{stick.name}: hold {button} to run; this program is not an emergency stop")
        with closing(stick), client.client() as rig:
            HoldToRun(
                rig, stick, BUTTONS[button], tuple(axes),
                jogs=tuple(jog or ()), dead_zone=dead_zone, silent_s=silent_s, report=complain,
            ).run()  # fmt: skip
    except JoystickError as error:
        complain(str(error))
        raise typer.Exit(FAULT) from None
    except KeyboardInterrupt:
        complain("the joystick is let go")


@_subcommand("set")
def set_values(
    client: _ClientOptions,
    values: Annotated[
        list[str], typer.Argument(metavar="a.b=VALUE...", help="As --set of hil run; all of them or none.")
    ],
) -> None:
    """Change settings for the next runs, between two runs."""
    from hil.config.text_io import read_yaml

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


@_subcommand()
def plan(
    client: _ClientOptions,
    name_of: Annotated[str, typer.Argument(metavar="NAME", help="One of those that the page offers, like thesis.")],
) -> None:
    """Choose the plan of the next campaign, between two runs."""
    with client.client() as rig, rig.lease():
        rig.choose_plan(name_of)
    complain("plan: done")


@_subcommand()
def verdict(
    client: _ClientOptions,
    kept: Annotated[Literal["keep", "repeat"], typer.Argument(metavar="keep|repeat", help="The verdict.")],
    word: Annotated[str, typer.Argument(help="A word on it.")] = "",
    hold: Hold = False,
) -> None:
    """Keep the trial of the campaign that is over, or repeat it."""
    from hil.messages.operator_input import Verdict

    send(client, Verdict(kept, word), needs="lease", hold=hold)


@_subcommand()
def custom(
    client: _ClientOptions,
    kind: Annotated[str, typer.Argument(help="Of the command.")],
    content: Annotated[str, typer.Argument(help="Its content.")] = "",
    hold: Hold = False,
) -> None:
    """Send a command that the experiment of an installed package defines."""
    from hil.messages.operator_input import Custom

    send(client, Custom(kind, content), needs="lease", hold=hold)


keys = typer.Typer(no_args_is_help=True, help="Keys for clients on other computers.")


@keys.command()
def new(
    name: Annotated[str, typer.Argument(help="Of the computer or person; default: USER@COMPUTER.")] = "",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the two files.")] = Path("keys"),
) -> None:
    """Make a key pair: NAME.key_secret, which stays here, and NAME.key for the computer at the other end."""
    from hil.operator.client import own_name
    from hil.operator.curve import KeysError, new_keys

    with usage_errors(KeysError):
        public, secret = new_keys(name or own_name(), out)
    write_folded(f"{secret}: secret key, stays on this computer")
    write_folded(
        f"{public}: public key, for the folder of allowed clients (operator.keys.clients), or for --server-key"
    )


@keys.callback()
def _group() -> None:
    """Keys for clients on other computers."""
