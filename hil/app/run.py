"""One run of an experiment, from the config to its files, or without any."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drivers.interfaces import DeviceError
from hil.app.build import MakeExperiment, build_cycle, simulated_devices
from hil.app.rigs import LockstepRig, RealtimeRig, Rig
from hil.app.runs import Signals, run_loop
from hil.app.simulated import build_far_end
from hil.clock import LockstepClock
from hil.config import Config
from hil.experiments.base import Finished, Summary
from hil.experiments.registry import experiment_type
from hil.experiments.summary import run_summary, write_summary
from hil.journal import MemoryJournal
from hil.loop import Loop
from hil.record import read_trial

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the exit status of the command, and the summary as written."""

    exit_code: int
    summary: Summary


@dataclass(frozen=True)
class RunResult:
    """What a run without a folder comes to.

    Attributes:
        exit_code: as the command's: 0 done, 1 fault or abort, 3 arming refused.
        summary: as summary.json has it.
        ticks: rows of `tick_dtype`, one a tick.
        events: rows of `EVENT`.
    """

    exit_code: int
    summary: Summary
    ticks: NDArray[np.void]
    events: NDArray[np.void]


def open_rig(
    config: Config,
    folder: Path,
    say: Say,
    stack: ExitStack,
    make: MakeExperiment | None = None,
    endpoints: Path | None = None,
) -> Rig:
    """A rig that is ready to run; `stack` closes it.

    Args:
        config: of the rig and the experiment.
        folder: of the run; exists and is empty.
        say: told what is going on, a line at a time.
        stack: closes the rig.
        make: makes the experiment; by default the one that the config names.
        endpoints: of a simulated rig at the wire that runs already (`hil sim --endpoints`).

    Raises:
        ConfigError: there is no experiment of that name.
        DeviceError: a device could not be opened, or a worker could not begin.
    """
    make = make or experiment_type(config).make
    if endpoints and config.rig != "simulated_wire":
        raise DeviceError(f"--endpoints {endpoints}: found rig: {config.rig}; allowed: with rig: simulated_wire")
    if config.clock == "lockstep":
        return LockstepRig(config, folder, say, stack, make)
    return RealtimeRig(config, folder, say, stack, make, endpoints)


def run_experiment(config: Config, folder: Path, say: Say, endpoints: Path | None = None) -> Outcome:
    """Run the experiment that the config names; leave trial.h5, summary.json and its figure in `folder`.

    Args: as `open_rig`.

    Raises:
        ConfigError: there is no experiment of that name.
        DeviceError: a device could not be opened, or a worker could not begin.
        NotArmedError: without real-time rights, this machine does not hold the loop's rate.
    """
    kind = experiment_type(config)
    with Signals() as signals, ExitStack() as stack:
        rig = open_rig(config, folder, say, stack, kind.make, endpoints)
        what = f"{kind.name}, {kind.headline(config)}, {config.loop.rate_hz} Hz, {config.clock}"
        wall_s = run_loop(rig, config, signals, say, what)
        record = read_trial(folder)
        finished = Finished(
            config, rig.cycle, rig.loop.clock, rig.truth, record.tick, record.timing, record.events,
            rig.far_end_loop(), rig.links(), wall_s,
        )  # fmt: skip
        summary = summarise(finished)
        write_summary(folder, summary)
        rig.publish(summary)
    if kind.figure:
        say(f"drawing {kind.figure}")
        kind.draw(record, summary, folder / kind.figure)
    return Outcome(exit_code(finished), summary)


def run(config: Config) -> RunResult:
    """The same as a pure function: no folder, no figure, no telemetry, nothing said; for sweeps and comparisons.

    In lockstep everything stays in memory; with the realtime clock the workers' files lie in a temporary folder.

    Args:
        config: of the rig and the experiment.

    Raises:
        ConfigError: there is no experiment of that name.
        DeviceError: a device could not be opened, or a worker could not begin.
    """
    if config.clock == "realtime":
        quiet = config.model_copy(update={"telemetry": config.telemetry.model_copy(update={"endpoint": ""})})
        with tempfile.TemporaryDirectory(prefix="hil-run-") as folder:
            outcome = run_experiment(quiet, Path(folder), say=lambda _: None)
            record = read_trial(Path(folder))
        return RunResult(outcome.exit_code, outcome.summary, record.tick, record.events)
    far_end, journal = build_far_end(config), MemoryJournal(config.layout)
    devices = simulated_devices(config, far_end)
    cycle = build_cycle(config, devices, journal, None, experiment_type(config).make)
    loop = Loop(LockstepClock(far_end, config.loop.rate_hz), cycle)
    devices.open()
    began = time.perf_counter()
    loop.run()
    wall_s = time.perf_counter() - began
    devices.close()
    finished = Finished(
        config, cycle, loop.clock, far_end.plant, journal.ticks, journal.timings, journal.events, None, None, wall_s
    )  # fmt: skip
    return RunResult(exit_code(finished), summarise(finished), journal.ticks, journal.events)


def summarise(run: Finished) -> Summary:
    """The whole summary: the experiment's part, and what every run has."""
    return {**experiment_type(run.config).summarise(run), **run_summary(run)}


def exit_code(run: Finished) -> int:
    """The exit status of a run's command (docs/reference.md)."""
    experiment = run.experiment
    if experiment.done and not run.cycle.safety.safe:
        return 0
    return 3 if experiment.refused else 1
