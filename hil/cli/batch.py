"""What commands that make many runs have in common: their options, the place of the runs, how they begin and end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.exits import usage_errors
from hil.cli.options import AsJson, Cluster, ConfigSource, Out, Overrides, Seed
from hil.cli.progress_bar import ProgressBar

if TYPE_CHECKING:
    from hil.campaign.run import CampaignStop
    from hil.campaign.workers import Workers
    from hil.config import Config

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
        from hil.campaign.cluster import check_cluster
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

        Args:
            name: of the config of the runs.
            what: is made, for the folder's name.
            marker: file that every folder to be resumed has.

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
        from hil.campaign.cluster import cluster
        from hil.config.kernel_kinds import one_of_each_kind

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
