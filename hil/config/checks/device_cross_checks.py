"""Cross-checks of the devices of a config."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from drivers.device_sections import INSTRUMENTS
from drivers.driver_type import Connection
from drivers.registry import driver_of
from hil.config.checks.camera_cross_checks import camera_cross_checks
from hil.config.model import UncheckedConfig
from hil.config.problems import Problem
from hil.config.rig_setup import rig_setup

# A sample may be lost, and the next may come late.
PERIODS_IN_AGE = 3.0


def device_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    return [*_rig(config), *camera_cross_checks(config), *_each(config), *_connections(config), *_ages(config)]


def _each(config: UncheckedConfig) -> Iterator[Problem]:
    """By each driver's own check."""
    for section in config.devices.sections() if config.devices else ():
        yield from driver_of(section).check(section, rig_setup(config))


def _ages(config: UncheckedConfig) -> Iterator[Problem]:
    """No sample that comes as it should is stale."""
    for name in ("drives", "valves", "servos"):
        if (device := getattr(config.devices, name, None)) is None:
            continue
        least_ms, allowed_ms = PERIODS_IN_AGE * 1e3 / device.rate_hz, getattr(config.limits, f"{name}_age_ms")
        if allowed_ms < least_ms:
            rate = f"devices.{name}.rate_hz"
            allowed = f"at least {least_ms:.4g}, {PERIODS_IN_AGE:g} periods of {rate}, or good samples count as stale"
            yield Problem(f"limits.{name}_age_ms", f"{allowed_ms:g}", allowed, (rate,))


def _rig(config: UncheckedConfig) -> Iterator[Problem]:
    """What each kind of rig needs, and what none can have."""
    devices, links = config.devices, config.layout.links
    if devices is not None and devices.valves is not None and "valves" not in links:
        allowed = f"null, or left out: rover.type {config.rover.type} has no cylinders, and camera.trigger is not set"
        yield Problem("devices.valves", f"a section, {devices.valves.driver}", allowed, ("rover.type", "camera"))
    elif devices is not None and (valves := devices.valves) and config.layout.regulators and not valves.can_regulate:
        key = "cylinders.regulators"
        yield Problem("devices.valves.driver", valves.driver, f"one that moves regulators, or {key}: none", (key,))
    if devices is not None and devices.daq is not None and "daq" not in links:
        allowed = "null, or left out: with daq: null the rig has no force sensors"
        yield Problem("devices.daq", f"a section, {devices.daq.driver}", allowed, ("daq",))
    if devices is not None and devices.loads is not None and "loads" not in links:
        allowed = "null, or left out: with loads: null the rig has no leg sensors and no load cell"
        yield Problem("devices.loads", f"a section, {devices.loads.driver}", allowed, ("loads",))
    for role in INSTRUMENTS:
        if (section := getattr(devices, role, None)) is not None and role not in links:
            allowed = f"null, or left out: with {role}: null the rig has no such instrument"
            yield Problem(f"devices.{role}", f"a section, {section.driver}", allowed, (role,))
    if devices is not None and devices.servos is not None and "servos" not in links:
        allowed = "null, or left out: with servos: null no joint is driven"
        yield Problem("devices.servos", f"a section, {devices.servos.driver}", allowed, ("servos",))
    if config.rig == "simulated":
        return
    if config.rig == "real" and config.clock == "lockstep":
        yield Problem("clock", "lockstep", "realtime, because devices have no virtual time (rig: real)", ("rig",))
    missing = ["devices"] if devices is None else [f"devices.{n}" for n in links if not getattr(devices, n)]
    for key in missing:
        yield Problem(key, "nothing", f"a section, as in mars_dome.yaml; needed with rig: {config.rig}", ("rig",))


def _connections(config: UncheckedConfig) -> Iterator[Problem]:
    """Every link has a port of its own, and every physical channel is used once, on each device server by itself."""
    sections = sorted(config.devices.sections() if config.devices else (), key=lambda section: section.role)
    used = [connection for section in sections for connection in driver_of(section).connections(section)]
    by_place: dict[tuple[bool, str, str], list[Connection]] = defaultdict(list)
    for connection in used:
        if connection.name:
            by_place[connection.server is None, *connection.place].append(connection)
    for (is_port, _, name), of in by_place.items():
        keys = tuple(connection.setting for connection in of)
        if len(keys) > 1 and is_port:
            links = " and ".join(dict.fromkeys(key.split(".")[1] for key in keys))
            allowed = f"a separate port for each link ({links}), as each has a process of its own"
            yield Problem(keys[-1], f"{name} for {len(keys)} links", allowed, keys)
        elif len(keys) > 1:
            yield Problem(keys[-1], f"{name} {len(keys)} times", "each physical channel once", keys)
    if config.rig == "real":
        for key, network in {one.setting: one.network for one in used if not one.name}.items():
            port = "the path of a serial port: `hil devices` lists them"
            yield Problem(key, "''", "HOST:PORT of the device on the network" if network else port, ("rig",))
