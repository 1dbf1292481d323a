"""Options of a client of the command socket, and how it sends a command."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hil.cli.exits import FAULT, USAGE, complain

if TYPE_CHECKING:
    from hil.messages.operator_input import OperatorRequest
    from hil.operator.client import CommandClient

# How often the console looks at its lease [s].
_LOOK_S = 0.2


@dataclass(frozen=True)
class ClientOptions:
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
    name: Annotated[
        str | None, typer.Option("--name", help="Name of this client, instead of USER@COMPUTER.", show_default=False)
    ] = None

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
    options: ClientOptions,
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
