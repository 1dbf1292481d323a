"""Compiles every kernel of a tick before it is needed, in two processes if the cache is empty, and reports this."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import typer

from hil.app.run_loop import simulated_rig_io
from hil.config import Config, load_config
from hil.config.rig import Rig, kernel_kind
from hil.estimation.estimator import Estimator
from hil.estimation.observer import make_twin
from hil.experiments.registry import experiment_named
from hil.messages.stages import Samples
from hil.safety.equilibrium_checks import equilibrium_checks
from hil.simulator.simulated_rig import build_simulated_rig, warm_up_simulated_rig
from models.contact.constraints import effective_kinetic_energy_on_ground, find_active, make_rigid_ground
from models.kernels.compiled import compile_for, on_compiling
from models.plant import Plant
from models.rover.dynamics import fill_mass_matrix, make_work
from models.vehicle.step import address_of_run, step_parts

Progress = Callable[[str], None]
# Shortest time between two progress lines [s].
REPORT_EVERY_S = 2.0
# Number of functions that the two processes compile for a trial on soil, including numpy functions in kernels.
ABOUT = 234
# Kinds of configs whose kernels this process has run.
_WARM: set[str] = set()


def report_compiling(progress: Progress) -> _Progress:
    """From now on, report which kernel is being compiled; kernels from the cache are not reported."""
    reporter = _Progress(progress)
    on_compiling(reporter)
    return reporter


class _Progress:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._count, self._began, self._reported = 0, 0.0, -REPORT_EVERY_S

    def __call__(self, name: str) -> None:
        now = time.monotonic()
        if not self._count:
            self._began = now
        self._count += 1
        if now - self._reported >= REPORT_EVERY_S:
            self._reported = now
            self._progress(f"compiling kernels: number {self._count} after {now - self._began:.0f} s, {name}")

    def done(self) -> None:
        """All that was needed is there: without this line the last number looks like one that compiling stopped at."""
        if self._count:
            took_s = time.monotonic() - self._began
            self._progress(f"all kernels are compiled: {self._count} by this process, in {took_s:.0f} s")


def warm_up(rig: Rig, progress: Progress = lambda _: None) -> None:
    """Run every kernel once, so that no tick and no worker has to compile one, and report what is compiled.

    Nothing is run where this process has done so already for a config with the same kernels.
    """
    kind = kernel_kind(rig.config)
    if kind in _WARM:
        return
    reporter = report_compiling(progress)
    try:
        with without_collector():
            _run_all(rig, progress)
        reporter.done()
    finally:
        on_compiling(None)  # whoever received it may be gone by the next kernel
    _WARM.add(kind)


def _run_all(rig: Rig, progress: Progress) -> None:
    if not _cached():
        progress(f"compiling some {ABOUT} kernels in two processes, once for this version")
        with _second_process(rig.config.model_dump_json()):
            _compile_step(rig)
            progress("waiting for the kernels of the second process")
    samples = _run_rig(rig)
    Estimator(rig).estimate(samples)
    make_twin(rig).warm_up()
    _ = experiment_named(rig.config.experiment)(rig, lambda *_: []).fixed_checks


def _cached() -> bool:
    """Whether the cache has kernels of this source, which all its clones share."""
    folder = Path(cast(Any, fill_mass_matrix).inlined.stats.cache_path)
    return next(folder.glob("*.nbi"), None) is not None


@contextmanager
def without_collector() -> Iterator[None]:
    """Compiling makes millions of objects that stay; Python's collector, which looks through them, takes a fifth."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


@contextmanager
def _second_process(config_json: str) -> Iterator[None]:
    """Compile the rest in a second process. If that fails, this process compiles it when needed."""
    command = [sys.executable, "-m", "hil.processes", "warm_up"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdin
        process.stdin.write(config_json)
        process.stdin.close()
        try:
            yield
        except BaseException:
            process.kill()
            raise


def _compile_step(rig: Rig) -> None:
    """The kernels of a step of the vehicle, with ground and obstacle: half of all kernels, and what settles it."""
    _, vehicle, state = rig.nominal.assemble()
    for function, arguments in step_parts(vehicle, state):
        compile_for(function, *arguments)
    address_of_run(vehicle, state)


def _compile_others(rig: Rig) -> None:
    """All but the step: channels, T_c, statics, plant and twin, which call the step at its address."""
    unsettled = replace(rig.nominal, settles=False)  # to settle takes steps
    rover = unsettled.make_rover()
    # first what needs no kinematics, which the first process compiles at the same time; it needs this one next
    compile_for(fill_mass_matrix, rover.chain, make_work(rover.chain))
    Estimator(rig).warm_up()
    if unsettled.obstacle is not None:
        compile_for(find_active, rover.chain, make_rigid_ground(rover), make_work(rover.chain))
        effective_kinetic_energy_on_ground(rover, rover.neutral(), np.zeros(rover.nv), unsettled.obstacle.angle)
    equilibrium_checks(rig)
    make_twin(rig, unsettled).compile()
    Plant(unsettled, np.random.default_rng()).compile()


def _run_rig(rig: Rig) -> Samples:
    """Run the simulated rig for two blocks. Returns its samples."""
    simulated_rig = build_simulated_rig(rig)
    devices = simulated_rig_io(rig.layout, simulated_rig)
    devices.open()
    samples = devices.sample(warm_up_simulated_rig(rig, simulated_rig))
    devices.close()
    return samples


def compile_kernels(config: str = "") -> None:
    """Compile the kernels of a config; without one, those of a second process, whose config is the standard input."""
    if config:
        warm_up(Rig(load_config(config)), typer.echo)
        return
    with without_collector():
        _compile_others(Rig(Config.model_validate_json(sys.stdin.read())))
