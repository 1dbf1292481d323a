"""Builds the parts of a rig from its config."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import hil
from drivers.sim.rig import InProcessRig
from hil.config import Config
from hil.config.model_parameters import nominal_rig
from hil.config.yaml_io import write_yaml
from hil.estimation.estimator import Estimator
from hil.estimation.twin import RoverTwin
from hil.experiments.base import ArmingChecks, Experiment
from hil.experiments.registry import experiment_type
from hil.messages.stages import Estimate, Samples
from hil.realtime import RightsWanted
from hil.recording.sinks import RecordSink
from hil.recording.tick_logger import TickLogger
from hil.runtime.cycle import Cycle
from hil.runtime.rig_io import RigIO
from hil.safety.arming import Check, arming_checks, disk_check
from hil.safety.limiter import Limiter
from hil.safety.monitor import Event, SafetyMonitor

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
        record_sink: receives the record.
        folder: of the record; arming checks its disk space. None: no record, as in a replay.
        make: makes the experiment; by default the one named in the config.
        attended: an operator arms and starts it.
        latched: faults of an earlier run on this rig that are not cleared.

    Raises:
        ConfigError: there is no experiment of that name.
    """
    tick_logger = TickLogger(record_sink, config.layout)
    safety = SafetyMonitor(config, tick_logger.log_fault, latched)
    for event in latched:
        tick_logger.log_latched(event)

    def checks(samples: Samples, estimate: Estimate) -> list[Check]:
        found = arming_checks(config, samples, estimate, safety.faults)
        return found if folder is None else [*found, disk_check(folder)]

    make = make or partial(experiment_type(config).make, attended=attended)
    experiment = make(config, checks)
    twin, limiter = RoverTwin(nominal_rig(config)), Limiter(config, safety)
    return Cycle(devices, Estimator(config), twin, safety, experiment, experiment.controller(), limiter, tick_logger)


def simulated_rig_io(config: Config, simulated_rig: InProcessRig) -> RigIO:
    """The loop's interface to the devices of a simulated rig in the loop's process."""
    links = config.layout.links
    daq, valves = simulated_rig.daq if "daq" in links else None, simulated_rig.valves if "valves" in links else None
    return RigIO(config.layout, daq, simulated_rig.drives, valves)


def record_meta(config: Config, *, attended: bool = False) -> dict[str, str | float | int]:
    """Contents of `/meta` of the record; `calibration`, if there is one, as in its file."""
    device = config.devices.daq if config.devices else None
    sheets = device.calibration.model_dump(mode="json", exclude_none=True) if device and device.calibration else None
    return {
        "config": config.to_yaml(),
        "config_sha256": config.sha256(),
        "version": hil.__version__,
        "clock": config.clock,
        "seed": config.seed,
        "experiment": config.experiment,
        "attended": int(attended),
        "states": ",".join(f"{state.value}={state.name.lower()}" for state in experiment_type(config).states),
        "layout": config.layout.to_json(),
        "sensitivity_VpN": ",".join(repr(sensitivity * 1e-3) for sensitivity in config.sensitivities_mVpN),
        **({"calibration": write_yaml(sheets)} if sheets else {}),
        "wall_time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def rights_wanted(config: Config) -> RightsWanted:
    """The rights that the loop requests from the kernel: none in virtual time."""
    if config.clock == "lockstep":
        return RightsWanted()
    wanted = config.realtime
    return RightsWanted(
        fifo_priority=wanted.fifo_priority,
        lock_memory=wanted.lock_memory,
        cpus=wanted.cpus,
        awake=wanted.awake,
        timer_slack_ns=round(wanted.timer_slack_us * 1e3),
        freeze_gc=True,
    )
