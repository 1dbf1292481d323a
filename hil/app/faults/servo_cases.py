"""Cases of the driven joints in lockstep, on a rig whose legs walk (rows 2, 3, 35, 36)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from drivers.sim.rig import SERVOS_TIMEOUT_NS
from hil.app.faults.case import Case, Expected
from hil.app.faults.faulty_device import DeviceFault
from hil.app.faults.lockstep import Disturb, LockstepRun
from hil.app.faults.lockstep_cases import inject, lockstep_case
from hil.config import Config, load_config
from hil.messages.fault import Fault
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes

# The rig of the joints' faults: it swings its legs as it stands, its wheels cut.
SERVO_RIG = "sim_impact"
SERVO_SETTINGS = (
    "rig=simulated", "clock=lockstep", "telemetry.endpoint=''", "experiment=stimulus", "daq=null",
    "residuals.calibration=null", "servos={joints: {walking: {start_deg: 5}}, follow_s: 0.2}",
    r'stimulus.table="time_s,walking_deg\n0,5\n1,10\n2,5\n"',
)  # fmt: skip
# A tick in which the legs swing, and in which they are far enough from zero for a gain of this size to show.
TICK, GAIN = 700, 20.0


def servo_cases() -> Iterator[Case]:
    """Faults of the driven joints while they swing."""
    config = load_config(SERVO_RIG, SERVO_SETTINGS)
    times = ReactionTimes(config)
    own_ms = SERVOS_TIMEOUT_NS * 1e-6 + times.tick_ms
    for row, fault in (
        (Fault.SENSOR_STALE, DeviceFault("off")),
        (Fault.SAMPLE_NOT_FINITE, DeviceFault("garbage")),
        (Fault.JOINT_OUT_OF_RANGE, DeviceFault("wrong", factor=GAIN)),
    ):
        yield _case(config, row, fault.kind, inject("servos", fault), own_ms)
    # a joint that is set elsewhere by its controller gets there first
    off_rad = 3.0 * math.radians(config.servos.follow_deg if config.servos else 0.0)
    travel_ms = 1e3 * off_rad / min(joint.rate_radps for joint in config.driven_joints)
    displaced = partial(_displace, off_rad)
    yield _case(config, Fault.JOINT_NOT_FOLLOWING, "goes elsewhere", displaced, own_ms, travel_ms)


def _case(config: Config, row: Fault, kind: str, act: Disturb, own_ms: float, more_ms: float = 0.0) -> Case:
    bound_ms = (FAULT_TABLE[row].bound_for(ReactionTimes(config), "servos") or 0.0) + more_ms
    expected = Expected(frozenset({row}), bound_ms, max(bound_ms, own_ms))
    return lockstep_case(config, row, kind, "servos", "play", TICK, act, expected)


def _displace(off_rad: float, run: LockstepRun) -> None:
    """The servos take every angle for one that much larger."""
    run.stages["rig_io"].replaced["command"] = partial(_displaced, off_rad)


def _displaced(off_rad: float, real: Callable[..., Any], t_ns: int, command: Any) -> Any:
    angles = tuple(angle + off_rad for angle in command.joint_angle_rad)
    return real(t_ns, msgspec.structs.replace(command, joint_angle_rad=angles))
