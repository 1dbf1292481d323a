"""Which simulated devices hang on which line, as the config says, or as a lab would have them."""

from __future__ import annotations

from typing import NamedTuple

from drivers.modbus import protocol
from drivers.modbus.simulated import RelayBoard, Terminal
from drivers.roboclaw import settings as roboclaw_settings
from drivers.roboclaw.simulated import RoboClawBus
from drivers.roboteq import settings as roboteq_settings
from drivers.roboteq.simulated import RoboteqDevice
from drivers.sim.protocol.line import SimulatedSerialDevice
from drivers.sim.protocol.plant_ports import Cylinders, Wheels
from hil.app import settings
from hil.app.links import numbered
from hil.config import Config
from hil.config.devices import ModbusValves, RoboclawDrives, RoboteqDrives

# A RoboClaw answers within so long.
CLAW_TURNAROUND_NS = 100_000
TEQ_TURNAROUND_NS = 300_000
# Where the config has other devices, these are served beside them, on the same rover.
CLAW = roboclaw_settings.RoboClawSettings(
    (roboclaw_settings.Bus("", 115200),),
    tuple(roboclaw_settings.Controller(0, 0x80 + i, 2 * i, 2 * i + 1) for i in range(3)),
    150_000,
)
TEQ = roboteq_settings.RoboteqSettings(
    tuple(roboteq_settings.Controller("", 2 * i, 2 * i + 1) for i in range(3)), max_rpm=3000, gear_ratio=100.0
)


class Peer(NamedTuple):
    """A device, and the line it hangs on."""

    device: SimulatedSerialDevice
    baud: int
    turnaround_ns: int


def serial_peers(config: Config, wheels: Wheels, cylinders: Cylinders) -> dict[str, Peer]:
    """All serial devices by the names of their endpoints."""
    return {**_roboclaws(config, wheels), **_roboteqs(config, wheels), "modbus": _board(config, cylinders)}


def _roboclaws(config: Config, wheels: Wheels) -> dict[str, Peer]:
    drives = config.devices.drives if config.devices else None
    given = settings.roboclaw(config, drives) if isinstance(drives, RoboclawDrives) else CLAW
    return {
        numbered("roboclaw", bus): Peer(
            RoboClawBus(wheels, given.on(bus), given.counts_per_rev, sign=given.sign), port.baud, CLAW_TURNAROUND_NS
        )
        for bus, port in enumerate(given.buses)
    }


def _roboteqs(config: Config, wheels: Wheels) -> dict[str, Peer]:
    drives = config.devices.drives if config.devices else None
    given = settings.roboteq(config, drives) if isinstance(drives, RoboteqDrives) else TEQ
    return {
        numbered("roboteq", i): Peer(
            RoboteqDevice(
                wheels,
                one.wheels,
                max_rpm=given.max_rpm,
                gear_ratio=given.gear_ratio,
                sign=(given.sign[one.wheel_1], given.sign[one.wheel_2]),
            ),
            given.baud,
            TEQ_TURNAROUND_NS,
        )
        for i, one in enumerate(given.controllers)
    }


def _board(config: Config, cylinders: Cylinders) -> Peer:
    valves = config.devices.valves if config.devices else None
    if not isinstance(valves, ModbusValves):
        return Peer(RelayBoard(cylinders), 9600, protocol.silence_ns(9600))
    given = settings.modbus(config, valves)
    terminal = Terminal(
        given.pressure_registers, given.Pa_per_count, given.regulator.register if given.regulator else None
    )
    board = RelayBoard(
        cylinders, given.coils, address=given.address, baud=given.baud, flash=given.flash_on, terminal=terminal
    )
    return Peer(board, given.baud, protocol.silence_ns(given.baud))
