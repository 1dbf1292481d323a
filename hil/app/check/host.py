"""Requirements besides devices: rights, a port for viewers, disk space, what holds the rover on a slope, times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from drivers.checks import ALLOWED_LOAD, rate_key
from drivers.device_sections import ValvesSection
from drivers.driver_type import RigSetup
from drivers.registry import driver_of, valves_driver
from hil.app.run_loop import rights_wanted
from hil.config import Config
from hil.config.cylinder_parameters import cut_delay
from hil.config.rig import Rig
from hil.config.schema.devices import DevicesConfig
from hil.config.schema.equipment import OperatorConfig
from hil.messages.fault import DEAD_MAN_NS, Check
from hil.operator.curve import KeysError, allowed_clients, own_path, read_key_pair
from hil.operator.telemetry import open_publisher
from hil.realtime import rights
from hil.realtime.rights import LIMITS_FILE
from hil.safety.arming import disk_check
from hil.safety.limits import Limit

# Files of the rig's computer (docs/how-to/bring-up.md), and what each is for.
RULES = Path("/etc/udev/rules.d/99-rover-hil.rules"), "serial adapters: rights, quick answers, no sleep"
LIMITS = Path(LIMITS_FILE), "real-time rights of this user"


def check_host(config: Config) -> list[Check]:
    """All checks of the computer, and of Safe on a slope."""
    slope = Check("Safe on a slope", True, config.drives.holds_on_slope, "stated in drives.holds_on_slope")
    checks = [disk_check(Path.cwd()), slope, _telemetry(config), _command_socket(config.operator)]
    with rights(rights_wanted(config.realtime, config.clock, config.rig)) as granted:
        checks += [Check(f"right: {item.name}", True, item.detail, f"{item.wanted} (optional)") for item in granted]
    return [*checks, *computer_checks(config)]


def computer_checks(config: Config) -> list[Check]:
    """For a real rig: which file that its config has a use for is missing here. None is needed for arming."""
    return [_file(*file) for file in _wanted(config)] if config.rig == "real" else []


def _wanted(config: Config) -> Iterator[tuple[Path, str]]:
    sections = config.devices.sections() if config.devices else []
    connections = [connection for section in sections for connection in driver_of(section).connections(section)]
    if any(connection.server is None and not connection.network for connection in connections):
        yield RULES
    wanted = rights_wanted(config.realtime, config.clock, config.rig)
    if wanted.fifo_priority or wanted.lock_memory:
        yield LIMITS


def _file(place: Path, use: str) -> Check:
    found = f"{place}" if place.is_file() else f"{place} is missing; docs/how-to/bring-up.md has it"
    return Check(f"file of this computer: {place.name}", True, found, f"there, for {use} (optional)")


def _telemetry(config: Config) -> Check:
    warnings: list[str] = []
    open_publisher(config.telemetry, config.loop.rate_hz, config.layout, warnings.append).close()
    found = "; ".join(warnings) or config.telemetry.endpoint or "off"
    real = config.rig == "real"
    allowed = "free" if real else "free (a warning in simulation)"
    to_do = "end the program that uses the port, or set another one (telemetry.endpoint)"
    return Check("telemetry port", not (real and warnings), found, allowed, to_do)


def _command_socket(operator: OperatorConfig) -> Check:
    """Who may send commands to `hil operate`."""
    keys = operator.keys
    found, ok = "programs of this user on this computer (token)", True
    if keys is not None:
        try:
            read_key_pair(own_path(keys.secret))
            names = sorted(allowed_clients(own_path(keys.clients)).values())
            found = f"keys of {', '.join(names) or 'nobody'}"
        except KeysError as error:
            found, ok = str(error), False
    allowed = "a token, or keys that are in order (operator.keys)"
    return Check("command socket", ok, found, allowed, "make the keys again, where it says so: hil keys new")


def bus_loads(devices: DevicesConfig | None, setup: RigSetup) -> list[Check]:
    """Share of the time that each line transfers bytes, and that each worker is busy with its devices."""
    checks = []
    for section in devices.sections() if devices else ():
        driver = driver_of(section)
        for load in driver.line_loads(section, setup):
            to_do = "raise the baud rate of the line, or ask its devices less often (rate_hz)"
            share = Limit(
                f"bus load of {load.port or 'a line'}", "%", ALLOWED_LOAD, "of its line time", to_do, scale=100
            )
            checks.append(share._replace(shown=".0f").check(load.share))
        if (busy := driver.busy(section, setup)) is not None:
            key, words = rate_key(section.role), f"{busy:.0%} of its time, including the pauses of its devices"
            whole = Limit(f"worker of the {section.role}", "%", 1.0, f"or it is slower than {key}", f"lower {key}")
            checks.append(whole._replace(scale=100.0).check(busy, words))
    return checks


def cut_latency(rig: Rig, filter_delay_ms: float = 0.0) -> list[Check]:
    """Worst-case time from the first sample over the threshold to the last byte of the last stop, part by part.

    Args:
        rig: without drives or force sensors, which detect the impact, there is no result.
        filter_delay_ms: of the converters [ms].
    """
    drives = rig.config.devices.drives if rig.config.devices else None
    if drives is None or not rig.layout.channels:
        return []
    parts = cut_delay(rig.config, filter_delay_ms)
    if parts is None:
        return [Check("cut: in all, at worst", True, "not known", f"the driver {drives.driver} does not report it")]
    checks = [Check(f"cut: {part.name}", True, f"{part.ms:.2f} ms", part.source) for part in parts]
    words = "after which a dead-man would cut; about 1 % of peak force for each"
    to_do = "shorten the longest part above: a faster line (baud), shorter blocks of samples (daq.block_ms)"
    total = Limit("cut: in all, at worst", "ms", DEAD_MAN_NS * 1e-6, words, to_do, shown=".2f")
    return [*checks, total.check(sum(part.ms for part in parts))]


def actuation(valves: ValvesSection | None, setup: RigSetup) -> list[Check]:
    """Worst-case time from a command to the valves to the answer of their device, where the driver knows it."""
    if valves is None or (times_s := valves_driver(valves).actuation_s(valves, setup)) is None:
        return []
    one_ms, all_ms = (time_s * 1e3 for time_s in times_s)
    regulators = " and the regulators" if setup.valves.regulators else ""
    found = f"one valve {one_ms:.0f} ms, all{regulators} {all_ms:.0f} ms"
    return [Check("valves: command to answer, at worst", True, found, "devices.valves.baud sets it")]
