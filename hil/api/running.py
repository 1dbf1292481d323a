"""`hil.run`: a run of the experiment that a config names.

`hil.load`: a checked config.

What `progress` of `hil.run` and `hil.sweep` takes: lines to a terminal, to a notebook, to a function, or nowhere.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeAlias

from hil.api.notebook import shown_in_cell
from hil.api.result import Result
from hil.app.run import run_experiment
from hil.app.warm_up import warm_up
from hil.config import Config, load_config
from hil.config.rig import Rig
from hil.experiments.registry import experiment_named
from hil.recording.run_folder import run_folder


def load(source: str | Path, values: Mapping[str, Any] | None = None) -> Config:
    """Read and check a config.

    Args:
        source: path of a YAML file, or the name of a shipped config (`hil configs` lists them); a file comes first.
        values: replace those of the file, by dotted key: {"trial.angle_deg": 70}. A whole section may be a mapping:
            {"trial": {"angle_deg": 70}}; the keys that it does not name stay as they are, and {} turns on a section
            that is null. Numbers may be of numpy.

    Raises:
        ConfigError: with all problems at once: key, value found, values allowed.

    Example:
        >>> import hil
        >>> config = hil.load("sim_impact", {"trial.angle_deg": 70})
        >>> config.trial.angle_deg
        70.0
        >>> hil.load("sim_impact", {"trial.angle_deg": 500})
        Traceback (most recent call last):
            ...
        hil.config.problems.ConfigError: config sim_impact: 1 problem
          trial.angle_deg: found 500; allowed: a number 10 to 90
    """
    return load_config(source, {} if values is None else values)


Progress: TypeAlias = bool | Callable[[str], object]


@contextmanager
def lines_to(progress: Progress) -> Iterator[Callable[[str], None]]:
    """Takes what is going on, a line at a time.

    Args:
        progress: False: nothing is said; True: lines on standard error, in a notebook one line that changes; or a
            function that is called with each line.
    """
    if callable(progress):
        yield lambda line: _void(progress(line))
    elif not progress:
        yield lambda _: None
    elif (cell := shown_in_cell({"text/plain": ""}, raw=True)) is not None:
        try:
            yield lambda line: cell.update({"text/plain": line}, raw=True)
        finally:
            cell.update({"text/plain": ""}, raw=True)
    else:
        yield _to_terminal


def _to_terminal(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _void(_: object) -> None:
    """Whatever a function of the caller returns."""


def run(config: Config | str, progress: Progress = False) -> Result:
    """Run the experiment that a config names, on the rig that it names; the same as the command `hil run`.

    The record of a simulated rig is in a temporary folder until `Result.save` keeps it. That of a real rig is at once
    in `runs/<UTC>_<config>_<experiment>/`: nobody can make such a run again. A real rig arms and moves as soon as its
    checks pass, as with `hil run`; `hil.operate` waits for an operator.

    Args:
        config: of the rig and the experiment, or the name or file of one (`hil.load`).
        progress: what to do with lines about what is going on, as kernels being compiled: True: print them; False:
            nothing; or a function that is called with each.

    Raises:
        ConfigError: there is no experiment of that name.
        DeviceError: a device could not be opened, or a worker could not begin.
        NotArmedError: without real-time rights, this machine does not hold the loop's rate.
        OSError: the record cannot be written.

    Example:
        >>> import hil
        >>> result = hil.run(hil.load("sim_impact", {"experiment": "jog", "jog.seconds": 0.3}))
        >>> result.exit_code, result.summary["accepted"], len(result.ticks) == result.summary["loop"]["ticks"]
        (0, True, True)
    """
    config = load_config(config) if isinstance(config, str) else config
    if config.rig == "real":
        folder = run_folder(None, config.name, experiment_named(config.experiment).label(config))
        return Result(folder, *_run_in(folder, config, progress))
    experiment_named(config.experiment)  # before there is a folder
    folder = Path(mkdtemp(prefix="hil-run-"))
    try:
        return Result(folder, *_run_in(folder, config, progress), temporary=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _run_in(folder: Path, config: Config, progress: Progress) -> tuple[dict[str, Any], int]:
    """Summary and exit status of a run with its files."""
    with lines_to(progress) as report:
        if config.clock == "lockstep":
            warm_up(Rig(config), report)
        outcome = run_experiment(config, folder, report, figure=config.rig == "real", one_of_many=True)
    return outcome.summary, outcome.exit_code
