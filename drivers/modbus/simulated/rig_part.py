"""The simulated lines of a rig's valves and regulators."""

from __future__ import annotations

from drivers.host import Characters
from drivers.modbus import protocol
from drivers.modbus.simulated.outputs import AnalogOutputs
from drivers.modbus.simulated.relay_board import BOARD_COILS, RelayBoard
from drivers.modbus.simulated.rtu import RtuBus, Slave
from drivers.modbus.valve_requests import ValveRequests
from drivers.sim.protocol.line import SimulatedPort
from drivers.sim.protocol.plant_ports import CylinderPorts


def simulated_ports(requests: ValveRequests, cylinders: CylinderPorts) -> list[SimulatedPort]:
    """Returns the line of the board, and the line of the regulators if that is another one.

    Args:
        requests: of the driver.
        cylinders: that they act on.
    """
    board = RelayBoard(
        cylinders,
        requests.coils,
        address=requests.section.address,
        count=-(-(max(requests.coils, default=0) + 1) // BOARD_COILS) * BOARD_COILS,
        flash=requests.section.flash_on,
        pressures=requests.pressures,
    )
    first: list[Slave] = [board]
    if requests.supply is not None:
        first.append(AnalogOutputs(cylinders, {}, address=requests.section.address, stored=(requests.supply.register,)))
    modules: list[Slave] = [
        AnalogOutputs(
            cylinders,
            {which: regulator for which, regulator in enumerate(requests.regulators) if regulator.address == address},
            address=address,
            watchdog=requests.watchdog,
        )
        for address in requests.regulator_addresses
    ]
    if requests.regulators_port is None:
        return [_port([*first, *modules], *requests.line)]
    return [_port(first, *requests.line), _port(modules, *requests.regulator_line)]


def _port(slaves: list[Slave], baud: int, characters: Characters) -> SimulatedPort:
    return SimulatedPort(RtuBus(slaves, baud), baud, protocol.silence_ns(baud), characters=characters)
