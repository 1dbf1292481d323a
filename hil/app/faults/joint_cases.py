"""Cases of the driven joints at the protocol level: line, controllers, process (rows 2, 13 to 15, 18, 29, 35, 36).

They run on a rig whose legs walk, with a bus of the servos next to that of the wheel drives.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec

from drivers.sim.devices import SimServos
from hil.app.faults.case import VIRTUAL_TIME, Case, ExpectedOutcome
from hil.app.faults.faulty_device import DeviceFault
from hil.app.faults.lockstep import Disturb, LockstepRun
from hil.app.faults.lockstep_cases import inject, lockstep_case
from hil.app.faults.protocol_cases import (
    ANSWER_LATE,
    SERVOS,
    WAKE_MS,
    WORKER_LOST,
    Step,
    fault,
    press,
    run_case,
    send,
    wait,
)
from hil.config import Config, load_config
from hil.messages.fault import STOP_WRITTEN_NS, WORKER_SILENT_NS, Fault
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
    own_ms = SimServos.timeout_ns * 1e-6 + times.tick_ms
    for row, made in (
        (Fault.SENSOR_STALE, DeviceFault("off")),
        (Fault.SAMPLE_NOT_FINITE, DeviceFault("garbage")),
        (Fault.JOINT_OUT_OF_RANGE, DeviceFault("wrong", factor=GAIN)),
    ):
        yield _case(config, times, row, made.kind, inject("servos", made), own_ms)
    # a joint that is set elsewhere by its controller gets there first
    off_rad = 3.0 * math.radians(config.servos.follow_deg if config.servos else 0.0)
    travel_ms = 1e3 * off_rad / min(joint.rate_radps for joint in config.driven_joints)
    displaced = partial(_displace, off_rad)
    yield _case(config, times, Fault.JOINT_NOT_FOLLOWING, "goes elsewhere", displaced, own_ms, travel_ms)


def _case(
    config: Config, times: ReactionTimes, row: Fault, kind: str, act: Disturb, own_ms: float, more_ms: float = 0.0
) -> Case:
    bound_ms = _bound_ms(times, row) + more_ms
    expected = ExpectedOutcome(frozenset({row}), bound_ms, max(bound_ms, own_ms))
    return lockstep_case(config, row, kind, "servos", "play", TICK, act, expected)


def _displace(off_rad: float, run: LockstepRun) -> None:
    """The servos take every angle for one that much larger."""
    run.stages["rig_io"].replaced["command"] = partial(_displaced, off_rad)


def _displaced(off_rad: float, real: Callable[..., Any], t_ns: int, command: Any) -> Any:
    angles = tuple(angle + off_rad for angle in command.joint_angle_rad)
    return real(t_ns, msgspec.structs.replace(command, joint_angle_rad=angles))


# The rig of these runs: both front legs swing while the rover drives, and a joint that does not follow shows soon.
RIG = "sim_walk_wire"
SPEED_DEGPS = 10.0
SETTINGS = (
    "telemetry.endpoint=''", "record.after_s=0.2", "servos.follow_deg=2.5", "servos.follow_s=0.1",
    "devices.servos.rate_hz=50", "limits.servos_age_ms=60",
    r'stimulus.table="time_s,speed_mps,front_left_walking_deg,front_right_walking_deg\n0,0,0,0\n1.2,0.02,12,12\n1.6,0,12,12\n"',
)  # fmt: skip
STATE, AT_S = "play", 0.6
# Answers that come so late, and are still in time [ms], are too slow for the age of the angles: a round has six.
LATE_MS = 14.0


class _Wire(NamedTuple):
    row: int
    kind: str
    device: str
    steps: tuple[Step, ...]
    expected: ExpectedOutcome


def servo_wire_cases() -> Iterator[Case]:
    """Every case, while the joints move."""
    config = load_config(RIG, SETTINGS)
    assert config.devices is not None
    assert config.devices.servos is not None
    assert config.servos is not None
    times = ReactionTimes(config)
    timeout_ms = float(config.devices.servos.model_dump()["timeout_ms"]) + WAKE_MS
    every = (*_of_line(times, timeout_ms), *_of_joint(times, config.servos.follow_deg), *_of_process(times))
    for row, kind, device, steps, expected in every:
        yield Case(row, kind, device, STATE, VIRTUAL_TIME, config, run_case, steps, AT_S, expected)


def _bound_ms(times: ReactionTimes, row: int) -> float:
    return FAULT_TABLE[row].bound_for(times, "servos") or 0.0


def _expected(row: int, detect_ms: float | None, react_ms: float | None, says: str = "") -> ExpectedOutcome:
    return ExpectedOutcome(frozenset({row}), detect_ms, react_ms, says=says)


def _of_line(times: ReactionTimes, timeout_ms: float) -> Iterator[_Wire]:
    lost, damaged, stale, e_stop = (
        Fault.LINK_LOST, Fault.FRAMES_DAMAGED, Fault.SENSOR_STALE, Fault.STOP_BY_OPERATOR,
    )  # fmt: skip
    stop_ms = STOP_WRITTEN_NS * 1e-6
    silent = _expected(lost, _bound_ms(times, lost), timeout_ms, "servos")
    back = fault(SERVOS, "reconnect")
    yield _Wire(lost, "off", SERVOS, (fault(SERVOS, "off"),), silent)
    yield _Wire(lost, "unplugged and plugged in", SERVOS, (fault(SERVOS, "disconnect"), wait(0.3), back), silent)
    garbage = (fault(SERVOS, "garbage", count=3, every=3),)  # three of ten, whenever they come
    yield _Wire(damaged, "garbage", SERVOS, garbage, _expected(damaged, None, None, "servos"))
    bound_ms = _bound_ms(times, stale)
    always = (fault(SERVOS, "delayed", count=10**6, ms=LATE_MS),)
    yield _Wire(stale, "always late", SERVOS, always, _expected(stale, bound_ms, bound_ms + stop_ms, "servos"))
    for kind, how in (("delayed", {"ms": 25.0}), ("duplicate", {"count": 5, "every": 7})):
        yield _Wire(ANSWER_LATE, kind, SERVOS, (fault(SERVOS, kind, **how),), ExpectedOutcome())
    yield _Wire(e_stop, "emergency stop", SERVOS, (press(SERVOS),), _expected(e_stop, _bound_ms(times, e_stop), None))


def _of_joint(times: ReactionTimes, follow_deg: float) -> Iterator[_Wire]:
    """A joint that does not move, an encoder that stands still, and one that slips."""
    apart_ms = 1e3 * follow_deg / SPEED_DEGPS  # at most: it lags behind its command from the begin
    stop_ms, joint = STOP_WRITTEN_NS * 1e-6, "front_left_walking"
    for row, kind, more_ms in (
        (Fault.JOINT_NOT_FOLLOWING, "blocked", apart_ms),
        (Fault.JOINT_NOT_FOLLOWING, "frozen", apart_ms),
        (Fault.JOINT_OUT_OF_RANGE, "slipped", 0.0),
    ):
        bound_ms = _bound_ms(times, row) + more_ms
        expected = _expected(row, bound_ms, bound_ms + stop_ms, joint)
        yield _Wire(row, kind, SERVOS, (fault(SERVOS, kind, joint=joint),), expected)


def _of_process(times: ReactionTimes) -> Iterator[_Wire]:
    detect_ms = WORKER_SILENT_NS * 1e-6 + times.tick_ms
    expected = _expected(Fault.PROCESS_LOST, detect_ms, _bound_ms(times, WORKER_LOST))
    for kind, number in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP)):
        yield _Wire(WORKER_LOST, kind, "servos process", (send("servos", number),), expected)
