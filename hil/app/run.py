"""One run of an experiment, from the config to its files, or without any."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from drivers.interfaces import DeviceError
from hil.analysis.recompute import summarise_afterwards
from hil.app.backends import RealtimeBackend, SimulatedRigLateError
from hil.app.console import Console
from hil.app.lockstep_backend import LockstepBackend
from hil.app.resident import Resident, RunOutcome, exit_code
from hil.app.run_loop import THIS_COMPUTER, Backend, Platform, Signals, simulated_rig_io
from hil.app.warm_up import warm_up
from hil.config import Config
from hil.config.rig import Rig
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.registry import build_cycle, summarise
from hil.experiments.summary import FILE_NAME as SUMMARY
from hil.ipc.run_memory import FOLDER
from hil.recording import FILE_NAME, read_trial
from hil.recording.sinks import MemorySink
from hil.residuals.judgement import mark_events
from hil.runtime.loop import LockstepClock, Loop
from hil.simulator.ground_truth import GroundTruth
from hil.simulator.simulated_rig import build_simulated_rig

Progress = Callable[[str], None]
T = TypeVar("T")
# How often a run on a simulated rig may begin, and the pause before it begins again [s], longer each time.
STARTS, PAUSE_S = 3, 1.0


@dataclass(frozen=True)
class RunResult:
    """What a run without a folder comes to.

    Attributes:
        exit_code: as the command's: 0 done, 1 fault or abort, 3 arming refused.
        summary: as summary.json has it.
        ticks: rows of `tick_dtype`, one a tick.
        events: rows of `EVENT`.
        samples: of the force sensors, as `FinishedRun` has them.
    """

    exit_code: int
    summary: Summary
    ticks: NDArray[np.void]
    events: NDArray[np.void]
    samples: tuple[NDArray[np.int64], NDArray[np.float64]] | None


def open_backend(
    rig: Rig,
    folder: Path,
    progress: Progress,
    stack: ExitStack,
    endpoints: Path | None = None,
    console: Console | None = None,
    *,
    attended: bool = False,
    one_of_many: bool = False,
) -> Backend:
    """A rig that is ready to run; `stack` closes it.

    Args:
        rig: of the config; the experiment is in it.
        folder: of the run; exists and is empty.
        progress: called with what is going on, a line at a time.
        stack: closes the rig.
        endpoints: of a simulated rig at the protocol level that runs already (`hil sim --endpoints`).
        console: of the operator, if there is one in another process.
        attended: an operator arms and starts the experiment.
        one_of_many: as `LockstepBackend` takes it.

    Raises:
        ConfigError: there is no experiment of that name.
        DeviceError: a device could not be opened, or a worker could not begin.
    """
    clock = rig.config.clock
    if endpoints and rig.kind != "simulated_wire":
        raise DeviceError(f"--endpoints {endpoints}: found rig: {rig.kind}; allowed: --set rig=simulated_wire")
    if endpoints and clock == "lockstep":
        raise DeviceError(f"--endpoints {endpoints}: found clock: lockstep; allowed: --clock realtime")
    if rig.kind == "simulated":
        if clock == "lockstep":
            return LockstepBackend(
                rig, folder, progress, stack, attended=attended, console=console, one_of_many=one_of_many
            )
        platform = THIS_COMPUTER
    else:
        platform = _platform(rig, progress, stack, console)
    at_last = stack.enter_context(ExitStack())  # after all that RealtimeBackend itself has closed
    backend = RealtimeBackend(
        rig, folder, progress, stack, attended=attended, console=console, endpoints=endpoints, platform=platform
    )
    at_last.callback(backend.shared.close)
    return backend


def _platform(rig: Rig, progress: Progress, stack: ExitStack, console: Console | None) -> Platform:
    """This computer, or one in virtual time with a simulated rig, which `stack` closes."""
    if rig.config.clock == "realtime":
        return THIS_COMPUTER
    from hil.app.virtual import VirtualComputer  # simulated devices, which no other rig needs here

    warm_up(rig, progress)
    progress("settling the rover on its ground")
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hil-sim-")))
    computer = VirtualComputer(rig, folder, _never_silent, console.host if console else None)
    stack.callback(computer.close)
    return computer.platform


def _never_silent() -> None:
    """The watchdog's means against a loop that hangs. Virtual time stands still then, so no loop is silent."""
    raise RuntimeError("the loop was silent for the watchdog's time, in virtual time: this is a defect of the program")


def run_experiment(
    config: Config,
    folder: Path,
    progress: Progress,
    endpoints: Path | None = None,
    *,
    figure: bool = True,
    console: Console | None = None,
    one_of_many: bool = False,
) -> RunOutcome:
    """Run the experiment that the config names; leave trial.h5, summary.json and its figure in `folder`.

    A run that a simulated device kept from beginning, because it was late itself, begins again: while a dozen processes
    start on a busy machine, one of them may not get to run in time. A real rig ends the run: there nothing is excused.

    Args: as `open_backend`, and
        figure: whether one is drawn.
        one_of_many: in virtual time, kernels are warm, signals are the caller's, and what is killed is made again.

    Raises:
        ConfigError: there is no experiment of that name.
        DeviceError: a device could not be opened, or a worker could not begin.
        NotArmedError: without real-time rights, this machine does not hold the loop's rate.
        OSError: the record cannot be written.
    """
    rig = Rig(config)
    if one_of_many and config.clock == "lockstep":
        with ExitStack() as stack:
            backend = open_backend(rig, folder, progress, stack, one_of_many=True)
            return Resident(rig, backend, Signals(), progress).run(folder, figure=figure)
    return run_repeatedly(rig, 1, lambda _: folder, progress, endpoints, figure=figure, console=console)


def run_repeatedly(
    rig: Rig,
    count: int,
    folder_of: Callable[[int], Path],
    progress: Progress,
    endpoints: Path | None = None,
    go_on: Callable[[RunOutcome], bool] = lambda _: True,
    *,
    figure: bool = True,
    console: Console | None = None,
) -> RunOutcome:
    """Run the experiment so many times on a rig that is opened once (`Resident`).

    A run that does not end well is the last: its fault is latched, and nobody here is an operator who could clear it.
    So is one that a signal was too late to end: it is concluded, and whoever handles signals around it gets the signal.

    Args: as `open_backend`, and
        count: runs wanted, 1 at least.
        folder_of: makes the folder of a run, counted from 0, when it is needed.
        go_on: called with how a run ended before another; whether that shall be made. The rig is held meanwhile.
        figure: whether one is drawn of each run.

    Raises: as `run_experiment`.
    """
    begun, done = [folder_of(0)], list[RunOutcome]()

    def make(resident: Resident) -> None:
        done.append(resident.run(begun[-1], figure=figure))

    def begin() -> None:
        (begun[0] / FILE_NAME).unlink(missing_ok=True)  # a record of nothing, of the start before
        with Signals() as signals, ExitStack() as stack:
            backend = open_backend(rig, begun[0], progress, stack, endpoints, console)
            resident = Resident(rig, backend, signals, progress)
            make(resident)
            for number in range(1, count):
                signals.release()  # no run to be ended in Safe: the rig is
                if done[-1].exit_code or signals.missed or not go_on(done[-1]):
                    break
                begun.append(folder_of(number))
                resident.next_run(begun[-1])
                make(resident)
        signals.pass_on()

    try:
        begin_again(begin, progress, lambda: not done)
    except BaseException as error:
        summarise_what_there_is(begun[-1], error, progress)
        raise
    return done[-1]


def begin_again(begin: Callable[[], T], progress: Progress, may: Callable[[], bool] = lambda: True) -> T:
    """Open a rig, and once more where a simulated device was late itself; it may begin STARTS times.

    Args:
        begin: opens the rig, and closes it if that fails.
        progress: called when it begins again.
        may: whether it may begin again, since nothing has run yet.

    Raises: as `begin`.
    """
    for start in range(1, STARTS):
        try:
            return begin()
        except SimulatedRigLateError as error:
            if not may():
                raise
            progress(f"{error}; nothing was driven, starting again ({start + 1} of {STARTS})")
        time.sleep(start * PAUSE_S)
    return begin()


def summarise_what_there_is(folder: Path, error: BaseException, progress: Progress) -> None:
    """A run that something ended early has its summary, too, once its record was begun."""
    if not (folder / FILE_NAME).is_file() or (folder / SUMMARY).is_file() or (folder / FOLDER).is_dir():
        return  # nothing was begun, or all is done, or `hil recover` makes record and summary
    try:
        summarise_afterwards(folder, f"ended early: {str(error) or type(error).__name__}")
    except Exception as second:  # what ended the run matters more
        progress(f"no summary could be made of what was recorded: {second}")


def run(config: Config, *, timed: bool = True) -> RunResult:
    """The same as a pure function: no folder, no figure, no telemetry, nothing said; for sweeps and comparisons.

    In lockstep everything stays in memory; where drivers run in workers, their files lie in a temporary folder.

    Args:
        config: of the rig and the experiment.
        timed: the summary says how long ticks took; in lockstep they take less if nobody wants to know.

    Raises:
        ConfigError: there is no experiment of that name.
        DeviceError: a device could not be opened, or a worker could not begin.

    Example:
        >>> from hil.config import load_config
        >>> result = run(load_config("sim_impact", ["experiment=jog", "jog.seconds=0.3"]))
        >>> result.exit_code, result.summary["accepted"], result.summary["motion"][:10]
        (0, True, 'front_left')
        >>> len(result.ticks) == result.summary["loop"]["ticks"]
        True
    """
    if config.clock == "realtime" or config.rig != "simulated":
        quiet = config.replace({"telemetry.endpoint": ""})
        with tempfile.TemporaryDirectory(prefix="hil-run-") as folder:
            outcome = run_experiment(quiet, Path(folder), progress=lambda _: None, figure=False)
            record = read_trial(Path(folder), trusted=True)
        kept = (record.daq_t_ns, record.raw) if config.record.sensors == "all" else None
        return RunResult(outcome.exit_code, outcome.summary, record.tick, record.events, kept)
    rig, sink = Rig(config), MemorySink(config.layout)
    simulated_rig = build_simulated_rig(rig)
    rig_io = simulated_rig_io(rig.layout, simulated_rig)
    cycle = build_cycle(rig, rig_io, sink, None, timed=timed)
    loop = Loop(LockstepClock(simulated_rig, config.loop.rate_hz), cycle)
    rig_io.open()
    began = time.perf_counter()
    loop.run()
    wall_s = time.perf_counter() - began
    rig_io.close()
    ground_truth = GroundTruth.of(simulated_rig.plant)
    for row in ground_truth.events(config.loop.rate_hz):
        sink.event(row)
    samples = sink.samples("daq") if config.record.sensors == "all" else None
    finished = FinishedRun(
        rig, cycle, loop.clock, ground_truth, sink.ticks, sink.timings, sink.events, None, None, wall_s,
        samples, sink.samples("loads"),
    )  # fmt: skip
    summary = summarise(finished)
    for row in mark_events(summary, *sink.ticks[["tick", "t_ns"]][-1].tolist()):
        sink.event(row)
    return RunResult(exit_code(finished), summary, sink.ticks, sink.events, samples)
