"""`hil configs`: list the shipped configs and plans, or copy a config."""

from __future__ import annotations

from pathlib import Path
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
) -> None:
    """List the shipped configs and plans of campaigns, or copy a config to edit."""
    from hil.app.extensions import broken_extensions
    from hil.campaign.plan import shipped_plans
    from hil.config import shipped_configs
    from hil.config.load import shipped_files, shipped_name
    from hil.config.yaml_io import read_yaml

    shipped = shipped_configs()
    if copy is None:
        for name, text in shipped.items():
            first_line = text.partition("\n")[0].lstrip("# ")
            rig = read_yaml(text, name)[0]["rig"]
            print(f"{name} ({_NEEDS[rig]}): {first_line}")
        for name, text in shipped_plans().items():
            first_line = text.partition("\n")[0].lstrip("# ")
            print(f"--plan {name} (for `hil campaign`): {first_line}")
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
    for target, text in files.items():
        try:
            target.parent.mkdir(exist_ok=True)
            with target.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            complain(f"{target} cannot be written: {error.strerror}")
            raise typer.Exit(USAGE) from None
    config, *others = files
    print(f"copied to {config}: edit it, then for example `hil trial {config}`")
    for target in others:
        print(f"it reads {target}, which is copied too")
