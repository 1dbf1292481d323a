"""`hil check`, `hil verify` and `hil replay`: checks of a rig, and of the record of a run."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from hil.campaign.progress import ProgressBar
from hil.cli.run_options import (
    AsJson,
    ConfigOptions,
    Endpoints,
    Out,
    Overrides,
    Unverified,
    config_from,
    progress,
    with_groups,
)
from hil.cli.terminal import FAULT, REFUSED, USAGE, complain, show, usage_errors, write_folded

if TYPE_CHECKING:
    from hil.analysis.recovery import Recovered
    from hil.analysis.replay import Difference, Replay
    from hil.app.discovery import DiscoveredDevices
    from hil.messages.fault import Check


Quick = Annotated[bool, typer.Option("--quick", help="Leave out the 10 s measurement of the machine.")]


@with_groups
def check(options: ConfigOptions, endpoints: Endpoints = None, quick: Quick = False, as_json: AsJson = False) -> None:
    """Read every device, run the arming checks, and compute bus loads and cut latency; nothing moves.

    With the realtime clock, measure for 10 s whether this machine keeps the rate of the loop.
    """
    with usage_errors():
        effective = options.load()

    from hil.app.check import check_rig
    from hil.app.discovery import broken_extensions
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
    from hil.simulator.simulated_rig import read_endpoints

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
        write_folded("no serial ports")
    for driver, server in ((driver, server) for driver, servers in found.servers.items() for server in servers):
        if server.problem:
            write_folded(server.problem)
            continue
        table = Table(
            "device", "product", "serial number", "channels", title=f"{driver}, {server.server or 'this computer'}"
        )
        for device in server.devices:
            channels = "\n".join(map(_span, filter(None, (device.ai, device.ao, device.di, device.do, device.ci))))
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


# Of the table of `hil verify` without a terminal: its sentences would make it 200 wide.
_WIDEST = 120
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]


def verify(run: Run, as_json: AsJson = False) -> None:
    """Check record and summary of a run: digests, holes, clock steps, commands obeyed; and replay it.

    What it proves: every tick and every number of the summary follow from the recorded inputs. Only the digests show
    that the inputs are those that the devices gave.
    """
    from hil.analysis.verify import verify as verify_run
    from hil.app.warm_up import report_compiling

    report_compiling(progress)
    with usage_errors(), ProgressBar("ticks run again") as bar:
        checks = verify_run(run, bar.done)
    good = all(check.ok for check in checks)
    show_checks(checks, f"{run}: {'verified' if good else 'NOT VERIFIED'}", as_json, widest=_WIDEST)
    if not good:
        raise typer.Exit(FAULT)


def replay(run: Run, unverified: Unverified = False, as_json: AsJson = False) -> None:
    """Feed the recorded inputs of a run to today's program and compare its outputs, bit for bit."""
    from hil.analysis.recorded_inputs import CannotReplayError
    from hil.analysis.replay import replay as replay_run
    from hil.app.warm_up import report_compiling

    report_compiling(progress)
    with usage_errors(CannotReplayError), ProgressBar("ticks run again") as bar:
        outcome = replay_run(run, unverified=unverified, progress=bar.done)
    if as_json:
        differences = [_plain_difference(difference) for difference in outcome.differences]
        result = {"identical": not differences} | asdict(outcome) | {"differences": differences}
        print(json.dumps(result, allow_nan=False))
    else:
        _show_replay(outcome)
    if outcome.differences:
        raise typer.Exit(FAULT)


def _show_replay(outcome: Replay) -> None:
    for note in outcome.notes:
        write_folded(f"note: {note}")
    if outcome.recorded_version != outcome.version:
        write_folded(f"recorded by version {outcome.recorded_version}, replayed by {outcome.version}")
    if not outcome.differences:
        write_folded(f"identical: {outcome.ticks} ticks, bit for bit")
        return
    columns = ("what", "first tick", "recorded", "replayed", "ticks", "largest")
    table = Table(*columns, title=f"different: {outcome.ticks} ticks replayed")
    for difference in outcome.differences:
        table.add_row(*map(Text, _words(difference)))
    show(table)


def _plain_difference(difference: Difference) -> dict[str, Any]:
    """For JSON: values that are not finite become text."""
    values = {key: getattr(difference, key) for key in ("recorded", "replayed")}
    odd = {key: str(value) for key, value in values.items() if isinstance(value, float) and not math.isfinite(value)}
    return difference._asdict() | odd


def _words(difference: Difference) -> tuple[str, ...]:
    element = "".join(f"[{place}]" for place in difference.element)
    values = ("-" if value is None else str(value) for value in (difference.recorded, difference.replayed))
    largest = "-" if difference.largest is None else f"{difference.largest:.3g}"
    return (difference.field + element, str(difference.first_tick), *values, str(difference.ticks), largest)


def recover(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run that was killed.")],
    as_json: AsJson = False,
) -> None:
    """Make trial.h5 of a killed run whole, and its summary.json, and say what is missing."""
    from hil.analysis.recompute import recover as recover_run
    from hil.analysis.recovery import NothingToRecoverError
    from hil.app.warm_up import report_compiling

    report_compiling(progress)
    with usage_errors(NothingToRecoverError, OSError):
        made, summary = recover_run(run)
    if as_json:
        print(json.dumps({**(asdict(made) if made else {}), "summary": summary}, allow_nan=False))
        return
    if made:
        _show_recovered(run, made)
    write_folded(f"summary: {summary}")


def _show_recovered(run: Path, made: Recovered) -> None:
    from hil.analysis.recovery import KILLED
    from hil.recording.reader import FILE_NAME

    if made.finished:
        write_folded(
            f"{run / FILE_NAME} is complete: the recorder had finished it; leftover files of the run are removed"
        )
    else:
        write_folded(f"{run / FILE_NAME} is complete now; the file of the killed recorder, if any, is {KILLED}")
    for name, (count, added) in (("ticks", made.ticks), ("samples", made.samples)):
        write_folded(f"{name}: {count}, of them {count - added} from the file and {added} from the rings")
    events = (name if count == 1 else f"{name} ({count} times)" for name, count in Counter(made.events).items())
    write_folded(f"events: {', '.join(events) or 'none'}")
    write_folded(f"ticks missing (skipped by the clock, or lost): {_in_words(made.ticks_missing)}")
    write_folded(f"blocks of sensor samples missing: {_in_words(made.blocks_missing)}")
    lost = "not known" if made.lost_ms is None else f"{made.lost_ms:.1f} ms"
    write_folded(f"from the last recorded tick to the last heartbeat of the loop: {lost}")


def _in_words(holes: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in holes) or "none"


@with_groups
def open_foreign(
    options: ConfigOptions,
    data: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, MAT or TDMS of an impact hammer or force plate.")],
    columns: Annotated[Path, typer.Option("--map", metavar="MAP", help="YAML: time and a column for each sensor.")],
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Try detector, droop correction, peak and rules of a config on an impact that another program recorded."""
    from hil.analysis.foreign_impact import ForeignRecordError, impact_of, read_map, read_samples, write_forces
    from hil.config.files import write_whole
    from hil.config.rig import Rig
    from hil.experiments.impact.sensing import foreign_table, sensor_channels
    from hil.recording.run_folder import empty_folder

    with usage_errors(ForeignRecordError):
        config = options.load()
        if config.daq is None:
            raise ForeignRecordError(f"{config.name} has no force sensors; allowed: a config with section daq")
        sensors = sensor_channels(config)
        samples = read_samples(data, read_map(columns), config.layout.channels, sensors)
        summary, measured = impact_of(samples, Rig(config))
        folder = None if out is None else empty_folder(out)
    if folder is not None:
        write_whole(folder / "impact.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")
        if measured is not None:
            write_forces(measured, config.layout.channels, folder / "forces.csv")
    if as_json:
        print(json.dumps(summary, allow_nan=False))
    else:
        show(foreign_table(summary))
    if summary["impact_time_s"] is None:
        raise typer.Exit(FAULT)
