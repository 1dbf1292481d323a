"""The simulated rig at the protocol level, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from drivers.interfaces import DeviceError
from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.serial import VirtualLines
from hil.config import Config
from hil.ipc.shm import Ring
from hil.simulator.daq_process import DaqServer
from hil.simulator.ground_truth import truth_answer
from hil.simulator.memory import RESET, SimulatorMemory
from hil.simulator.plant_process import RealtimePlant
from hil.simulator.rounds import LONGEST_NS
from hil.simulator.serial_devices import has_server
from hil.simulator.serial_process import SerialLines


class VirtualRig:
    """Plant, serial devices and device server of `hil.simulator`, each called when it is due.

    Args:
        config: of the rig.
        folder: of its memory; exists and is empty.
        host: of the drivers; its ports and its network connect to this rig.

    Attributes:
        endpoints: addresses of its devices, by name.
    """

    def __init__(self, config: Config, folder: Path, host: VirtualHost) -> None:
        self._host = host
        memory = SimulatorMemory(folder, config)
        self._plant = RealtimePlant(memory, host.now_ns(), host)
        self._serial = SerialLines(memory, host, host.terminal, host.network_terminal)
        VirtualLines(host.time, self._serial.lines, host.ports)

        self._daq = DaqServer(memory, host, host) if has_server(config.devices, config.daq) else None
        self.endpoints = self._serial.endpoints
        if self._daq:
            self.endpoints["daq"] = self._daq.server.start()
        self._handlers: dict[str, Callable[[dict[str, Any]], Mapping[str, Any]]] = {
            "truth": self._ground_truth,
            "place": self._place,
            "lateness": lambda _command: {"late": []},  # nothing is late by itself in virtual time
            **self._serial.handlers,
            **(self._daq.handlers if self._daq else {}),
            "inject_fault": self._of("inject_fault"),
            "e_stop": self._of("e_stop"),
        }
        self._memory = memory
        self._round()

    def ask(self, do: str, **command: Any) -> dict[str, Any]:
        """As `hil.simulator.control_socket.ControlClient.ask`."""
        try:
            return dict(self._handlers[do](command))
        except (ValueError, KeyError, TypeError) as error:
            raise DeviceError(f"simulated rig: {do}: {error}") from error

    def lines(self) -> dict[str, bool]:
        """States of the digital outputs."""
        return dict(self._daq.server.lines) if self._daq else {}

    def driven_radps(self) -> list[float]:
        """Speed commanded by the controller of each wheel [rad/s]; 0 if it is cut or held at rest."""
        return [float(speed) for speed in _newest(self._memory.wheel_commands)["speed_radps"]]

    def set_Pa(self) -> list[float]:
        """Gauge pressure that each moved regulator is set to [Pa]."""
        return [float(pressure) for pressure in _newest(self._memory.valve_commands)["regulators_Pa"][:-1]]

    def powered(self) -> list[bool]:
        """Whether each valve is powered."""
        return [bool(on) for on in _newest(self._memory.valve_commands)["powered"][:-1]]

    def held(self) -> list[bool]:
        """Whether the controller of each driven joint holds an angle."""
        return [not cut for cut in _newest(self._memory.servo_commands)["servo_cut"][:-1]]

    def close(self) -> None:
        """Unmap its memory; none of its actions may be scheduled any more."""
        self._memory.close()

    def _round(self) -> None:
        """Advance the plant to the end of a round."""
        time = self._host.time
        self._plant.round(time.now_ns)
        self._plant.truth_publisher.publish(self._plant.rounds, 0)
        time.call_at(self._plant.rounds.next_ns(time.now_ns), self._round)

    def _of(self, do: str) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
        """A handler that passes a command on to the process of the device that it names."""

        def handle(command: dict[str, Any]) -> Mapping[str, Any]:
            served = self._daq if self._daq and command.get("device") == "daq" else self._serial
            return served.handlers[do](command)

        return handle

    def _place(self, command: dict[str, Any]) -> dict[str, Any]:
        """Put the rover back to its start, with the given obstacle angle and seed."""
        self._memory.reset.write(np.array([(command["angle_deg"], command["seed"])], RESET))
        self._host.sleep(2 * LONGEST_NS * 1e-9)  # the plant's next round does it
        return {}

    def _ground_truth(self, command: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Values known only to the plant; times are of the virtual clock."""
        self._plant.truth_publisher.publish_final()
        return truth_answer(self._memory.ground_truth, self._memory.histories)


def _newest(commands: Ring) -> np.void:
    """The newest row of commands; zeros before the first."""
    rows = commands.reader("newest").read(commands.capacity)
    return cast("np.void", rows[-1] if len(rows) else np.zeros(1, commands.dtype)[0])
