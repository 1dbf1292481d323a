"""The simulated lines of a rig's valves and regulators."""

from __future__ import annotations

from drivers.host import Characters
from drivers.modbus import protocol
from drivers.modbus.settings import ModbusValvesSettings
from drivers.modbus.simulated.outputs import AnalogOutputs
from drivers.modbus.simulated.relay_board import BOARD_COILS, RelayBoard
from drivers.modbus.simulated.rtu import RtuBus, Slave
from drivers.sim.protocol.line import SimulatedPort
from drivers.sim.protocol.plant_ports import CylinderPorts


def simulated_ports(settings: ModbusValvesSettings, cylinders: CylinderPorts) -> list[SimulatedPort]:
    """Returns the line of the board, and the line of the regulators if that is another one.

    Args:
        settings: of the driver.
        cylinders: that they act on.
    """
    board = RelayBoard(
        cylinders,
        settings.coils,
        address=settings.address,
        count=-(-(max(settings.coils, default=0) + 1) // BOARD_COILS) * BOARD_COILS,
        flash=settings.flash_on,
        pressures=settings.pressures,
    )
    first: list[Slave] = [board]
    if settings.supply is not None:
        first.append(AnalogOutputs(cylinders, {}, address=settings.address, stored=(settings.supply.register,)))
    modules: list[Slave] = [
        AnalogOutputs(
            cylinders,
            {which: regulator for which, regulator in enumerate(settings.regulators) if regulator.address == address},
            address=address,
            watchdog=settings.watchdog,
        )
        for address in settings.regulator_addresses
    ]
    if settings.regulators_port is None:
        return [_port([*first, *modules], *settings.line)]
    return [_port(first, *settings.line), _port(modules, *settings.regulator_line)]


def _port(slaves: list[Slave], baud: int, characters: Characters) -> SimulatedPort:
    return SimulatedPort(RtuBus(slaves, baud), baud, protocol.silence_ns(baud), characters=characters)
