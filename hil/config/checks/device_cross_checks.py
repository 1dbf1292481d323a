"""Cross-checks of the devices of a config, its camera, its endpoints and its limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from drivers.device_sections import TriggerValues, ValvesSection
from drivers.driver_type import Connection
from drivers.messages import CAMERA_TRIGGER
from drivers.registry import driver_of
from hil.config.problems import Problem
from hil.config.rig_setup import rig_setup
from hil.config.schema.equipment import is_local
from hil.config.schema.sensors import CameraConfig
from hil.config.unchecked_config import UncheckedConfig, measured_supplies
from hil.messages.layout import AGED, ROLES


def camera_cross_checks(config: UncheckedConfig) -> Iterator[Problem]:
    """All of them, each naming the key to change."""
    if (camera := config.camera) is None:
        return
    if camera.v4l2 and config.clock == "lockstep":
        allowed = '"", a simulated camera: a real one has no virtual time (clock: lockstep)'
        yield Problem("camera.device", camera.device, allowed, ("clock",))
    if not camera.device and config.rig == "real":
        allowed = "a V4L2 device, as /dev/v4l/by-id/..., or none: a real rig has no simulated camera (rig: real)"
        yield Problem("camera.device", '""', allowed, ("rig",))
    if not camera.lines and camera.device == "none":
        allowed = "a section: without frames and without a trigger line there is nothing to do"
        yield Problem("camera.trigger", "nothing (null)", allowed, ("camera.device",))
    for name, line in camera.lines.items():
        if line.when == "impact" and config.daq is None:
            allowed = "armed: with daq: null the rig has no force sensors, which detect the impact"
            yield Problem(f"camera.{name.removeprefix('camera_')}.when", "impact", allowed, ("daq",))
    valves = config.devices.valves if config.devices else None
    if valves is not None and config.rig != "simulated":
        yield from _trigger_places(valves, camera)


def _trigger_places(valves: ValvesSection, camera: CameraConfig) -> Iterator[Problem]:
    """Where the device of the valves switches each trigger line."""
    for key, wanted in ((CAMERA_TRIGGER, camera.trigger), (f"{CAMERA_TRIGGER}s", camera.triggers)):
        of, there = key.replace("_", "."), getattr(valves, key, None)
        if wanted and not hasattr(valves, key):
            found, allowed = valves.driver, f"one that switches a trigger line: modbus or ni; or {of}: null"
            yield Problem("devices.valves.driver", found, allowed, (of,))
        elif isinstance(there, TriggerValues):
            yield from there.problems(f"devices.valves.{key}", tuple(camera.triggers or ()), of)
        elif wanted and there is None:
            allowed = "a coil of the relay board, or a digital line of the NI device, that nothing else uses"
            allowed = f"{allowed}, for each of {', '.join(wanted)}" if isinstance(wanted, dict) else allowed
            yield Problem(f"devices.valves.{key}", "nothing (null)", allowed, (of,))


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
    for name in AGED:
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
    for section in devices.sections() if devices else ():
        if (role := section.role) in links:
            continue
        keys: tuple[str, ...] = (role,)
        why = f"with {role}: null the rig has no {ROLES[role].title}"
        if role == "valves":
            keys = ("rover.type", "camera")
            why = "the rig has no cylinders (rover.type, cylinders.joints), and the camera has no trigger line"
        yield Problem(f"devices.{role}", f"a section, {section.driver}", f"null, or left out: {why}", keys)
    if devices and (valves := devices.valves) and config.layout.regulators and not valves.can_regulate:
        key = "cylinders.regulators"
        yield Problem("devices.valves.driver", valves.driver, f"one that moves regulators, or {key}: none", (key,))
    if config.rig == "simulated":
        return
    if config.rig == "real" and config.clock == "lockstep":
        yield Problem("clock", "lockstep", "realtime, because devices have no virtual time (rig: real)", ("rig",))
    for role in (role for role in links if not getattr(devices, role, None)):
        allowed = f"a section, as in mars_dome.yaml; needed with rig: {config.rig}{_without(role)}"
        yield Problem(f"devices.{role}", "nothing", allowed, ("rig",))


def _without(role: str) -> str:
    """What to set for a rig that has no such device; "": each has it."""
    if role == "drives":
        return ""
    title = "cylinders" if role == "valves" else ROLES[role].title
    return f"; or {'cylinders.joints: []' if role == 'valves' else f'{role}: null'}, if the rig has no {title}"


def _connections(config: UncheckedConfig) -> Iterator[Problem]:
    """Every link has a separate port, and every physical channel is used once, on each device server by itself."""
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
            allowed = f"a separate port for each link ({links}), as each has a separate process"
            yield Problem(keys[-1], f"{name} for {len(keys)} links", allowed, keys)
        elif len(keys) > 1:
            yield Problem(keys[-1], f"{name} {len(keys)} times", "each physical channel once", keys)
    if config.rig == "real":
        for key, network in {one.setting: one.network for one in used if not one.name}.items():
            port = "the path of a serial port: `hil devices` lists them"
            yield Problem(key, "''", "HOST:PORT of the device on the network" if network else port, ("rig",))


def endpoint_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    return [*_without_keys(config), *_ipc_with_keys(config), *_of_the_page(config)]


def _without_keys(config: UncheckedConfig) -> Iterator[Problem]:
    for name, section in (("operator", config.operator), ("telemetry", config.telemetry)):
        if section.keys is None and not is_local(section.endpoint):
            allowed = (
                f"an address of this computer alone (tcp://127.0.0.1:PORT), or {name}.keys: other computers can reach "
                "this one, and without keys anyone could connect (hil keys new)"
            )
            yield Problem(f"{name}.endpoint", section.endpoint, allowed, (f"{name}.keys",))


def _ipc_with_keys(config: UncheckedConfig) -> Iterator[Problem]:
    if config.telemetry.keys is not None and not config.telemetry.endpoint.startswith("tcp://"):
        allowed = "null: keys protect an endpoint tcp://ADDRESS:PORT"
        yield Problem("telemetry.keys", "keys", allowed, ("telemetry.endpoint",))


def _of_the_page(config: UncheckedConfig) -> Iterator[Problem]:
    operator, page = config.operator, config.operator.page
    if (page.certificate is None) != (page.certificate_key is None):
        there, missing = ("certificate", "certificate_key") if page.certificate else ("certificate_key", "certificate")
        allowed = f"null, or operator.page.{missing} as well: TLS needs both"
        yield Problem(f"operator.page.{there}", "a file", allowed, (f"operator.page.{missing}",))
    secure = {
        "operator.page.certificate": page.certificate,
        "operator.page.client_key": page.client_key,
        "operator.keys": operator.keys,
    }
    missing_keys = tuple(key for key, value in secure.items() if value is None)
    if missing_keys and not is_local(f"tcp://{page.address}"):
        allowed = (
            f"an address of this computer alone (127.0.0.1:PORT), or {', '.join(missing_keys)} as well: other "
            "computers can reach this one, so the page needs TLS and keys (docs/how-to/operate.md)"
        )
        yield Problem("operator.page.address", page.address, allowed, missing_keys)


def limit_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    return [*_numbers(config), *_gearbox(config), *_currents(config), *_pressures(config)]


def _numbers(config: UncheckedConfig) -> Iterator[Problem]:
    for key in ("sensor_force_N", "bumper_force_N"):
        if config.rig == "real" and getattr(config.limits, key) is None:
            allowed = "a number with rig: real; an impact is not limited on a simulated rig only"
            yield Problem(f"limits.{key}", "null", allowed, ("rig",))


def _gearbox(config: UncheckedConfig) -> Iterator[Problem]:
    """The drives turn their gears, and have their largest torque at every commanded speed, as their model has it."""
    friction_Nm, most_Nm = config.drives.gear_friction_Nm, config.drives.largest_torque_Nm
    if friction_Nm >= most_Nm:
        allowed = f"below drives.torque_limit_Nm, {most_Nm:.4g} Nm: these drives do not turn their own gears"
        yield Problem("drives.gear_friction_Nm", f"{friction_Nm:g}", allowed, ("drives.torque_limit_Nm",))
    if (gearbox := config.drives.gearbox) is None:
        return
    most, found = gearbox.at_axle.full_torque_speed, config.limits.wheel_speed_radps
    if found > most:
        allowed = f"up to {most:.4g} rad/s: above it the voltage limits the torque behind a gear of 1:{gearbox.ratio:g}"
        yield Problem("limits.wheel_speed_radps", f"{found:g} rad/s", allowed, ("drives.gearbox.ratio",))


def _currents(config: UncheckedConfig) -> Iterator[Problem]:
    """A limit of what no driver measures would be one that nothing watches."""
    drives = config.devices.drives if config.devices else None
    if measured_supplies(config.rig, config.devices) or drives is None:
        return
    allowed = f"null: the driver {drives.driver} measures neither motor currents nor the supply"
    for key in ("motor_current_A", "supply_V"):
        if getattr(config.limits, key) is not None:
            yield Problem(f"limits.{key}", "a limit", allowed, ("devices.drives",))


def _pressures(config: UncheckedConfig) -> Iterator[Problem]:
    if config.limits.pressure_kPa is None:
        return
    valves = config.devices.valves if config.devices else None
    if not config.layout.cylinders:
        allowed = "null: the rover has no cylinders"
        yield Problem("limits.pressure_kPa", "a limit", allowed, ("rover.type", "cylinders.joints"))
    elif config.rig != "simulated" and valves is not None and not valves.measures_pressures:
        allowed = f"null: the driver {valves.driver} has no pressure inputs; nothing measures this"
        yield Problem("limits.pressure_kPa", "a limit", allowed, ("devices.valves",))
