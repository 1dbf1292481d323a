"""A simulated rig at the protocol level for one run: one that is already running, or one started for this run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from drivers.interfaces import DeviceError
from hil.config.files import read_json
from hil.config.rig import Rig
from hil.processes.lifecycle import Process
from hil.simulator.control_socket import ControlClient, wait_for

READY_S = 120.0
END_S = 15.0
_MOST_BYTES = 2**16  # of an endpoints file
NAMES = ("control",)  # every rig has it; `at_endpoints` checks the rest
_HOW = "`hil sim CONFIG --endpoints FILE` writes them"

Progress = Callable[[str], None]
Endpoints = Mapping[str, str]


def connect(rig: Rig, endpoints: Path | None, stack: ExitStack) -> tuple[Endpoints, ControlClient]:
    """Connect to a simulated rig and put its rover at the start of the config's trial; endpoints and control client.

    `endpoints` is the file of a running rig (`hil sim --endpoints`); None: a new rig is started, which `stack` stops.

    Raises DeviceError: there is no rig, or it could not start.
    """
    addresses = read_endpoints(endpoints or spawn_simulator(rig.config.model_dump_json(), stack))
    control = stack.enter_context(ControlClient(addresses["control"]))
    control.ask("place", angle_deg=rig.config.trial.angle_deg, seed=rig.config.seed)
    return addresses, control


def spawn_simulator(config: str, stack: ExitStack) -> Path:
    """Start the rig of a config (JSON) that `stack` stops; its endpoints file. Raises DeviceError: it did not start."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hil-trial-")))
    source, endpoints = folder / "config.json", folder / "endpoints.json"
    source.write_text(config, encoding="utf-8")
    process = Process("rig_server", str(source), str(endpoints))
    stack.callback(process.end, END_S)
    wait_for(lambda: endpoints.exists() or process.status() is not None, READY_S)
    if not endpoints.exists():
        reason = process.receive(0.0).get("error", "see its output above")
        raise DeviceError(f"simulated rig: it could not start: {reason}")
    return endpoints


def read_endpoints(path: Path) -> Endpoints:
    """The endpoints in a file written by `hil sim --endpoints`. Raises DeviceError."""
    try:
        addresses = read_json(path, _MOST_BYTES)
        missing = [key for key in NAMES if not isinstance(addresses.get(key), str)]
    except (OSError, ValueError, AttributeError) as error:
        raise DeviceError(f"{path}: not an endpoints file of a simulated rig ({error}); {_HOW}") from error
    if missing:
        raise DeviceError(f"{path}: endpoints without {', '.join(missing)}; {_HOW}")
    return dict(addresses)
