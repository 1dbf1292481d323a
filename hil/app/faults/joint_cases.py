"""Cases of the driven joints at the protocol level: line, controllers, process (rows 2, 13 to 15, 18, 29, 35, 36).

They run on a rig whose legs walk, with a bus of the servos next to that of the wheel drives.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from drivers.sim.devices import SimServos
from hil.app.faults.case import VIRTUAL_TIME, Case, ExpectedOutcome, expect, within
from hil.app.faults.faulty_device import DeviceFault
from hil.app.faults.lockstep_cases import inject, lockstep_case, replacing
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
from hil.config import load_config
from hil.messages.fault import WORKER_SILENT_NS, Fault
from hil.safety.fault_table import ReactionTimes, bound_ms

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
    # a joint that is set elsewhere by its controller gets there first
    off_rad = 3.0 * math.radians(config.servos.follow_deg if config.servos else 0.0)
    elsewhere = replacing("rig_io", "command", partial(_displaced, off_rad))
    travel_ms = 1e3 * off_rad / min(joint.rate_radps for joint in config.driven_joints)
    for row, kind, act, late_ms in (
        (Fault.SENSOR_STALE, "off", inject("servos", DeviceFault("off")), 0.0),
        (Fault.SAMPLE_NOT_FINITE, "garbage", inject("servos", DeviceFault("garbage")), 0.0),
        (Fault.JOINT_OUT_OF_RANGE, "wrong", inject("servos", DeviceFault("wrong", factor=GAIN)), 0.0),
        (Fault.JOINT_NOT_FOLLOWING, "goes elsewhere", elsewhere, travel_ms),
    ):
        expected = within(times, row, device="servos", late_ms=late_ms, stop_ms=0.0, own_ms=own_ms)
        yield lockstep_case(config, row, kind, "servos", "play", TICK, act, expected)


def _displaced(off_rad: float, real: Callable[..., Any], t_ns: int, command: Any) -> Any:
    """The servos take every angle for one that much larger."""
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


def servo_wire_cases() -> Iterator[Case]:
    """Every case, while the joints move."""
    config = load_config(RIG, SETTINGS)
    assert config.devices is not None
    assert config.devices.servos is not None
    assert config.servos is not None
    timeout_ms = float(config.devices.servos.model_dump()["timeout_ms"]) + WAKE_MS
    for row, kind, device, steps, expected in _wire(ReactionTimes(config), timeout_ms, config.servos.follow_deg):
        yield Case(row, kind, device, STATE, VIRTUAL_TIME, config, run_case, steps, AT_S, expected)


def _wire(
    times: ReactionTimes, timeout_ms: float, follow_deg: float
) -> Iterator[tuple[int, str, str, tuple[Step, ...], ExpectedOutcome]]:
    """Row, kind, device, what is done, and what must come of it: of the line, a joint, and the process."""
    lost, damaged, stale, e_stop = (
        Fault.LINK_LOST, Fault.FRAMES_DAMAGED, Fault.SENSOR_STALE, Fault.STOP_BY_OPERATOR,
    )  # fmt: skip
    silent = expect(lost, detect_ms=bound_ms(lost, times, "servos"), react_ms=timeout_ms, says="servos")
    yield lost, "off", SERVOS, (fault(SERVOS, "off"),), silent
    unplugged = (fault(SERVOS, "disconnect"), wait(0.3), fault(SERVOS, "reconnect"))
    yield lost, "unplugged and plugged in", SERVOS, unplugged, silent
    garbage = (fault(SERVOS, "garbage", count=3, every=3),)  # three of ten, whenever they come
    yield damaged, "garbage", SERVOS, garbage, expect(damaged, says="servos")
    always = (fault(SERVOS, "delayed", count=10**6, ms=LATE_MS),)
    yield stale, "always late", SERVOS, always, within(times, stale, device="servos", says="servos")
    yield ANSWER_LATE, "delayed", SERVOS, (fault(SERVOS, "delayed", ms=25.0),), expect()
    yield ANSWER_LATE, "duplicate", SERVOS, (fault(SERVOS, "duplicate", count=5, every=7),), expect()
    yield e_stop, "emergency stop", SERVOS, (press(SERVOS),), within(times, e_stop, stop_ms=None)
    # a joint that does not move, an encoder that stands still, and one that slips
    apart_ms = 1e3 * follow_deg / SPEED_DEGPS  # at most: it lags behind its command from the begin
    joint, follows = "front_left_walking", Fault.JOINT_NOT_FOLLOWING
    for row, kind, late_ms in (
        (follows, "blocked", apart_ms), (follows, "frozen", apart_ms), (Fault.JOINT_OUT_OF_RANGE, "slipped", 0.0),
    ):  # fmt: skip
        expected = within(times, row, late_ms=late_ms, says=joint)
        yield row, kind, SERVOS, (fault(SERVOS, kind, joint=joint),), expected
    gone_ms, stopped_ms = WORKER_SILENT_NS * 1e-6 + times.tick_ms, bound_ms(WORKER_LOST, times)
    expected = expect(Fault.PROCESS_LOST, detect_ms=gone_ms, react_ms=stopped_ms)
    for kind, number in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP)):
        yield WORKER_LOST, kind, "servos process", (send("servos", number),), expected
