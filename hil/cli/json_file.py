"""The option `--json FILE`: the result of a command in a file, beside its table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hil.cli.exits import USAGE, complain

JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Also write the result to this file.", show_default=False)
]


def writable(file: Path | None) -> None:
    """Check before the work, not after it, that there can be such a file."""
    if file is not None and (file.is_dir() or not file.parent.is_dir()):
        complain(f"--json {file}: found no folder {file.parent} or a folder of that name; allowed: a file to write")
        raise typer.Exit(USAGE)


def write(file: Path | None, result: Any) -> None:
    """Write the result, if a file was asked for."""
    from hil.config.whole_file import write_whole

    if file is None:
        return
    try:
        write_whole(file, json.dumps(result, indent=2, allow_nan=False) + "\n")
    except OSError as error:
        complain(f"--json {file} cannot be written: {error.strerror}")
        raise typer.Exit(USAGE) from None
