"""All devices of a simulated rig on serial lines and UDP ports, in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, Host
from drivers.registry import BUILT_IN, driver_of
from drivers.sim.protocol.line import Kind, Line, LineFault, OwnFaults, Pty, SimulatedPort, Terminal, serve_lines
from drivers.sim.protocol.plant_ports import PlantPorts
from drivers.sim.protocol.udp import UdpTerminal
from hil.config.rig_setup import rig_setup
from hil.config.schema.devices import DevicesConfig
from hil.config.schema.sensors import DaqConfig
from hil.ipc.run_memory import LatenessLog
from hil.messages.layout import Layout
from hil.processes.lifecycle import WorkerLifecycle
from hil.realtime import RightsWanted, rights
from hil.simulator.control_socket import Answer, CommandReader, Handler
from hil.simulator.memory import CylindersInMemory, InstrumentInMemory, ServosInMemory, SimulatorMemory, WheelsInMemory
from hil.simulator.sampled_memory import ReadingsInMemory


def serial_peers(
    devices: DevicesConfig | None, layout: Layout, rig: RigSetup, ports: PlantPorts
) -> dict[str, SimulatedPort]:
    """All serial devices by the names of their endpoints.

    Devices of built-in drivers that the config does not use are served too, on the same rover; a link that the rig does
    not have gets none.
    """
    sections = {driver_of(section): section for section in (devices.sections() if devices else ())}
    peers: dict[str, SimulatedPort] = {}
    for kind in dict.fromkeys((*BUILT_IN, *sections)):
        if kind.role in layout.links:
            peers |= kind.simulated_ports(sections.get(kind), rig, ports)
    return peers


def has_server(devices: DevicesConfig | None, daq: DaqConfig | None) -> bool:
    """Whether the rig needs a device server: it has force sensors, or valves on digital lines."""
    sections = devices.sections() if devices else ()
    return daq is not None or any(driver_of(section).uses_servers for section in sections)


# Below the plant, which provides the values of the answers, and below the link workers: simulated devices must take no
# time from the controller. They need little CPU time, and log their own lateness.
BELOW_LOOP = 11

# Event lists that a device keeps.
_SEEN = ("stops", "starts", "timeouts", "switched")


class SerialLines:
    """The lines of a rig, by the names of its endpoints.

    `terminal` makes what the drivers open at a path, `network` that of a device on the network.
    """

    def __init__(
        self,
        memory: SimulatorMemory,
        host: Host = COMPUTER,
        terminal: Callable[[Path], Terminal] = Pty,
        network: Callable[[Path], Terminal] = UdpTerminal,
    ) -> None:
        loads = memory.sampled.get("loads")
        config = memory.config
        readings = (
            None
            if loads is None or config.loads is None
            else ReadingsInMemory(loads, config.layout.loads, config.loads.rate_hz)
        )
        instruments = {role: InstrumentInMemory(memory, role) for role in memory.readings}
        servos = ServosInMemory(memory, host) if config.layout.servos else None
        cylinders = CylindersInMemory(memory, host)
        ports = PlantPorts(WheelsInMemory(memory, host), cylinders, readings, instruments, servos)
        peers = serial_peers(memory.config.devices, memory.config.layout, rig_setup(memory.config), ports)
        self._devices = {name: peer.device for name, peer in peers.items()}
        notes = LatenessLog(memory.late["serial"])
        self.served = notes.of("serial devices")
        self.lines = {
            name: Line(
                memory.folder / name,
                peer.device,
                peer.baud,
                peer.turnaround_ns,
                network if peer.network else terminal,
                notes.of(name),
                network=peer.network,
                characters=peer.characters,
            )
            for name, peer in peers.items()
        }

    @property
    def endpoints(self) -> dict[str, str]:
        """What a driver opens, by the names of the endpoints: paths of ports, and HOST:PORT."""
        return {name: line.endpoint for name, line in self.lines.items()}

    @property
    def handlers(self) -> dict[str, Handler]:
        """Its commands."""
        return {"inject_fault": self.inject_fault, "e_stop": self.e_stop, "stops": self.stops}

    def inject_fault(self, command: dict[str, Any]) -> Answer:
        """Disturb the traffic of a line, or start a fault of the device at its end."""
        line, kind = self._of(command, self.lines), command.get("kind")
        own = line.device.kinds if isinstance(line.device, OwnFaults) else ()
        if kind not in (kinds := (*get_args(Kind), *own)):
            raise ValueError(f"kind is one of {', '.join(kinds)}, found {kind!r}")
        if isinstance(line.device, OwnFaults) and kind in own:
            line.device.inject_fault(command.pop("kind"), command)
        else:
            line.inject_fault(msgspec.convert(command, LineFault))
        return {}

    def e_stop(self, command: dict[str, Any]) -> Answer:
        """Press or release the emergency stop that a controller reads."""
        self._of(command, self._devices).press(bool(command["pressed"]))
        return {}

    def stops(self, command: dict[str, Any]) -> Answer:
        """Events that a device recorded, each with its time [ns of CLOCK_MONOTONIC].

        Wheel drives and servos: stops commanded, starts, and stops by the controller's own time-out. A relay board: its
        switching events.
        """
        device = self._of(command, self._devices)
        return {name: list(getattr(device, name)) for name in _SEEN if hasattr(device, name)}

    def _of(self, command: dict[str, Any], things: Mapping[str, Any]) -> Any:
        name = command.pop("device", None)
        if name not in things:
            raise ValueError(f"device is one of {', '.join(things)}, found {name!r}")
        return things[name]


def run_serial_lines(lifecycle: WorkerLifecycle, folder: Path) -> None:
    """Serve all lines until this process is asked to end."""
    memory = SimulatorMemory(folder)
    wanted = memory.config.realtime
    served = SerialLines(memory)
    commands = CommandReader(lifecycle, served.handlers)
    priority = max(wanted.fifo_priority - BELOW_LOOP, 1) if wanted.fifo_priority else 0

    def goes_on() -> bool:
        commands.look()
        return not lifecycle.ending

    with rights(RightsWanted(fifo_priority=priority, lock_memory=wanted.lock_memory, freeze_gc=True)) as granted:
        lifecycle.ready(granted, endpoints=served.endpoints)
        serve_lines(served.lines.values(), COMPUTER.now_ns, goes_on, served.served)
    for line in served.lines.values():
        line.close()
