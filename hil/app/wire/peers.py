"""Which simulated devices hang on which line, as the config says, or as a lab would have them."""

from __future__ import annotations

from typing import NamedTuple

from drivers import modbus, roboclaw_settings, roboteq_settings
from drivers.sim.wire.behind import Cylinders, Wheels
from drivers.sim.wire.line import WireDevice
from drivers.sim.wire.relay_board import RelayBoard, Terminal
from drivers.sim.wire.roboclaw import RoboClawBus
from drivers.sim.wire.roboteq import RoboteqDevice
from hil.app import settings
from hil.app.links import numbered
from hil.config import Config
from hil.config.devices import ModbusValves, NiValves, RoboclawDrives, RoboteqDrives
from hil.layout import Layout

# A RoboClaw answers within so long.
CLAW_TURNAROUND_NS = 100_000
TEQ_TURNAROUND_NS = 300_000


class Peer(NamedTuple):
    """A device, and the line it hangs on."""

    device: WireDevice
    baud: int
    turnaround_ns: int


def serial_peers(config: Config, wheels: Wheels, cylinders: Cylinders) -> dict[str, Peer]:
    """All serial devices by the names of their endpoints; wheel drives that the config does not have among them."""
    board = {"modbus": _board(config, cylinders)} if config.layout.valves else {}
    return {**_roboclaws(config, wheels), **_roboteqs(config, wheels), **board}


def has_chassis(config: Config) -> bool:
    """Whether the rig has anything that hangs on an NI chassis."""
    return config.daq is not None or (config.devices is not None and isinstance(config.devices.valves, NiValves))


def _roboclaws(config: Config, wheels: Wheels) -> dict[str, Peer]:
    drives = config.devices.drives if config.devices else None
    given = settings.roboclaw(config, drives) if isinstance(drives, RoboclawDrives) else _claw(config.layout)
    return {
        numbered("roboclaw", bus): Peer(
            RoboClawBus(wheels, given.on(bus), given.counts_per_rev, sign=given.sign), port.baud, CLAW_TURNAROUND_NS
        )
        for bus, port in enumerate(given.buses)
    }


def _roboteqs(config: Config, wheels: Wheels) -> dict[str, Peer]:
    drives = config.devices.drives if config.devices else None
    given = settings.roboteq(config, drives) if isinstance(drives, RoboteqDrives) else _teq(config.layout)
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


def _claw(layout: Layout) -> roboclaw_settings.RoboClawSettings:
    """As many RoboClaws as the rover's wheels need, two each, on one bus."""
    pairs = [(i, i + 1) for i in range(0, len(layout.wheels) - 1, 2)]
    controllers = tuple(roboclaw_settings.Controller(0, 0x80 + i, *pair) for i, pair in enumerate(pairs))
    bus = roboclaw_settings.Bus("", 115200)
    return roboclaw_settings.RoboClawSettings((bus,), controllers, 150_000, sign=(1,) * len(layout.wheels))


def _teq(layout: Layout) -> roboteq_settings.RoboteqSettings:
    """As many Roboteqs as the rover's wheels need, two each."""
    pairs = [(i, i + 1) for i in range(0, len(layout.wheels) - 1, 2)]
    controllers = tuple(roboteq_settings.Controller("", *pair) for pair in pairs)
    sign = (1,) * len(layout.wheels)
    return roboteq_settings.RoboteqSettings(controllers, max_rpm=3000, gear_ratio=100.0, sign=sign)


def _board(config: Config, cylinders: Cylinders) -> Peer:
    valves = config.devices.valves if config.devices else None
    if not isinstance(valves, ModbusValves):
        return Peer(RelayBoard(cylinders), 9600, modbus.silence_ns(9600))
    given = settings.modbus(config, valves)
    terminal = Terminal(
        given.pressure_registers, given.Pa_per_count, given.regulator.register if given.regulator else None
    )
    board = RelayBoard(
        cylinders, given.coils, address=given.address, baud=given.baud, flash=given.flash_on, terminal=terminal
    )
    return Peer(board, given.baud, modbus.silence_ns(given.baud))
