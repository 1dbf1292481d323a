"""Simulated devices in a test of your own: the valves' driver against a relay board, to the byte.

The board is simulated as its manual describes it, and the serial line takes as long as its baud rate says, in virtual
time: the test is the same on every machine, and waits for nothing. Run it with
`.venv/bin/pytest examples/test_relay_board.py`; one test passes.
"""

from pathlib import Path

from drivers.messages import ValveCommand
from drivers.modbus.protocol import silence_ns
from drivers.modbus.settings import ModbusValvesSettings
from drivers.modbus.simulated.relay_board import RelayBoard
from drivers.modbus.simulated.rtu import RtuBus
from drivers.modbus.valves import ModbusValves
from drivers.sim.protocol.line import Line
from drivers.sim.virtual.host import VirtualHost
from drivers.sim.virtual.schedule import VirtualTime
from drivers.sim.virtual.serial import VirtualLines

BAUD = 19200
OFF, LEFT_EXTENDS = ((False, False), (False, False)), ((True, False), (False, False))


class Cylinders:
    """Two cylinders with two valves each, and no pressure sensors."""

    def __init__(self) -> None:
        self.valves, self.regulators, self.powered = 4, 0, [False] * 4

    def power(self, valve: int, on: bool) -> None:
        """The board switches a valve."""
        self.powered[valve] = on

    def pressure_Pa(self, valve: int) -> float:  # noqa: ARG002
        """Not measured."""
        return 0.0

    def regulate(self, regulator: int, pressure_Pa: float) -> None:
        """There is no regulator."""


class HeardBus(RtuBus):
    """A Modbus line that keeps what it has received."""

    received: tuple[str, ...] = ()

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        """Bytes of the driver, with the time when they were on the line; the answer."""
        self.received += (data.hex(" "),)
        return super().receive(data, began_ns, ended_ns)


def test_a_valve_is_powered_for_half_a_second_and_goes_off_by_itself_when_nobody_renews_it() -> None:
    """Flash-on of coil 0 for 5 x 0.1 s is one frame of 8 bytes; without another one the board switches the coil off."""
    time, cylinders = VirtualTime(), Cylinders()
    host, bus = VirtualHost(time), HeardBus([RelayBoard(cylinders)], BAUD)
    VirtualLines(time, {"relays": Line(Path("relays"), bus, BAUD, silence_ns(BAUD), host.terminal)}, host.ports)
    valves = ModbusValves(ModbusValvesSettings(port="relays", coils=(0, 1, 2, 3), baud=BAUD, flash_s=0.5), host)
    valves.open()
    for number, powered in enumerate((OFF, LEFT_EXTENDS), start=1):  # it powers nothing before it was told to be off
        valves.write(ValveCommand(number, powered))
        while (sample := valves.read(0)) is None or sample.acknowledged_ns < number:
            valves.step()
    assert "01 05 02 00 00 05 0c 71" in bus.received
    assert cylinders.powered == [True, False, False, False]
    host.sleep(0.6)
    assert cylinders.powered == [False, False, False, False]
    time.close()
