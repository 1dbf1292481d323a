"""Options that several commands share."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hil.config import Config

ConfigSource = Annotated[str, typer.Argument(metavar="CONFIG", help="A YAML file, or a shipped config (hil configs).")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Run folder; must be empty.", show_default=False)
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="a.b=VALUE", help="Replace a value of the config; repeatable.", show_default=False),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Replace the config's seed.", show_default=False)]
Clock = Annotated[
    str | None,
    typer.Option("--clock", metavar="lockstep|realtime", help="Replace the config's clock.", show_default=False),
]
Endpoints = Annotated[
    Path | None,
    typer.Option("--endpoints", metavar="FILE", help="Use the simulated rig that wrote FILE (hil sim --endpoints)."),
]
Repeat = Annotated[
    int,
    typer.Option("--repeat", metavar="N", min=1, help="Number of runs, one after the other; the rig is opened once."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print only the result, as JSON.")]

Unverified = Annotated[bool, typer.Option("--unverified", help="Also what does not match its digests.")]


def config_from(source: str, overrides: list[str] | None, seed: int | None, clock: str | None) -> Config:
    """The effective config of a command line.

    Raises:
        ConfigError: with all problems at once.
    """
    from hil.config import load_config

    clocks = [] if clock is None else [f"clock={json.dumps(clock)}"]
    return load_config(source, [*(overrides or ()), *clocks], seed)


def progress(text: str) -> None:
    """Print a progress line on stderr."""
    print(text, file=sys.stderr, flush=True)
