"""`hil configs`: list the shipped configs and plans, or copy a config."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import Annotated

import typer

from hil.cli.exits import USAGE, complain

# By the value of `rig` in a config.
_NEEDS = {
    "simulated": "no hardware needed",
    "simulated_wire": "no hardware needed",
    "real": "needs hardware, or --set rig=simulated",
}


def configs(
    copy: Annotated[
        str | None, typer.Option("--copy", metavar="NAME", help="Copy one into the current folder.", show_default=False)
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option("--keys", metavar="SECTION", help="Print the keys of a section as YAML.", show_default=False),
    ] = None,
) -> None:
    """List the shipped configs and plans of campaigns, copy a config to edit, or print the keys of a section."""
    if keys is not None:
        _print_keys(keys)
        return
    from hil.app.extensions import broken_extensions
    from hil.campaign.plan import shipped_plans
    from hil.config import shipped_configs
    from hil.config.load import shipped_files, shipped_name
    from hil.config.whole_file import replacing
    from hil.config.yaml_io import read_yaml

    shipped = shipped_configs()
    if copy is None:
        for name, text in shipped.items():
            rig = read_yaml(text, name)[0]["rig"]
            _list(f"{name} ({_NEEDS[rig]}): {_first_sentence(text)}")
        for name, text in shipped_plans().items():
            _list(f"--plan {name} (for `hil campaign`): {_first_sentence(text)}")
        for text in broken_extensions():
            complain(f"warning: {text}")
        return
    name = shipped_name(copy)
    if name not in shipped:
        complain(f"no shipped config {copy!r}; shipped: {', '.join(shipped)}")
        raise typer.Exit(USAGE)
    files = {Path(path): text for path, text in shipped_files(name).items()}
    for target in files:
        if target.exists():
            complain(f"{target} already exists and is not changed: rename it, or copy in another folder")
            raise typer.Exit(USAGE)
    try:
        with ExitStack() as all_or_none:
            for target, text in files.items():
                target.parent.mkdir(exist_ok=True)
                all_or_none.enter_context(replacing(target, new=True)).write_text(text, encoding="utf-8")
    except OSError as error:
        complain(f"{target} cannot be written: {error.strerror}")
        raise typer.Exit(USAGE) from None
    config, *others = files
    print(f"copied to {config}: edit it, then for example `hil {_first_command(shipped[name], name)} {config}`")
    for target in others:
        print(f"it reads {target}, which is copied too")


def _print_keys(section: str) -> None:
    from hil.config.key_descriptions import section_yaml

    try:
        print(section_yaml(section))
    except ValueError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None


def _first_sentence(text: str) -> str:
    """That of the comment which a config or a plan begins with."""
    lines = [line.lstrip("# ") for line in takewhile(lambda line: line.startswith("#"), text.splitlines())]
    return " ".join(lines).partition(". ")[0].removesuffix(".") + "."


def _list(text: str) -> None:
    """Print an entry: on one line in a pipe, and with its further lines indented in a terminal."""
    width = get_terminal_size().columns if sys.stdout.isatty() else len(text)
    print(fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def _first_command(text: str, name: str) -> str:
    """The command that a reader of a config gives first: a rig is checked before it moves."""
    from hil.config.yaml_io import read_yaml

    raw = read_yaml(text, name)[0]
    if raw["rig"] == "real":
        return "check"
    return "trial" if raw.get("experiment", "impact") == "impact" else "run"
