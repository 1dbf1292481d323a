"""The NI device server of a simulated rig, in a process of its own: `python -m hil.app.wire.daq FOLDER PARENT`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from drivers.host import COMPUTER, Host
from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.parts import ServerFault
from drivers.ni.simulated.server import NiServer
from drivers.ni.simulated.service import NiService
from hil.app.wire.memory import AnalogInMemory, CylindersInMemory, WireMemory
from hil.app.wire.orders import Answer, Handler, Orders
from hil.links.late import LateNotes
from hil.realtime import RightsWanted, rights
from hil.workers.life import Life

# Between two looks for orders: whether this process is let run is seen there too.
LOOK_NS = 5_000_000
# Of those who stand for hardware the least urgent: it has a buffer.
BELOW_LOOP = 12


Server = TypeVar("Server", bound=NiService)


class Served(Generic[Server]):
    """The chassis and its server.

    Args:
        memory: of the rig; its plant has begun.
        host: whose clock is used.
        make_server: makes the server of a chassis.
    """

    def __init__(self, memory: WireMemory, host: Host, make_server: Callable[[Chassis], Server]) -> None:
        config = memory.config
        analog, cylinders = AnalogInMemory(memory), CylindersInMemory(memory)
        self._names = [channel.name for channel in config.daq.channels]
        notes = LateNotes(memory.late["daq"])
        self.looked = notes.of("daq server")
        delivered = notes.of("daq")
        self._chassis = Chassis(analog, cylinders, range_V=config.daq.range_V, delivered=delivered, host=host)
        self.server = make_server(self._chassis)

    @property
    def handlers(self) -> dict[str, Handler]:
        """What it can be ordered to do."""
        return {
            "step": self.step,
            "clear_steps": self.clear_steps,
            "inject_fault": self.inject_fault,
            "e_stop": self.e_stop,
        }

    def step(self, order: dict[str, Any]) -> Answer:
        """Add volts to a sensor from its next sample on: which, and when it is taken [ns of CLOCK_MONOTONIC]."""
        if order["channel"] not in self._names:
            raise ValueError(f"channel is one of {', '.join(self._names)}, found {order['channel']!r}")
        place, volts, after = self._names.index(order["channel"]), float(order["volts"]), int(order.get("after", 0))
        sample, at_ns = self._chassis.step(place, volts, after)
        return {"sample": sample, "at_ns": at_ns}

    def clear_steps(self, order: dict[str, Any]) -> Answer:  # noqa: ARG002
        """Add nothing from now on."""
        self._chassis.clear_steps()
        return {}

    def inject_fault(self, order: dict[str, Any]) -> Answer:
        """Answer late, with errors, or not at all."""
        order.pop("device", None)
        self.server.inject_fault(msgspec.convert(order, ServerFault))
        return {}

    def e_stop(self, order: dict[str, Any]) -> Answer:
        """Press the emergency stop, or let it go."""
        self._chassis.e_stop = bool(order["pressed"])
        return {}


def main(folder: Path, parent: int) -> None:
    """Serve until told to end."""
    life = Life(parent)
    memory = WireMemory(folder)
    config, served = memory.config, Served(memory, COMPUTER, NiServer)
    orders = Orders(life, served.handlers)
    wanted = config.realtime
    priority = max(wanted.fifo_priority - BELOW_LOOP, 1) if wanted.fifo_priority else 0
    with rights(RightsWanted(fifo_priority=priority, lock_memory=wanted.lock_memory, threads=True)) as granted:
        port = served.server.serve()
        life.ready(granted, endpoints={"daq": f"127.0.0.1:{port}"})
        while not life.ending:
            due_ns = COMPUTER.now_ns() + LOOK_NS
            orders.look(LOOK_NS * 1e-9)
            served.looked(due_ns, COMPUTER.now_ns())
        served.server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
