"""NI device server of a simulated rig, in its own process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from drivers.driver_type import DaqType
from drivers.host import COMPUTER, Host
from drivers.registry import built_in, daq_driver
from drivers.sim.server import ServerSetup, SimulatedServer
from hil.config.rig_setup import rig_setup
from hil.config.schema.devices import DevicesConfig
from hil.ipc.run_memory import LatenessLog
from hil.processes.lifecycle import WorkerLifecycle
from hil.realtime import RightsWanted, rights
from hil.simulator.control_socket import Answer, CommandReader, Handler
from hil.simulator.memory import CylindersInMemory, InstrumentInMemory, SimulatorMemory
from hil.simulator.sampled_memory import AnalogInMemory

if TYPE_CHECKING:
    from drivers.sim.virtual.grpc import Network

# Between two checks for commands [ns]; they also show whether this process gets CPU time.
LOOK_NS = 20_000_000
# The least urgent of the simulated devices: it has a buffer.
BELOW_LOOP = 12
# Of converters without a force sensor, on a chassis with valves only.
_RANGE_V = 5.0


class DaqServer:
    """The simulated data acquisition and its server.

    The plant of the rig is running. Without a virtual network it listens on that of this computer.

    Attributes:
        server: not started yet.
    """

    def __init__(self, memory: SimulatorMemory, host: Host, network: Network | None = None) -> None:
        config = memory.config
        self._names = config.layout.channels
        notes = LatenessLog(memory.late["daq"])
        self.looked = notes.of("daq server")
        analogs = {group: AnalogInMemory(part) for group, part in memory.sampled.items()}
        cylinders = CylindersInMemory(memory, host) if config.layout.valves else None
        range_V = config.daq.range_V if config.daq else _RANGE_V
        loads_range_V = config.loads.range_V if config.loads else _RANGE_V
        sections = {section.role: section for section in (config.devices.sections() if config.devices else ())}
        setup = ServerSetup(
            analogs["daq"], cylinders, range_V, notes.of("daq"), host, network, analogs.get("loads"), loads_range_V,
            sections, {role: InstrumentInMemory(memory, role) for role in memory.readings}, rig_setup(config),
        )  # fmt: skip
        self.server: SimulatedServer = _driver(config.devices).simulated_server(setup)

    @property
    def handlers(self) -> dict[str, Handler]:
        """Its commands."""
        return {
            "step": self.step,
            "clear_steps": self.clear_steps,
            "inject_fault": self.inject_fault,
            "e_stop": self.e_stop,
        }

    def step(self, command: dict[str, Any]) -> Answer:
        """Add volts to a sensor from its next sample on. Returns that sample and its time [ns of CLOCK_MONOTONIC]."""
        if command["channel"] not in self._names:
            raise ValueError(f"channel is one of {', '.join(self._names)}, found {command['channel']!r}")
        place, after = self._names.index(command["channel"]), int(command.get("after", 0))
        sample, at_ns = self.server.step(place, float(command["volts"]), after)
        return {"sample": sample, "at_ns": at_ns}

    def clear_steps(self, command: dict[str, Any]) -> Answer:  # noqa: ARG002
        """Remove all added volts."""
        self.server.clear_steps()
        return {}

    def inject_fault(self, command: dict[str, Any]) -> Answer:
        """Answer late, with errors, or not at all."""
        command.pop("device", None)
        self.server.inject_fault(command)
        return {}

    def e_stop(self, command: dict[str, Any]) -> Answer:
        """Press or release the emergency stop."""
        self.server.press(bool(command["pressed"]))
        return {}


def _driver(devices: DevicesConfig | None) -> DaqType[Any]:
    """The driver of the config, or the built-in one if the config has none."""
    if devices and devices.daq:
        return daq_driver(devices.daq)
    (own,) = built_in("daq")
    assert isinstance(own, DaqType)
    return own


def run_daq_server(lifecycle: WorkerLifecycle, folder: Path) -> None:
    """Serve until this process is asked to end."""
    memory = SimulatorMemory(folder)
    config, served = memory.config, DaqServer(memory, COMPUTER)
    commands = CommandReader(lifecycle, served.handlers)
    wanted = config.realtime
    priority = max(wanted.fifo_priority - BELOW_LOOP, 1) if wanted.fifo_priority else 0
    with rights(RightsWanted(fifo_priority=priority, lock_memory=wanted.lock_memory, threads=True)) as granted:
        lifecycle.ready(granted, endpoints={"daq": served.server.start()})
        while not lifecycle.ending:
            due_ns = COMPUTER.now_ns() + LOOK_NS
            commands.look(LOOK_NS * 1e-9)
            served.looked(due_ns, COMPUTER.now_ns())
        served.server.stop()
