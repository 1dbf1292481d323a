"""Puts the stages of a tick together from a config; a run does so, and a replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from hil.config import Config
from hil.config.integration import longest_step_s
from hil.config.model_parameters import nominal_rig
from hil.estimation.estimator import Estimator
from hil.estimation.twin import RoverTwin
from hil.experiments.base import ArmingChecks, Experiment
from hil.experiments.registry import experiment_type
from hil.messages.check import Check
from hil.messages.fault import Event
from hil.messages.stages import Estimate, Samples
from hil.recording.sinks import RecordSink
from hil.recording.tick_logger import TickLogger
from hil.runtime.cycle import Cycle
from hil.runtime.rig_io import RigIO
from hil.safety.arming import arming_checks, disk_check, load_checks
from hil.safety.cylinder_limits import cylinder_checks
from hil.safety.limiter import Limiter
from hil.safety.measured_monitor import MeasuredMonitor
from hil.safety.monitor import SafetyMonitor
from hil.safety.validity import rest_checks

MakeExperiment = Callable[[Config, ArmingChecks], Experiment]


def build_cycle(
    config: Config,
    devices: RigIO,
    record_sink: RecordSink,
    folder: Path | None,
    *,
    make: MakeExperiment | None = None,
    attended: bool = False,
    latched: Sequence[Event] = (),
) -> Cycle:
    """The stages of a tick; kernels compile here.

    Args:
        config: of the rig and the experiment.
        devices: of the rig.
        record_sink: takes the record.
        folder: where it goes; arming looks at the room there. None: nowhere, as in a replay.
        make: makes the experiment; by default the one that the config names.
        attended: an operator arms and starts it.
        latched: faults of an earlier run on this rig that nobody has cleared.

    Raises:
        ConfigError: there is no experiment of that name.
    """
    tick_logger = TickLogger(record_sink, config.layout)
    safety = SafetyMonitor(config, tick_logger.log_fault, latched)
    for event in latched:
        tick_logger.log_latched(event)

    twin = RoverTwin(
        nominal_rig(config),
        controls_loads=config.layout.controls_loads,
        pull_unknown=config.pull_unknown,
        longest_step_s=longest_step_s(config),
        tilt_deg=config.limits.tilt_deg,
    )
    limiter = Limiter(config, safety)

    def checks(samples: Samples, estimate: Estimate) -> list[Check]:
        found = arming_checks(config, samples, estimate, safety.faults)
        found += [*load_checks(config, samples, estimate, twin.standing_N), *cylinder_checks(config)]
        found += [*rest_checks(twin.standing_N, twin.weight_N), *MeasuredMonitor(config).arming_checks(samples)]
        return found if folder is None else [*found, disk_check(folder)]

    make = make or partial(experiment_type(config), attended=attended)
    experiment = make(config, checks)
    _ = experiment.fixed_checks  # made now: arming has one tick
    return Cycle(devices, Estimator(config), twin, safety, experiment, experiment.controller(), limiter, tick_logger)
