"""`hil keys new`: CURVE keys for the command socket and for telemetry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hil.cli.exits import USAGE, complain

keys = typer.Typer(no_args_is_help=True, help="Keys for clients on other computers.")


@keys.command()
def new(
    name: Annotated[
        str, typer.Argument(help="Of the computer or person; default: USER@COMPUTER.", show_default=False)
    ] = "",
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the two files.")] = Path("keys"),
) -> None:
    """Make a key pair: NAME.key_secret, which stays here, and NAME.key for the computer at the other end."""
    from hil.operator.client import own_name
    from hil.operator.curve import KeysError, new_keys

    try:
        public, secret = new_keys(name or own_name(), out)
    except KeysError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    print(f"{secret}: secret key, stays on this computer")
    print(f"{public}: public key, for the folder of allowed clients (operator.keys.clients), or for --server-key")


@keys.callback()
def _group() -> None:
    """Keys for clients on other computers."""
