"""Requirements besides devices: rights, a port for viewers, disk space; and what holds the rover on a slope."""

from __future__ import annotations

from pathlib import Path

from hil.app.build import rights_wanted
from hil.app.computer import computer_checks
from hil.config import Config
from hil.config.schema.operator import OperatorConfig
from hil.messages.check import Check
from hil.operator.curve import KeysError, allowed_clients, own_path, read_key_pair
from hil.operator.telemetry import open_publisher
from hil.realtime import rights
from hil.safety.arming import disk_check


def check_host(config: Config) -> list[Check]:
    """All checks of the computer, and of Safe on a slope."""
    slope = Check("Safe on a slope", True, config.drives.holds_on_slope, "stated in drives.holds_on_slope")
    checks = [disk_check(Path.cwd()), slope, _telemetry(config), _command_socket(config.operator)]
    with rights(rights_wanted(config.realtime, config.clock, config.rig)) as granted:
        checks += [Check(f"right: {item.name}", True, item.detail, f"{item.wanted} (optional)") for item in granted]
    return [*checks, *computer_checks(config)]


def _telemetry(config: Config) -> Check:
    warnings: list[str] = []
    open_publisher(config, warnings.append).close()
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
