"""`hil.run`: a run of the experiment that a config names."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hil.api.reporting import Progress, lines_to
from hil.api.result import Result
from hil.app.run import run_experiment, run_in_virtual_time
from hil.app.warm_up import warm_up
from hil.config import Config
from hil.config.rig import Rig
from hil.experiments.registry import experiment_named
from hil.recording.run_folder import run_folder


def run(config: Config, progress: Progress = False) -> Result:
    """Run the experiment that a config names, on the rig that it names; the same as the command `hil run`.

    The record of a simulated rig is in a temporary folder until `Result.save` keeps it. That of a real rig is at once
    in `runs/<UTC>_<config>_<experiment>/`: nobody can make such a run again. A real rig arms and moves as soon as its
    checks pass, as with `hil run`; `hil.operate` waits for an operator.

    Args:
        config: of the rig and the experiment.
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
            outcome = run_in_virtual_time(config, folder, report, figure=False)
        else:
            outcome = run_experiment(config, folder, report, figure=config.rig == "real")
    return outcome.summary, outcome.exit_code
