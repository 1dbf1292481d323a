"""Cases of the instruments of motion at the protocol level: their lines, devices and processes (rows 33 and 40).

They run on the rig of `protocol_cases`, with the instruments of a config and the drivers that it names for them.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

from drivers.driver_type import InstrumentType
from drivers.registry import driver_of
from hil.app.faults import process_cases, protocol_cases
from hil.app.faults.case import PROCESSES, VIRTUAL_TIME, Case, Expected
from hil.app.faults.protocol_cases import Step, fault, protocol_config, send, wait
from hil.config import Config
from hil.config.schema.devices import DevicesConfig
from hil.messages.fault import Fault
from hil.messages.fault_bounds import STOP_WRITTEN_NS
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes

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
    at_s = protocol_cases.MOMENTS_S[STATE]
    for role in roles:
        bound_ms = FAULT_TABLE[row].bound_for(times, role)
        noticed, unclear = (
            _expected(wire.needed_instruments, role, bound_ms),
            _expected(wire.needed_instruments, role, None, optional=True),
        )
        for endpoint in endpoints_of(wire.devices, role):
            for kind, steps, expected in _of_line(endpoint, noticed, unclear):
                run = protocol_cases.run_case
                yield Case(row, kind, endpoint, STATE, VIRTUAL_TIME, wire, run, steps, at_s, expected)
            driver = driver_of(getattr(wire.devices, role))
            if isinstance(driver, InstrumentType) and driver.plays_back:
                bound_ms = FAULT_TABLE[Fault.NOT_LIVE].bound_for(times, role)
                played = _expected(wire.needed_instruments, role, bound_ms, Fault.NOT_LIVE)
                steps = (fault(endpoint, "playback"),)
                run = protocol_cases.run_case
                yield Case(Fault.NOT_LIVE, "playback", endpoint, STATE, VIRTUAL_TIME, wire, run, steps, at_s, played)
        for kind, steps in _of_process(role):
            name, run = f"{role} process", protocol_cases.run_case
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
    asked = _Asked()
    driver_of(section).at_endpoints(section.model_dump(mode="json"), asked)
    return list(asked)


class _Asked(dict[str, str]):
    """Endpoints of a simulated rig that has every one that it is asked for."""

    def __missing__(self, name: str) -> str:
        self[name] = "127.0.0.1:1"
        return self[name]


def _expected(
    all_needed: tuple[str, ...],
    role: str,
    bound_ms: float | None,
    row: Fault = Fault.MEASURED_MOTION,
    *,
    optional: bool = False,
) -> Expected:
    """A mark; Safe where the experiment needs the instrument, which then is also a lost link or a lost process."""
    needed = role in all_needed
    also = {Fault.LINK_LOST, Fault.FRAMES_DAMAGED, Fault.PROCESS_LOST} if needed else set[Fault]()
    stop_ms = None
    if needed and bound_ms is not None:
        stop_ms = bound_ms + STOP_WRITTEN_NS * 1e-6
    says = "" if needed else f"{role}: "  # a driver has its own words for its device
    return Expected(frozenset({row} | also), bound_ms, stop_ms, optional=optional, says=says, goes_on=not needed)


def _of_line(endpoint: str, noticed: Expected, unclear: Expected) -> Iterator[tuple[str, tuple[Step, ...], Expected]]:
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
