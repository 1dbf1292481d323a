"""Options that several commands share, one by one and in groups."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from hil.cli.exits import wrapped

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

Cluster = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Use the workers of this Dask scheduler.", show_default=False),
]
Unverified = Annotated[bool, typer.Option("--unverified", help="Also what does not match its digests.")]


@dataclass(frozen=True)
class ConfigOptions:
    """A config, and what replaces values of it."""

    config: ConfigSource
    overrides: Overrides = None
    seed: Seed = None
    clock: Clock = None

    def load(self, *more: str, seed: Any = None) -> Config:
        """The effective config.

        Args:
            *more: overrides of the command itself, after those of the command line.
            seed: in place of that of the command line; None: that.

        Raises:
            ConfigError: with all problems at once.
        """
        return config_from(
            self.config, [*(self.overrides or ()), *more], self.seed if seed is None else seed, self.clock
        )


@dataclass(frozen=True)
class RunOptions(ConfigOptions):
    """The same of a command that makes runs, and where they go."""

    out: Out = None
    endpoints: Endpoints = None
    as_json: AsJson = False


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """For typer: a parameter whose type is a dataclass stands for the options of its fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        options += _options_of(groups[name]) if name in groups else [parameter.replace(annotation=hints[name])]

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        made = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **values)

    options.sort(key=lambda option: option.default is not inspect.Parameter.empty)  # the needed ones first
    named = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    with_options.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    with_options.__annotations__ = {option.name: option.annotation for option in options}
    return with_options


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


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
    print(wrapped(text), file=sys.stderr, flush=True)
