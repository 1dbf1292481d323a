"""Experiments by name, and the stages of a tick that they are put together with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drivers.extensions import EXPERIMENTS, ExtensionError, installed_names, load_installed
from hil.config import ConfigError, Problem
from hil.config.files import replacing
from hil.config.rig import Rig
from hil.config.schema.sensors import CameraConfig, TriggerLineConfig
from hil.control.wheel_speed import CameraTriggers, Controller, TriggerLine
from hil.estimation.estimator import Estimator
from hil.estimation.observer import make_twin
from hil.experiments.base import ARMED, DONE, ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.capture.experiment import CaptureExperiment
from hil.experiments.crossing.experiment import CrossingExperiment
from hil.experiments.drive import DriveExperiment
from hil.experiments.estimation_summary import estimation_summary, soil_estimate_summary
from hil.experiments.figure_form import FigureForm
from hil.experiments.follow.experiment import FollowExperiment
from hil.experiments.impact.experiment import ImpactExperiment
from hil.experiments.jog import JogExperiment
from hil.experiments.mobility import mobility_summary
from hil.experiments.motion_claims import truth_check
from hil.experiments.normal_force.figure import NormalForceExperiment
from hil.experiments.sinkage import SinkageExperiment
from hil.experiments.stimulus import StimulusExperiment
from hil.experiments.summary import finite, run_summary, truth_reasons
from hil.experiments.throttle import DrawbarExperiment, SlopeExperiment
from hil.experiments.walk.programme import WalkExperiment
from hil.messages.fault import Check, Event
from hil.messages.stages import Estimate, Samples
from hil.recording.sinks import RecordSink, TickLogger
from hil.residuals.evidence import RunEvidence
from hil.residuals.judgement import residual_summary
from hil.runtime.loop import Cycle
from hil.runtime.rig_io import RigIO
from hil.safety.arming import arming_checks, calibration_checks, cylinder_checks, disk_check, load_checks, today
from hil.safety.device_monitors import MeasuredMonitor
from hil.safety.equilibrium_checks import rest_checks, rest_share
from hil.safety.limiter import Limiter
from hil.safety.monitor import SafetyMonitor

if TYPE_CHECKING:
    from hil.recording import OpenRecord


BUILT_IN: tuple[type[Experiment], ...] = (
    ImpactExperiment, JogExperiment, DriveExperiment, FollowExperiment, StimulusExperiment, NormalForceExperiment,
    DrawbarExperiment, SlopeExperiment, WalkExperiment, SinkageExperiment, CrossingExperiment,
    CaptureExperiment,
)  # fmt: skip


def experiment_names() -> tuple[str, ...]:
    """All that can stand under `experiment` in a config."""
    return (*(kind.name for kind in BUILT_IN), *installed_names(EXPERIMENTS))


def experiment_named(name: str) -> type[Experiment]:
    """The experiment of that name. Raises ConfigError: there is none, or its package is broken."""
    for kind in BUILT_IN:
        if kind.name == name:
            return kind
    allowed = f"one of {', '.join(experiment_names())}"
    try:
        for kind in _installed(name):
            return kind
    except ExtensionError as error:
        allowed = str(error)
    raise ConfigError("(experiment)", [Problem("experiment", repr(name), allowed)])


def main_values(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The numbers that a verdict on a run, and a list of runs, show of its summary: name, value and unit."""
    try:
        numbers = experiment_named(str(summary.get("experiment", "impact"))).main_numbers()
    except ConfigError:  # of a package that is not installed here
        return []
    return [
        (name, f"{value:.{digits}f}", unit)
        for key, name, unit, digits in numbers
        if isinstance(value := summary.get(key), int | float)
    ]


def broken_experiments() -> Iterator[str]:
    """A sentence for each installed package that does not bring the experiment it says; all of them are imported."""
    for name in installed_names(EXPERIMENTS):
        try:
            list(_installed(name))
        except ExtensionError as error:
            yield str(error)


def _installed(name: str) -> Iterator[type[Experiment]]:
    """Experiments that installed packages bring under that name. Raises ExtensionError: one brings something else."""
    for kind, package in load_installed(EXPERIMENTS, name):
        if not (isinstance(kind, type) and issubclass(kind, Experiment) and getattr(kind, "name", None) == name):
            needed = f"a class that derives from hil.experiments.base.Experiment, with the name {name}"
            raise ExtensionError(f"{package} brings {kind!r}; needed: {needed}")
        yield kind


def summarise(run: FinishedRun) -> Summary:
    """The whole summary but for its digests: the experiment's part, what every run has, and its residuals.

    Neither residuals nor what a simulated rig knows depend on the experiment, so they count here, whatever it is. A
    number of the experiment that is not finite, as the mean of a phase that was never reached, is None.
    """
    own: Summary = _known(run.experiment.summarise(run))
    compared, false = truth_check(run, run.experiment.claims(run, own))
    summary = {
        **own,
        **compared,
        **estimation_summary(run),
        **soil_estimate_summary(run),
        **mobility_summary(run),
        **run_summary(run),
    }
    residuals, found = residual_summary(RunEvidence(run.config, run.ticks, summary))
    false += run.source.reasons() if run.experiment.done else []
    more = [*truth_reasons(run.ground_truth), *false, *(one.sentence() for one in found)]
    reasons = [*summary["reasons"], *more]
    return {**summary, "accepted": summary["accepted"] and not more, "reasons": reasons, "residuals": residuals}


def _known(value: Any) -> Any:
    """The value as summary.json can hold it: numbers of numpy as plain ones, those that are not finite as None."""
    if isinstance(value, Mapping):
        return {key: _known(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_known(one) for one in value]
    if isinstance(value, np.generic | np.ndarray):
        return _known(value.tolist())
    return finite(value) if isinstance(value, float) else value


def draw(
    kind: type[Experiment],
    record: OpenRecord,
    summary: Summary,
    folder: Path,
    form: FigureForm = FigureForm(),  # noqa: B008
) -> Path | None:
    """Draw the figure of a run; the one that is there stays until the new one is whole.

    Args:
        kind: the experiment.
        record: of the run.
        summary: as in `summary.json`.
        folder: where it goes.
        form: its width and format, and why record and summary are not to be trusted.

    Returns:
        Where it is; None: an experiment of this kind has no figure.
    """
    if not kind.figure:
        return None
    path = form.path(folder, Path(kind.figure).stem)
    with replacing(path) as unfinished:
        kind.draw(record, summary, unfinished, form)
    return path


MakeExperiment = Callable[[Rig, ArmingChecks], Experiment]


def build_cycle(
    rig: Rig,
    devices: RigIO,
    record_sink: RecordSink,
    folder: Path | None,
    *,
    make: MakeExperiment | None = None,
    attended: bool = False,
    latched: Sequence[Event] = (),
    timed: bool = True,
) -> Cycle:
    """The stages of a tick; kernels compile here.

    Args:
        rig: of the run.
        devices: of it.
        record_sink: takes the record.
        folder: where it goes; arming looks at the room there. None: nowhere, as in a replay.
        make: makes the experiment; by default the one that the config names.
        attended: an operator arms and starts it.
        latched: faults of an earlier run on this rig that nobody has cleared.
        timed: how long the stages of a tick take is recorded.

    Raises:
        ConfigError: there is no experiment of that name.
    """
    tick_logger = TickLogger(record_sink, rig.layout, timed=timed)
    safety = SafetyMonitor(rig, tick_logger.log_fault, latched)
    for event in latched:
        tick_logger.log_latched(event)

    twin = make_twin(rig)
    limiter, measured = Limiter(rig, safety), MeasuredMonitor(rig.layout, rig.limits)

    limited = folder is not None and rig.limits.calibration_days is not None
    dated = calibration_checks(rig, today()) if limited else []

    def checks(samples: Samples, estimate: Estimate) -> list[Check]:
        found = arming_checks(rig, samples, estimate, safety.faults)
        found += [*load_checks(rig.limits, samples, estimate, twin.standing_N), *cylinder_checks(rig)]
        found += [*rest_checks(twin.standing_N, twin.weight_N, rest_share(rig)), *measured.arming_checks(samples)]
        found += safety.instruments.arming_checks(samples)
        return found if folder is None else [*found, *dated, disk_check(folder)]

    make = make or partial(experiment_named(rig.config.experiment), attended=attended)
    experiment = make(rig, checks)
    _ = experiment.fixed_checks  # made now: arming has one tick
    twin.warm_up()  # what is looked up once is not looked up in a tick
    controller = with_triggers(rig.config.camera, experiment.controller())
    return Cycle(devices, Estimator(rig), twin, safety, experiment, controller, limiter, tick_logger)


def with_triggers(camera: CameraConfig | None, controller: Controller) -> Controller:
    """The controller, with the cameras' trigger lines where there are any."""
    if camera is None or not camera.lines:
        return controller
    own = _trigger_line(camera.trigger) if camera.trigger else None
    return CameraTriggers(controller, own, [_trigger_line(one) for one in (camera.triggers or {}).values()])


def _trigger_line(line: TriggerLineConfig) -> TriggerLine:
    for_ns = None if line.for_s is None else round(line.for_s * 1e9)
    return TriggerLine(range(ARMED, DONE) if line.when == "armed" else None, for_ns)
