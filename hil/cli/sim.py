"""`hil sim`: the simulated rig at the protocol level, or one simulated device."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from hil.cli.exits import USAGE, complain, usage_errors
from hil.cli.options import Overrides, Seed, config_from, progress
from hil.processes.stop_flag import SignalStop


def _one_line(place: dict[str, Any]) -> None:
    print(f"{place['device']}: {place.get('path', place.get('address'))}", flush=True)


def _as_json(place: Mapping[str, Any]) -> None:
    print(json.dumps(place), flush=True)


def _device_of(source: str) -> str | None:
    """The name of a simulated device; None: it is a config, also where a device has the same name."""
    from hil.testing.serving import DEVICES

    shipped = resources.files("rig_configs") / f"{source}.yaml"
    return source if source in DEVICES and not Path(source).is_file() and not shipped.is_file() else None


def _settings(overrides: list[str] | None) -> dict[str, Any]:
    """`--set NAME=VALUE` of a device."""
    from hil.config.overrides import changes_of

    settings: dict[str, Any] = {}
    for override in overrides or ():
        changes, problems = changes_of([override])
        if problems or not changes[0].path.isidentifier():
            complain(f"--set {override}: found; allowed: NAME=VALUE with a YAML value")
            raise typer.Exit(USAGE)
        settings[changes[0].path] = changes[0].value
    return settings


def _serve_device(
    name: str, endpoints: Path | None, overrides: list[str] | None, announce: Callable[[dict[str, Any]], None]
) -> None:
    from hil.testing.serving import SettingError, make, serve

    try:
        device = make(name, _settings(overrides))
    except SettingError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    try:
        serve(device, endpoints, SignalStop(), announce, _as_json)
    except OSError as error:
        complain(f"--endpoints {endpoints}: {error.strerror}")
        raise typer.Exit(USAGE) from None


def sim(
    source: Annotated[
        str,
        typer.Argument(metavar="CONFIG|DEVICE", help="A config, as of hil run; or one device, in the list below."),
    ],
    endpoints: Annotated[
        Path | None,
        typer.Option("--endpoints", metavar="FILE", help="Write the device addresses to FILE, once all are ready."),
    ] = None,
    overrides: Overrides = None,
    seed: Seed = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Of a DEVICE: print where it is as one JSON object.", show_default=False)
    ] = False,
) -> None:
    """Serve a simulated rig in real time, until stopped: serial ports, a DAQ server, a control socket.

    Or one simulated DEVICE, for tests of any program in any language: its first line on standard output says where it
    is, and commands on standard input, one JSON object a line, inject faults and read and set its state
    (docs/reference/simulated-devices.md). DEVICE is roboclaw, roboclaw_servos, roboteq, relay_board, regulators,
    amplifier, encoders, ni_chassis, distance_sensor, imu or motion_capture; --set NAME=VALUE changes one of its
    settings. A name of both a config and a device is the config.
    """
    if (device := _device_of(source)) is not None:
        if seed is not None:
            complain(f"--seed {seed}: {device} is one device and has no seed; leave it out")
            raise typer.Exit(USAGE)
        _serve_device(device, endpoints, overrides, _as_json if as_json else _one_line)
        return
    if as_json:
        complain("--json: of one DEVICE only; a rig writes its addresses with --endpoints FILE")
        raise typer.Exit(USAGE)
    with usage_errors():
        effective = config_from(source, overrides, seed, None)

    from hil.app.warm_up import warm_up
    from hil.config.rig import Rig
    from hil.simulator.rig_server import serve_rig

    warm_up(Rig(effective), progress)  # so that its processes find every kernel in the cache
    with usage_errors():
        serve_rig(effective, endpoints, SignalStop(), progress)
