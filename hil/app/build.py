"""What a run is made of beside the stages of its tick: the rig's devices, what the record says of it, rights."""

from __future__ import annotations

import time

from drivers.sim.rig import InProcessRig
from hil.config import Config
from hil.config.schema.loop import RealtimeConfig
from hil.config.yaml_io import write_yaml
from hil.experiments.registry import experiment_named
from hil.messages.layout import Layout
from hil.messages.operator_input import OperatorSource
from hil.realtime import RightsWanted
from hil.runtime.rig_io import RigIO
from hil.version import running_version


def simulated_rig_io(layout: Layout, simulated_rig: InProcessRig, operator: OperatorSource | None = None) -> RigIO:
    """The loop's interface to the devices of a simulated rig in the loop's process, and to an operator elsewhere."""
    return RigIO(layout, {link: simulated_rig.devices[link] for link in layout.links}, operator)


def record_meta(config: Config, *, attended: bool = False) -> dict[str, str | float | int]:
    """Contents of `/meta` of the record; `calibration`, if there is one, as in its file."""
    device = config.devices.daq if config.devices else None
    sheets = device.calibration.model_dump(mode="json", exclude_none=True) if device and device.calibration else None
    return {
        "config": config.to_yaml(),
        "config_sha256": config.sha256(),
        "version": running_version(),
        "clock": config.clock,
        "seed": config.seed,
        "experiment": config.experiment,
        "attended": int(attended),
        "states": ",".join(
            f"{state.value}={state.name.lower()}" for state in experiment_named(config.experiment).states
        ),
        "layout": config.layout.to_json(),
        "sensitivity_VpN": ",".join(repr(sensitivity * 1e-3) for sensitivity in config.plate_sensitivities_mVpN),
        **({"calibration": write_yaml(sheets)} if sheets else {}),
        "wall_time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def rights_wanted(realtime: RealtimeConfig, clock: str, rig: str) -> RightsWanted:
    """The rights that the loop requests from the kernel: none in virtual time."""
    if clock == "lockstep":
        return RightsWanted()
    wanted = realtime
    return RightsWanted(
        fifo_priority=wanted.fifo_priority,
        lock_memory=wanted.lock_memory,
        cpus=wanted.cpus,
        awake=wanted.awake,
        timer_slack_ns=round(wanted.timer_slack_us * 1e3),
        freeze_gc=True,
        no_suspend=rig == "real",
    )
