"""What the links can bear, worked out from the config: load of each line, and how long a cut takes."""

from __future__ import annotations

from drivers.modbus import settings as modbus_settings
from drivers.roboclaw import settings as roboclaw_settings
from drivers.roboteq import settings as roboteq_settings
from hil.app import settings
from hil.arming import Check
from hil.config import Config
from hil.config.bus_load import ALLOWED, modbus_load, roboclaw_load, roboteq_load
from hil.config.devices import ModbusValves, RoboclawDrives, RoboteqDrives
from hil.workers.pump import DEAD_MAN_NS

# From a block being whole to its being in the loop's memory: a request to a device server, or a look at the driver.
DELIVERY_MS = 0.5


def bus_loads(config: Config) -> list[Check]:
    """Share of its time that each line carries bytes, and of its time that each worker is busy with its devices."""
    devices = config.devices
    checks = []
    if devices and isinstance(devices.drives, RoboclawDrives):
        checks += [_load(*item) for item in zip(devices.drives.ports, roboclaw_load(devices.drives), strict=True)]
        busy = roboclaw_settings.budget(settings.roboclaw(config, devices.drives))
        checks.append(_busy("drives", busy, "devices.drives.rate_hz"))
    elif devices and isinstance(devices.drives, RoboteqDrives):
        ports = [controller.port for controller in devices.drives.controllers]
        checks += [_load(*item) for item in zip(ports, roboteq_load(devices.drives), strict=True)]
        busy = roboteq_settings.budget(settings.roboteq(config, devices.drives))
        checks.append(_busy("drives", busy, "devices.drives.rate_hz"))
    if devices and isinstance(devices.valves, ModbusValves):
        checks.append(_load(devices.valves.port, modbus_load(devices.valves)))
        busy = modbus_settings.budget(settings.modbus(config, devices.valves))
        checks.append(_busy("valves", busy, "devices.valves.rate_hz"))
    return checks


def cut_latency(config: Config, filter_delay_ms: float = 0.0) -> list[Check]:
    """From the first sample over the threshold to the last byte of the last stop, at worst, part by part.

    Args:
        config: of the rig; with drives.
        filter_delay_ms: of the converters [ms].
    """
    drives = config.devices.drives if config.devices else None
    if drives is None:
        return []
    if isinstance(drives, RoboclawDrives):
        claw = settings.roboclaw(config, drives)
        in_flight_s, cut_s = roboclaw_settings.in_flight_s(claw), roboclaw_settings.cut_s(claw)
    else:
        teq = settings.roboteq(config, drives)
        in_flight_s, cut_s = roboteq_settings.in_flight_s(teq), roboteq_settings.cut_s(teq)
    samples_ms = (config.detector.consecutive - 1) / config.daq.rate_hz * 1e3
    parts = {
        "converter's filter": (filter_delay_ms, "as the device says"),
        "samples in a row": (samples_ms, "detector.consecutive"),
        "block": (config.daq.block_ms, "daq.block_ms"),
        "delivery": (DELIVERY_MS, "assumed: a request to the device server, or a look at the driver"),
        "tick": (1e3 / config.loop.rate_hz, "loop.rate_hz"),
        "transaction in flight": (in_flight_s * 1e3, "devices.drives.baud"),
        "stop frames": (cut_s * 1e3, "devices.drives.baud, and controllers on a bus"),
    }
    checks = [Check(f"cut: {name}", True, f"{ms:.2f} ms", source) for name, (ms, source) in parts.items()]
    total_ms, allowed_ms = sum(ms for ms, _ in parts.values()), DEAD_MAN_NS * 1e-6
    allowed = f"at most {allowed_ms:g} ms, after which a dead-man would cut; about 1 % of peak force for each"
    return [*checks, Check("cut: in all, at worst", total_ms <= allowed_ms, f"{total_ms:.2f} ms", allowed)]


def _load(port: str, load: float) -> Check:
    return Check(f"bus load of {port}", load <= ALLOWED, f"{load:.0%}", f"at most {ALLOWED:.0%} of its line time")


def _busy(link: str, busy: float, key: str) -> Check:
    found = f"{busy:.0%} of its time, the devices' own pauses included"
    return Check(f"worker of the {link}", busy <= 1.0, found, f"at most 100%, or it is slower than {key}")
