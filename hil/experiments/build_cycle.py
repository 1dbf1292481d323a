"""Puts the stages of a tick together from a config; a run does so, and a replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from hil.config.rig import Rig
from hil.config.schema.sensors import CameraConfig
from hil.control.camera_trigger import CameraTrigger
from hil.control.wheel_speed import Controller
from hil.estimation.estimator import Estimator
from hil.estimation.observer import make_twin
from hil.experiments.base import ARMED, DONE, ArmingChecks, Experiment
from hil.experiments.registry import experiment_named
from hil.messages.check import Check
from hil.messages.fault import Event
from hil.messages.stages import Estimate, Samples
from hil.recording.sinks import RecordSink, TickLogger
from hil.runtime.loop import Cycle
from hil.runtime.rig_io import RigIO
from hil.safety.arming import arming_checks, calibration_checks, cylinder_checks, disk_check, load_checks, today
from hil.safety.device_monitors import MeasuredMonitor
from hil.safety.equilibrium_checks import rest_checks, rest_share
from hil.safety.limiter import Limiter
from hil.safety.monitor import SafetyMonitor

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
    controller = with_trigger(rig.config.camera, experiment.controller())
    return Cycle(devices, Estimator(rig), twin, safety, experiment, controller, limiter, tick_logger)


def with_trigger(camera: CameraConfig | None, controller: Controller) -> Controller:
    """The controller, with the camera's trigger line where there is one."""
    if camera is None or camera.trigger is None:
        return controller
    return CameraTrigger(controller, range(ARMED, DONE) if camera.trigger.when == "armed" else None)
