"""What does not fit together among the devices of a config."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from hil.config.bus_load import ALLOWED, modbus_load, roboclaw_load, roboteq_load
from hil.config.devices import VALVES, ModbusValves, NiValves, RoboclawDrives, RoboteqDrives
from hil.config.problems import Problem

if TYPE_CHECKING:
    from hil.config.model import Config

T = TypeVar("T", bound=Hashable)
# A controller's time-out must let one set-point be lost.
PERIODS_IN_TIMEOUT = 2.0
# A sample may be lost, and the next may come late.
PERIODS_IN_AGE = 3.0


def device_misfits(config: Config) -> list[Problem]:
    """All of them, each naming the key to change."""
    return [
        *_rig(config), *_drives(config), *_ports(config), *_valves(config), *_ni_channels(config), *_ages(config),
    ]  # fmt: skip


def _ages(config: Config) -> Iterator[Problem]:
    """No sample that comes as it should is stale."""
    for name in ("drives", "valves"):
        if (device := getattr(config.devices, name, None)) is None:
            continue
        least_ms, allowed_ms = PERIODS_IN_AGE * 1e3 / device.rate_hz, getattr(config.limits, f"{name}_age_ms")
        if allowed_ms < least_ms:
            rate = f"devices.{name}.rate_hz"
            allowed = f"at least {least_ms:.4g}, {PERIODS_IN_AGE:g} periods of {rate}, or good samples count as stale"
            yield Problem(f"limits.{name}_age_ms", f"{allowed_ms:g}", allowed, (rate,))


def _rig(config: Config) -> Iterator[Problem]:
    """What each kind of rig needs, and what none can have."""
    devices, links = config.devices, config.layout.links
    if devices is not None and devices.valves is not None and "valves" not in links:
        allowed = f"null, or left out: rover.type {config.rover.type} has no cylinders"
        yield Problem("devices.valves", f"a section, {devices.valves.driver}", allowed, ("rover.type",))
    if devices is not None and devices.daq is not None and "daq" not in links:
        allowed = "null, or left out: with daq: null the rig has no force sensors"
        yield Problem("devices.daq", f"a section, {devices.daq.driver}", allowed, ("daq",))
    if config.rig == "simulated":
        return
    if config.clock == "lockstep":
        found = "lockstep"
        yield Problem("clock", found, f"realtime, for devices keep no virtual time (rig: {config.rig})", ("rig",))
    missing = ["devices"] if devices is None else [f"devices.{n}" for n in links if not getattr(devices, n)]
    for key in missing:
        yield Problem(key, "nothing", f"a section, as in mars_dome.yaml; needed with rig: {config.rig}", ("rig",))


def _drives(config: Config) -> Iterator[Problem]:
    drives = config.devices.drives if config.devices else None
    if drives is None:
        return
    key = "devices.drives.controllers"
    if isinstance(drives, RoboclawDrives):
        wheels = [wheel for controller in drives.controllers for wheel in (controller.m1, controller.m2)]
        places = [(controller.bus, controller.address) for controller in drives.controllers]
        for (bus, address), count in _repeated(places):
            yield Problem(key, f"address 0x{address:x} {count} times on bus {bus}", "each address once on a bus")
        for bus in sorted({bus for bus, _ in places if bus >= len(drives.ports)}):
            found = f"a controller on bus {bus} of {len(drives.ports)}"
            yield Problem(key, found, "a bus of devices.drives.ports, counted from 0", ("devices.drives.ports",))
        for bus in sorted(set(range(len(drives.ports))) - {bus for bus, _ in places}):
            found = f"bus {bus}, with no controller on it"
            yield Problem("devices.drives.ports", found, "ports with controllers", (key,))
        loads, timeout, timeout_ms = roboclaw_load(drives), "timeout_ms", drives.timeout_ms
    else:
        wheels = [wheel for item in drives.controllers for wheel in (item.channel_1, item.channel_2)]
        loads, timeout, timeout_ms = roboteq_load(drives), "watchdog_ms", drives.watchdog_ms
        yield from _reach(config, drives)
    names = config.layout.wheels
    for wheel in dict.fromkeys(wheel for wheel in (*wheels, *drives.reversed) if wheel not in names):
        yield Problem(key, wheel, f"wheels of rover.type {config.rover.type}: {', '.join(names)}", ("rover.type",))
    for wheel, count in _repeated(wheels):
        yield Problem(key, f"{wheel} on {count} channels", "each wheel on one channel")
    for wheel in names:
        if wheel not in wheels:
            yield Problem(key, f"{wheel} on no channel", "each wheel on one channel")
    for wheel, _ in _repeated(drives.reversed):
        yield Problem("devices.drives.reversed", f"{wheel} twice", "each wheel once")
    load = max(loads, default=0.0)
    if load > ALLOWED:
        needs = ("devices.drives.rate_hz", key, "devices.drives.ports")
        yield _too_busy("devices.drives.baud", drives.baud, load, "devices.drives.rate_hz", needs)
    if timeout_ms * drives.rate_hz < 1000.0 * PERIODS_IN_TIMEOUT:
        yield Problem(
            "devices.drives.rate_hz",
            f"{drives.rate_hz:g}",
            f"at least {1000.0 * PERIODS_IN_TIMEOUT / timeout_ms:g}: two set-points within {timeout}, {timeout_ms} ms",
            (f"devices.drives.{timeout}",),
        )


def _reach(config: Config, drives: RoboteqDrives) -> Iterator[Problem]:
    needed_rpm = config.limits.wheel_speed_radps * 60.0 / (2.0 * math.pi) * drives.gear_ratio
    if drives.max_rpm < needed_rpm:
        yield Problem(
            "devices.drives.max_rpm",
            f"{drives.max_rpm:g}",
            f"at least {needed_rpm:.4g}, limits.wheel_speed_radps times gear_ratio",
            ("limits.wheel_speed_radps", "devices.drives.gear_ratio"),
        )


def _ports(config: Config) -> Iterator[Problem]:
    """Every link has a port of its own."""
    devices = config.devices
    if devices is None:
        return
    drives, valves = devices.drives, devices.valves
    ports: list[tuple[str, str]] = []
    if isinstance(drives, RoboclawDrives):
        ports += [("devices.drives.ports", port) for port in drives.ports]
    elif drives is not None:
        ports += [("devices.drives.controllers", controller.port) for controller in drives.controllers]
    if isinstance(valves, ModbusValves):
        ports.append(("devices.valves.port", valves.port))
    for port, keys in _shared(ports):
        yield Problem(keys[-1], f"{port} for {len(keys)} links", "a port of its own for each link", tuple(keys))
    if config.rig == "real":
        for key in dict.fromkeys(key for key, port in ports if not port):
            yield Problem(key, "''", "the path of a serial port: `hil devices` lists those there are", ("rig",))


def _valves(config: Config) -> Iterator[Problem]:
    valves = config.devices.valves if config.devices else None
    if valves is None:
        return
    if isinstance(valves, ModbusValves):
        dead_man, set_by = valves.flash_on, "flash_on"
        coils = valves.coils.model_dump()
        for coil, count in _repeated(coils.values()):
            yield Problem("devices.valves.coils", f"coil {coil} for {count} valves", "a coil of its own for each valve")
        load = modbus_load(valves)
        if load > ALLOWED:
            needs = ("devices.valves.rate_hz", "devices.valves.flash_on", "devices.valves.pressure_registers")
            yield _too_busy("devices.valves.baud", valves.baud, load, "devices.valves.rate_hz", needs)
        tenths = valves.flash_s * 10.0
        if abs(tenths - round(tenths)) > 1e-6:
            yield Problem("devices.valves.flash_s", f"{valves.flash_s:g}", "a whole number of tenths of a second")
        if valves.pressure_registers is not None:
            registers = [getattr(valves.pressure_registers, valve) for valve in VALVES]
            for register, count in _repeated(registers):
                found = f"register {register} for {count} chambers"
                yield Problem("devices.valves.pressure_registers", found, "a register of its own for each chamber")
        measured = valves.pressure_registers is not None
        pressures = "pressure_registers"
    else:
        dead_man, set_by = valves.watchdog_ms is not None, "watchdog_ms"
        measured, pressures = valves.pressure_channels is not None, "pressure_channels"
    if valves.moves_within_s is not None and not measured:
        key = f"devices.valves.{pressures}"
        found = f"{valves.moves_within_s:g}, and no pressure is measured"
        yield Problem("devices.valves.moves_within_s", found, f"null, or {pressures} to watch it by", (key,))
    if not dead_man and valves.no_dead_man != "accepted":
        yield Problem(
            f"devices.valves.{set_by}",
            "no dead-man: valves stay powered when this program dies",
            f"{set_by} set, if the device has it, or devices.valves.no_dead_man: accepted",
            ("devices.valves.no_dead_man",),
        )


def _ni_channels(config: Config) -> Iterator[Problem]:
    """Every physical channel is used once, on each device server by itself."""
    devices = config.devices
    if devices is None:
        return
    used: list[tuple[str, tuple[str, str]]] = []

    def use(key: str, server: str, *channels: str) -> None:
        used.extend((key, (server, channel.lstrip("/").lower())) for channel in channels)

    daq, valves = devices.daq, devices.valves
    if daq is not None:
        use("devices.daq.inputs", daq.server, *(item.channel for item in daq.inputs))
        if daq.e_stop is not None:
            use("devices.daq.e_stop", daq.server, daq.e_stop)
    if isinstance(valves, NiValves):
        use("devices.valves.lines", valves.server, *(getattr(valves.lines, valve) for valve in VALVES))
        if (pressures := valves.pressure_channels) is not None:
            channels = (getattr(pressures, valve) for valve in VALVES)
            use("devices.valves.pressure_channels", valves.server, *channels)
        if valves.regulator is not None:
            use("devices.valves.regulator", valves.server, valves.regulator.channel)
    for (_, channel), keys in _shared(used):
        yield Problem(keys[-1], f"{channel} {len(keys)} times", "each physical channel once", tuple(keys))


def _too_busy(key: str, baud: int, load: float, rate: str, depends_on: tuple[str, ...]) -> Problem:
    allowed = f"at least {math.ceil(baud * load / ALLOWED)}, {ALLOWED:.0%} of its line time at most, or a lower {rate}"
    return Problem(key, f"{baud}, busy for {load:.0%} of its time", allowed, depends_on)


def _repeated(items: Iterable[T]) -> list[tuple[T, int]]:
    return [(item, count) for item, count in Counter(items).items() if count > 1]


def _shared(uses: Iterable[tuple[str, T]]) -> list[tuple[T, list[str]]]:
    """What is used more than once, with the keys that use it; a port without a name is none."""
    by_name: dict[T, list[str]] = defaultdict(list)
    for key, name in uses:
        if name:
            by_name[name].append(key)
    return [(name, keys) for name, keys in by_name.items() if len(keys) > 1]
