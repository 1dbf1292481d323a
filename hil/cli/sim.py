"""`hil sim`: the simulated rig at the protocol level, or one simulated device.

`hil serve`: a simulated rover that another simulator moves, step by step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from hil.cli.run_options import AsJson, ConfigOptions, Overrides, Seed, config_from, progress, with_groups
from hil.cli.terminal import USAGE, complain, usage_errors


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
    from hil.processes.lifecycle import SignalStop
    from hil.testing.serving import SettingError, make, serve

    with usage_errors(SettingError):
        device = make(name, _settings(overrides))
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
    as_json: Annotated[bool, typer.Option("--json", help="Of a DEVICE: print where it is as one JSON object.")] = False,
) -> None:
    """Serve a simulated rig in real time, until stopped: serial ports, a DAQ server, a control socket.

    Or one simulated DEVICE, for tests of any program in any language: its first line on standard output says where it
    is, and commands on standard input, one JSON object a line, inject faults and read and set its state
    (docs/reference/simulated-devices.md). DEVICE is roboclaw, roboclaw_servos, roboteq, relay_board, regulators,
    amplifier, encoders, ni_chassis, distance_sensor, imu, motion_capture or total_station; --set NAME=VALUE changes
    one of its settings. A name of both a config and a device is the config.
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
    from hil.processes.lifecycle import SignalStop
    from hil.simulator.rig_server import serve_rig

    warm_up(Rig(effective), progress)  # so that its processes find every kernel in the cache
    with usage_errors():
        serve_rig(effective, endpoints, SignalStop(), progress)


@with_groups
def serve(
    options: ConfigOptions,
    endpoint: Annotated[
        str,
        typer.Option("--endpoint", metavar="tcp://ADDRESS:PORT", help="Where callers connect; * as the port: free."),
    ] = "tcp://127.0.0.1:*",
    contacts: Annotated[
        str,
        typer.Option(
            "--contacts", metavar="built_in|outside", help="The config's ground, or contacts that the caller sends."
        ),
    ] = "built_in",
    as_json: AsJson = False,
) -> None:
    """Serve a simulated rover to another simulator, which moves it step by step, until ended with Ctrl-C.

    The first line on standard output says where (with --json as one object: step_endpoint, contacts, rig). The messages
    are in docs/reference/step-service.md; clients in Python and C in docs/how-to/step-from-a-simulator.md.
    """
    if contacts not in ("built_in", "outside"):
        raise typer.BadParameter(f"found {contacts!r}; allowed: built_in, outside", param_hint="--contacts")
    if not endpoint.startswith("tcp://"):
        raise typer.BadParameter(f"found {endpoint!r}; allowed: tcp://ADDRESS:PORT", param_hint="--endpoint")
    with usage_errors():
        config = options.load()

    from hil.app.warm_up import report_compiling
    from hil.config.rig import Rig
    from hil.processes.lifecycle import SignalStop
    from hil.simulator.stepping.service import StepService, StepSocket

    stop = SignalStop()
    report_compiling(progress)
    with usage_errors(ValueError):
        service = StepService(Rig(config), outside=contacts == "outside", progress=progress)
        socket = StepSocket(service, endpoint, config.operator.keys)
    with socket:
        if as_json:
            where = {"step_endpoint": socket.endpoint, "contacts": contacts, "rig": f"{service.number:08x}"}
            print(json.dumps(where), flush=True)
        else:
            print(f"step service {socket.endpoint}, contacts {contacts}", flush=True)
        socket.serve(stop)
