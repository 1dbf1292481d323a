"""Cases of the instruments of motion in lockstep (rows 33 and 40); of a rig without any there are none.

Cases of the instruments of motion at the protocol level: their lines, devices and processes (rows 33 and 40).

They run on the rig of `protocol_cases`, with the instruments of a config and the drivers that it names for them.
"""

from __future__ import annotations

import json
import math
import signal
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from drivers.driver_type import InstrumentType
from drivers.registry import driver_of
from hil.app.faults import process_cases, protocol_cases
from hil.app.faults.case import PROCESSES, VIRTUAL_TIME, Case, ExpectedOutcome, expect, within
from hil.app.faults.faulty_device import DeviceFault
from hil.app.faults.lockstep_cases import inject, lockstep_case
from hil.app.faults.protocol_cases import Step, fault, protocol_config, send, wait
from hil.config import Config
from hil.config.schema.devices import DevicesConfig
from hil.config.schema.instruments import ImuConfig, JointsConfig, MotionConfig
from hil.messages.fault import Fault
from hil.safety.fault_table import ReactionTimes

# A jump that no rover makes and no room holds, in m, rad or m/s^2; and channels that are wired the wrong way round: two
# of the horizontal axes, or one of them with the vertical one, which shows on a rover that stands.
JUMP, JUMP_OF_OTHERS = {"motion": 300.0, "imu": 3.0}, 2.0
SWAPPED, SWAPPED_OF_OTHERS = {"imu": (0, 2)}, (0, 1)
FACTOR = 1.5
# Kinds that the readings alone need not show: an observer may notice them by their innovation.
SUBTLE = ("wrong", "swapped")


def instrument_cases(config: Config, states: Mapping[str, int]) -> Iterator[Case]:
    """Every kind of fault of every instrument, in every state but the first, in which it keeps the rig from arming.

    Args:
        config: of the rig, in lockstep.
        states: a tick in each state (`state_ticks`).
    """
    for role in config.layout.instruments:
        for made in instrument_faults(config.instruments, role):
            row, act, expected = row_of(made), inject(role, made), expected_of(config, role, made)
            for state, tick in states.items():
                if state != "idle":
                    yield lockstep_case(config, row, made.kind, role, state, tick, act, expected)
        # a force that is not gravity's, or a place where no rover is
        false = (
            DeviceFault("wrong", factor=FACTOR)
            if role == "imu"
            else DeviceFault("jump", offset=JUMP.get(role, JUMP_OF_OTHERS))
        )
        for made in (DeviceFault("off"), DeviceFault("garbage"), DeviceFault("playback"), false):
            # what is noticed before arming is tried may lead to Safe, where the experiment needs the instrument
            row = row_of(made)
            expected = expect(row, optional=True, refused=True)
            yield lockstep_case(config, row, made.kind, role, "idle", 1, inject(role, made), expected)


def instrument_faults(instruments: dict[str, MotionConfig | ImuConfig | JointsConfig], role: str) -> list[DeviceFault]:
    """A fault of each kind, beyond the limits of the config."""
    section = instruments[role]
    period_ms = 1e3 / section.rate_hz
    silent_ms = 1.5 * section.stale_ms + 2.0 * period_ms
    return [
        DeviceFault("off"),
        DeviceFault("intermittent", ms=silent_ms),
        DeviceFault("delayed", ms=silent_ms),
        DeviceFault("slow", every=math.ceil(2.0 * section.stale_ms / period_ms)),
        DeviceFault("stuck"),
        DeviceFault("garbage"),
        DeviceFault("wrong", factor=FACTOR),
        DeviceFault("swapped", channels=SWAPPED.get(role, SWAPPED_OF_OTHERS)),
        DeviceFault("jump", offset=JUMP.get(role, JUMP_OF_OTHERS)),
        DeviceFault("playback"),
    ]


def row_of(fault: DeviceFault) -> Fault:
    """The row of the fault table that a fault of an instrument belongs to."""
    return Fault.NOT_LIVE if fault.kind == "playback" else Fault.MEASURED_MOTION


def expected_of(config: Config, role: str, fault: DeviceFault) -> ExpectedOutcome:
    """What must come of it: a mark that names the instrument, and Safe where the experiment needs it."""
    row = row_of(fault)
    subtle = fault.kind in SUBTLE or (role, fault.kind) == ("imu", "jump")
    unseen = fault.kind == "stuck" and not config.instruments[role].frozen_readings
    needed = role in config.needed_instruments
    more: dict[str, Any] = {"optional": subtle or unseen, "says": f"{role}: ", "goes_on": not needed}
    stop_ms = config.links.drives_delay_ms if needed else None
    return expect(row, **more) if subtle else within(ReactionTimes(config), row, device=role, stop_ms=stop_ms, **more)


# Long enough for an instrument to be noticed as stale [s], and to be opened again.
GONE_S = 0.6
# A trial that goes on for so long after the run-up has begun.
LONG = ("trial.start_distance_m=0.15", "trial.ramp_s=0.5")
STATE = "run_up"
# A rig of the protocol level that has all instruments.
MEASURED = "sim_motion_wire"


def instrument_wire_cases(config: Config) -> Iterator[Case]:
    """Faults of the lines, the devices and the processes of the instruments for which the config names a driver."""
    devices = config.devices
    roles = [role for role in config.layout.instruments if devices is not None and getattr(devices, role) is not None]
    if not roles:
        return
    wire = wire_config(config, roles)
    times, row = ReactionTimes(wire), Fault.MEASURED_MOTION
    at_s, run = protocol_cases.MOMENTS_S[STATE], protocol_cases.run_case
    for role in roles:
        needed = role in wire.needed_instruments
        noticed = _expected(times, role, needed=needed)
        unclear = replace(noticed, detect_ms=None, react_ms=None, optional=True)
        driver = driver_of(getattr(wire.devices, role))
        # a device server is that of the data acquisition, which has its own cases
        for endpoint in () if driver.uses_servers else endpoints_of(wire.devices, role):
            for kind, steps, expected in _of_line(endpoint, noticed, unclear):
                yield Case(row, kind, endpoint, STATE, VIRTUAL_TIME, wire, run, steps, at_s, expected)
            if isinstance(driver, InstrumentType) and driver.plays_back:
                played = _expected(times, role, Fault.NOT_LIVE, needed=needed)
                steps = (fault(endpoint, "playback"),)
                yield Case(Fault.NOT_LIVE, "playback", endpoint, STATE, VIRTUAL_TIME, wire, run, steps, at_s, played)
        for kind, steps in _of_process(role):
            name = f"{role} process"
            yield Case(row, kind, name, STATE, VIRTUAL_TIME, wire, run, steps, at_s, noticed)
            yield Case(row, kind, name, STATE, PROCESSES, wire, process_cases.run_case, steps, expected=noticed)


def wire_config(config: Config, roles: list[str]) -> Config:
    """The rig of the protocol level with these instruments of a config and their drivers."""
    settings = list(LONG)
    for role in roles:
        settings.append(f"{role}={_as_yaml(config.instruments[role])}")
        settings.append(f"devices.{role}={_as_yaml(getattr(config.devices, role))}")
    return protocol_config(settings)


def endpoints_of(devices: DevicesConfig | None, role: str) -> list[str]:
    """Names of the endpoints of an instrument's driver in a simulated rig."""
    section = getattr(devices, role)
    asked = defaultdict[str, str](lambda: "127.0.0.1:1")  # has every one that it is asked for
    driver_of(section).at_endpoints(section.model_dump(mode="json"), asked)
    return list(asked)


def _expected(times: ReactionTimes, role: str, row: Fault = Fault.MEASURED_MOTION, *, needed: bool) -> ExpectedOutcome:
    """A mark; Safe where the experiment needs the instrument, which then is also a lost link or a lost process."""
    if not needed:
        return within(times, row, device=role, stop_ms=None, says=f"{role}: ", goes_on=True)
    also = Fault.LINK_LOST, Fault.FRAMES_DAMAGED, Fault.PROCESS_LOST
    return within(times, row, *also, device=role)  # a driver has its own words for its device


def _of_line(
    endpoint: str, noticed: ExpectedOutcome, unclear: ExpectedOutcome
) -> Iterator[tuple[str, tuple[Step, ...], ExpectedOutcome]]:
    """Kind, what is done, and what must come of it."""
    back = fault(endpoint, "reconnect")
    yield "off", (fault(endpoint, "off"),), noticed
    yield "off and on again", (fault(endpoint, "off"), wait(GONE_S), back), noticed
    yield "unplugged and plugged in", (fault(endpoint, "disconnect"), wait(GONE_S), back), noticed
    # of messages that come without being asked for, one or two that are lost or late make no reading stale
    yield "garbage", (fault(endpoint, "garbage", count=3, every=3),), unclear
    yield "intermittent", (fault(endpoint, "intermittent", count=4),), unclear
    yield "delayed", (fault(endpoint, "delayed", ms=25.0),), unclear
    yield "duplicate", (fault(endpoint, "duplicate", count=5, every=7),), unclear
    yield "slow", (fault(endpoint, "slow", ms=25.0),), unclear


def _of_process(role: str) -> Iterator[tuple[str, tuple[Step, ...]]]:
    yield "killed", (send(role, signal.SIGKILL),)
    yield "stopped", (send(role, signal.SIGSTOP), wait(GONE_S), send(role, signal.SIGCONT))


def _as_yaml(section: Any) -> str:
    """A section as a value of --set."""
    return json.dumps(section.model_dump(mode="json"))
