"""`hil check`: run the arming checks without moving.

`hil devices`: list the connected devices, and the config keys that refer to them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hil.cli.run_options import AsJson, ConfigOptions, Endpoints, Overrides, config_from, progress, with_groups
from hil.cli.terminal import REFUSED, USAGE, complain, show, usage_errors

if TYPE_CHECKING:
    from hil.app.discovery import DiscoveredDevices
    from hil.messages.check import Check


Quick = Annotated[bool, typer.Option("--quick", help="Leave out the 10 s measurement of the machine.")]


@with_groups
def check(options: ConfigOptions, endpoints: Endpoints = None, quick: Quick = False, as_json: AsJson = False) -> None:
    """Read every device, run the arming checks, and compute bus loads and cut latency; nothing moves.

    With the realtime clock, measure for 10 s whether this machine keeps the rate of the loop.
    """
    with usage_errors():
        effective = options.load()

    from hil.app.check import check_rig
    from hil.app.extensions import broken_extensions
    from hil.config.rig import Rig

    with usage_errors():
        checks, missing = check_rig(Rig(effective), progress, endpoints, quick=quick)
    show_checks(checks, f"{effective.name}: check before arming", as_json)
    for text in broken_extensions():
        complain(f"warning: {text}")
    for text in missing:
        complain(text)
    if missing:
        raise typer.Exit(USAGE)
    if not all(item.ok for item in checks):
        raise typer.Exit(REFUSED)


# A digest in a table is as long as one needs to tell it from another; `--json` has all of it.
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


def show_checks(checks: Sequence[Check], title: str, as_json: bool, widest: int = 10_000) -> None:
    """Print checks as a table, or as JSON. `widest`: see `show`."""
    if as_json:
        import msgspec

        print(msgspec.json.encode(checks).decode())
        return
    table = Table("item", "ok", "found", "allowed", title=title)
    for check in checks:
        verdict = Text("yes", "green") if check.ok else Text("NO", "bold red")
        allowed = Text(_short(check.allowed))
        if check.to_do:
            allowed.append(f"\n{check.to_do}", "bold")
        table.add_row(Text(check.item), verdict, Text(_short(check.found)), allowed)
    show(table, widest)


def _short(text: str) -> str:
    return _DIGEST.sub(r"\1...", text)


def devices(
    config: Annotated[
        str | None, typer.Argument(metavar="[CONFIG]", help="Config whose ports and channels are checked.")
    ] = None,
    server: Annotated[
        str | None,
        typer.Option("--server", metavar="HOST:PORT", help="NI gRPC device server to query."),
    ] = None,
    endpoints: Endpoints = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """List serial ports and NI devices; with CONFIG also what answers on the network, and whether its keys exist.

    Opens no serial port.
    """
    from hil.app.discovery import find_devices
    from hil.app.driver_factory import at_endpoints
    from hil.config.rig import Rig
    from hil.config.schema.base import SERVER
    from hil.simulator.connection import read_endpoints

    with usage_errors():
        effective = config_from(config, overrides, None, None) if config else None
        if server and not re.match(SERVER, server):
            complain(f"--server {server}: allowed: HOST:PORT, with a port of at most 65535")
            raise typer.Exit(USAGE)
        if effective and endpoints and effective.rig == "simulated_wire":
            effective = at_endpoints(effective, read_endpoints(endpoints))
    attached = find_devices(Rig(effective) if effective else None, server)
    if as_json:
        print(json.dumps(_plain(attached)))
    else:
        _show(attached)


def _plain(found: DiscoveredDevices) -> dict[str, Any]:
    def fields(struct: Any) -> dict[str, Any]:
        return {name: getattr(struct, name) for name in struct.__struct_fields__}

    return {
        "serial": [fields(port) for port in found.serial],
        **{
            driver: [
                server._asdict() | {"devices": [fields(device) for device in server.devices]} for server in servers
            ]
            for driver, servers in found.servers.items()
        },
        "network": [
            device._asdict() | {"rate_hz": device.rate_hz if math.isfinite(device.rate_hz) else None}
            for device in found.network
        ],
        "keys": [key._asdict() for key in found.keys],
    }


def _show(found: DiscoveredDevices) -> None:
    if found.serial:
        table = Table("port", "USB", "maker", "product", "serial number", "by id, for the config", title="Serial ports")
        for port in found.serial:
            table.add_row(*map(Text, (port.port, port.usb, port.maker, port.product, port.serial, port.by_id)))
        show(table)
    else:
        print("no serial ports")
    for driver, server in ((driver, server) for driver, servers in found.servers.items() for server in servers):
        if server.problem:
            print(server.problem)
            continue
        table = Table(
            "device", "product", "serial number", "channels", title=f"{driver}, {server.server or 'this computer'}"
        )
        for device in server.devices:
            channels = "\n".join(map(_span, filter(None, (device.ai, device.ao, device.di, device.do))))
            table.add_row(*map(Text, (device.name, device.product, device.serial, channels)))
        show(table)
    if found.network:
        table = Table("address", "driver", "answers", "readings a second", title="On the network")
        for item in found.network:
            rate = f"{item.rate_hz:.1f}" if math.isfinite(item.rate_hz) else "none"
            table.add_row(Text(item.address), Text(item.driver), Text(item.words), Text(rate))
        show(table)
    if found.keys:
        table = Table("key", "names", "there", title="Keys of the config")
        for key in found.keys:
            there = {True: Text("yes", "green"), False: Text("NO", "bold red"), None: Text("not known")}[key.found]
            table.add_row(Text(key.key), Text(key.wanted or "nothing yet"), there)
        show(table)


def _span(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {Path(names[-1]).name}, {len(names)}"
