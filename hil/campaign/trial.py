"""One simulated trial: the function that a process of a pool, or a worker of a cluster, runs."""

from __future__ import annotations

import gc
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from hil.config import Config
from hil.config.rig import Rig
from hil.realtime.clock import processor_name
from hil.version import running_version, same_commit

Keep = Literal["folder", "files", "summary"]
# A worker with several threads runs one trial at a time: their ticks would only take turns.
_ONE_AT_A_TIME = threading.Lock()


class OtherVersionError(RuntimeError):
    """A worker of the cluster has another version of rover-hil."""


@dataclass(frozen=True)
class Job:
    """A trial to run."""

    config: str  #: of it, as JSON
    keep: Keep  #: what is kept: a folder that the caller and the worker both see, the files of one, or only the summary
    folder: str = ""  #: of the run, where `keep` is folder; it is there only once the run is whole
    figure: bool = False  #: whether one is drawn
    version: str = field(default_factory=running_version)  #: of the program that wants it

    def by_files(self) -> Job:
        """The same for a worker that does not see the caller's folders."""
        return replace(self, keep="files", folder="") if self.keep == "folder" else self


@dataclass(frozen=True)
class TrialResult:
    """What a trial came to: its summary, the processor it ran on, and its files where they are wanted."""

    summary: dict[str, Any]
    processor: str
    files: dict[str, bytes] = field(default_factory=dict)


def run_trial(job: Job) -> TrialResult:
    """Run a trial in virtual time, or on a simulated rig in real time.

    Raises:
        OtherVersionError: this worker has another version.
        OSError: the record cannot be written.
    """
    from hil.app.run import run, run_experiment  # compiles kernels, or loads them

    if not same_commit(job.version, running_version()):
        raise OtherVersionError(
            f"a worker has rover-hil {running_version()}; allowed: {job.version}, as here: install the same everywhere"
        )
    config = Config.model_validate_json(job.config)
    if config.rig == "real":
        raise ValueError("run_trial: found rig: real; allowed: a simulated rig; a real one has an operator")
    made = partial(run_experiment, config, progress=lambda _: None, figure=job.figure, one_of_many=True)
    with _ONE_AT_A_TIME, _collecting_at_the_end():
        if job.keep == "summary":
            return TrialResult(run(config, timed=False).summary, processor_name())
        if job.keep == "folder":
            place = Path(job.folder)
            unfinished = place.with_name(f"{place.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed
            unfinished.mkdir(parents=True)
            summary = made(unfinished).summary
            shutil.rmtree(place, ignore_errors=True)  # of one that was killed before it could say so
            unfinished.rename(place)
            return TrialResult(summary, processor_name())
        with tempfile.TemporaryDirectory(prefix="hil-trial-") as temporary:
            folder = Path(temporary)
            summary = made(folder).summary
            files = {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}
            return TrialResult(summary, processor_name(), files)


@contextmanager
def _collecting_at_the_end() -> Iterator[None]:
    """Python's collector looks at what a trial made once, at its end: at each few hundred objects it took a tenth.

    A tick leaves nothing for it, so memory does not grow meanwhile.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect(0)  # all that is new is still of the youngest generation
        if on:
            gc.enable()


def warm(configs: tuple[str, ...]) -> None:
    """Compile, or load, every kernel that trials of these configs (JSON) need."""
    from hil.app.warm_up import warm_up

    with _ONE_AT_A_TIME:
        for text in configs:
            warm_up(Rig(Config.model_validate_json(text)))
