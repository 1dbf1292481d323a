"""Options that several commands share, and what commands that make many runs have in common."""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from hil.campaign.progress import ProgressBar
from hil.cli.terminal import USAGE, complain, usage_errors, wrapped

if TYPE_CHECKING:
    from hil.campaign.run import CampaignStop
    from hil.campaign.workers import Workers
    from hil.config import Config
    from hil.experiments.figure_form import FigureForm


def complete_config(incomplete: str) -> list[str]:
    """For the shell: shipped configs; where none fits, it completes the names of files."""
    from hil.config import shipped_configs

    return [name for name in shipped_configs() if name.startswith(incomplete)]


def complete_plan(incomplete: str) -> list[str]:
    """For the shell: shipped plans of campaigns."""
    from hil.campaign.plan import shipped_plans

    return [name for name in shipped_plans() if name.startswith(incomplete)]


def complete_shipped(incomplete: str) -> list[str]:
    """For the shell: what can be copied."""
    return complete_config(incomplete) + complete_plan(incomplete)


def complete_key(incomplete: str) -> list[str]:
    """For the shell: keys of a config."""
    from hil.config.error_messages import config_keys

    return [f"{key}=" for key in config_keys() if key.startswith(incomplete)]


ConfigSource = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG", help="A YAML file, or a shipped config (hil configs).", autocompletion=complete_config
    ),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Run folder; must be empty.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="a.b=VALUE", help="Replace a value of the config; repeatable.", autocompletion=complete_key
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Replace the config's seed.")]
Clock = Annotated[
    str | None,
    typer.Option("--clock", metavar="lockstep|realtime", help="Replace the config's clock."),
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
    typer.Option("--cluster", metavar="ADDRESS", help="Use the workers of this Dask scheduler."),
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


@dataclass(frozen=True)
class FigureOptions:
    """How figures are drawn."""

    to: Annotated[Literal["png", "pdf", "svg"], typer.Option("--to", help="Format of figures.")] = "png"
    width: Annotated[
        Literal["screen", "single", "double"],
        typer.Option("--width", help="screen, or 85 or 180 mm: a journal's single or double column."),
    ] = "screen"

    def form(self, notice: str = "") -> FigureForm:
        """The same, with what must stand across the figure."""
        from hil.experiments.figure_form import FigureForm  # help stays fast

        return FigureForm(self.width, notice, self.to)


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
    """The effective config of a command line. Raises ConfigError: with all problems at once."""
    from hil.config import load_config

    clocks = [] if clock is None else [f"clock={json.dumps(clock)}"]
    return load_config(source, [*(overrides or ()), *clocks], seed)


def progress(text: str) -> None:
    """Print a progress line on stderr."""
    print(wrapped(text), file=sys.stderr, flush=True)


JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Also write the result to this file.")]


def writable(file: Path | None) -> None:
    """Check before the work, not after it, that there can be such a file."""
    if file is not None and (file.is_dir() or not file.parent.is_dir()):
        complain(f"--json {file}: found no folder {file.parent} or a folder of that name; allowed: a file to write")
        raise typer.Exit(USAGE)


def write(file: Path | None, result: Any) -> None:
    """Write the result, if a file was asked for."""
    from hil.config.files import write_whole

    if file is None:
        return
    try:
        write_whole(file, json.dumps(result, indent=2, allow_nan=False) + "\n")
    except OSError as error:
        complain(f"--json {file} cannot be written: {error.strerror}")
        raise typer.Exit(USAGE) from None


INTERRUPTED = 130


@dataclass(frozen=True)
class BatchOptions:
    """A config, where its runs are made, and the folder they go to."""

    config: ConfigSource
    resume: Annotated[bool, typer.Option("--resume", help="Go on where it stopped; what is there is kept.")] = False
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=1, help="Processes that make runs; default: one for each core."),
    ] = None
    cluster: Cluster = None
    out: Out = None
    overrides: Overrides = None
    seed: Seed = None
    as_json: AsJson = False

    def __post_init__(self) -> None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: the same sums in every process

    def check_place(self, clock: str, name: str) -> None:
        """Runs against the wall clock are made one after the other, here; a cluster must be there.

        Raises:
            ConfigError, WorkersError: what does not hold.
        """
        from hil.campaign.workers import check_cluster
        from hil.config import ConfigError, Problem

        allowed = "with clock: lockstep only; in real time one run is made after the other, here"
        given = {"--workers": self.workers if (self.workers or 1) > 1 else None, "--cluster": self.cluster}
        problems = [Problem(name, str(value), allowed) for name, value in given.items() if value]
        if clock != "lockstep" and problems:
            raise ConfigError(name, problems)
        if self.cluster:
            check_cluster(self.cluster)

    def folder(self, name: str, what: str, marker: str) -> Path:
        """The folder of the runs: a new one, or the one to be resumed.

        Raises:
            FolderError: there is none to be resumed, or the new one is not empty.
        """
        from hil.recording.run_folder import FolderError, run_folder

        if not self.resume:
            return run_folder(self.out, name, what)
        if self.out is not None:
            if not self.out.is_dir():
                raise FolderError(f"{self.out} is no folder: give the one to be resumed with --out")
            return self.out
        pattern = f"*_{name}_{what}*"
        folders = sorted(folder for folder in Path("runs").glob(pattern) if (folder / marker).is_file())
        if not folders:
            raise FolderError(f"nothing to resume in runs/{pattern}: give the folder with --out")
        return folders[-1]

    def place(self, configs: list[Config], report: ProgressBar) -> Callable[[], AbstractContextManager[Workers]]:
        """Opens the place where runs are made, with every kernel that these configs need."""
        from hil.campaign import workers
        from hil.campaign.workers import cluster
        from hil.config.rig import one_of_each_kind

        kinds = one_of_each_kind(configs)
        if self.cluster:
            return partial(cluster, self.cluster, kinds, report.text)
        if configs[0].clock != "lockstep":
            return partial(workers.this_process, kinds, report.text)
        processes = self.workers or len(os.sched_getaffinity(0))
        return partial(workers.process_pool, processes, kinds, report.text)


@contextmanager
def running(what: str, folder: Path) -> Iterator[tuple[ProgressBar, CampaignStop]]:
    """While runs are made: progress, the lock of their folder, signals that ask for an end, errors as sentences."""
    from hil.campaign.folder import locked
    from hil.campaign.run import CampaignStop

    with ProgressBar(what) as report, usage_errors(), locked(folder), CampaignStop(report) as stop:
        yield report, stop
