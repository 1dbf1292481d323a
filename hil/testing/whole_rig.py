"""A whole simulated rig: the rover on its ground, with all devices of a config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hil.config import load_config
from hil.config.rig import Rig as ConfiguredRig
from hil.processes.lifecycle import ServedProcess
from hil.simulator.control_socket import ControlClient
from hil.simulator.simulated_rig import connect


class SimulatedRig(ServedProcess):
    """A simulated rig in real time, in separate processes, as `hil sim CONFIG` serves it; a context manager.

    Attributes:
        endpoints: addresses by name: roboclaw, roboteq, modbus (paths of ports), daq (HOST:PORT), control, ...
    """

    def __init__(self, config: str | Path, overrides: Mapping[str, Any]) -> None:
        from hil.app.warm_up import warm_up

        super().__init__()
        effective = ConfiguredRig(load_config(str(config), overrides))
        warm_up(effective, lambda _text: None)
        self._control: ControlClient
        endpoints, self._control = connect(effective, None, self._stack)
        self.endpoints = dict(endpoints)

    def ask(self, do: str, **command: Any) -> dict[str, Any]:
        """A command of its control socket (docs/reference/simulated-rig.md), and the answer.

        Raises DeviceError: refused, or the rig is gone.
        """
        return self._control.ask(do, **command)


def rig(config: str | Path = "sim_wire", overrides: Mapping[str, Any] | None = None) -> SimulatedRig:
    """A whole simulated rig, until it is closed. The first time, its kernels are compiled (half a minute).

    Args:
        config: a shipped one, or a path.
        overrides: values of it by key, as of `--set`.

    Raises:
        ConfigError: the config is not right.
        DeviceError: it could not start.
    """
    return SimulatedRig(config, overrides or {})
