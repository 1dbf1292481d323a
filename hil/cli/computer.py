"""`hil computer`: files for the computer of a rig."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from hil.cli.exits import USAGE, complain


def computer(
    copy: Annotated[
        Path | None,
        typer.Option("--copy", metavar="DIR", help="Write all of them into this folder.", show_default=False),
    ] = None,
) -> None:
    """List the files for the computer of a rig (udev rules, limits, service, container), or write them into a folder.

    Nothing is installed: each file says where it belongs, and what to do then.
    """
    from hil.app.computer import FILES, text_of
    from hil.config.whole_file import replacing

    if copy is None:
        for file in FILES:
            there = "" if file.place is None else ", there" if file.place.is_file() else ", not there"
            print(f"{file.name}: {file.use} ({file.place or 'built with podman or docker'}{there})")
        print("`hil computer --copy DIR` writes them into a folder")
        return
    targets = {copy / file.name: file for file in FILES}
    if found := next((target for target in targets if target.exists()), None):
        complain(f"{found} already exists and is not changed: rename it, or copy into another folder")
        raise typer.Exit(USAGE)
    try:
        copy.mkdir(parents=True, exist_ok=True)
        with ExitStack() as all_or_none:
            for target, file in targets.items():
                unfinished = all_or_none.enter_context(replacing(target, new=True))
                unfinished.write_text(text_of(file), encoding="utf-8")
    except OSError as error:
        complain(f"--copy {copy}: {error.filename or copy} cannot be written: {error.strerror}")
        raise typer.Exit(USAGE) from None
    for target, file in targets.items():
        print(f"sudo cp {target} {file.place}" if file.place else f"{target}: says how to build it")
