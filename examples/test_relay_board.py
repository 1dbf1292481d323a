"""A test of your own rig code without hardware: a small program for a relay board, and its tests.

The functions at the top stand for your program; they use pymodbus, or any other client. The tests give it the path of a
simulated relay board, look at what it switched, and let the board fail. Copy the file into any folder, and run it there
with `pytest test_relay_board.py`, or here with `.venv/bin/pytest examples/test_relay_board.py`; five tests pass. It
needs `pip install 'rover-hil[testing]' 'pymodbus[serial]'`.
"""

from contextlib import closing

import pytest
from pymodbus.client import ModbusSerialClient

import hil.testing
from drivers.driver_type import RigSetup
from drivers.messages import ValveCommand
from drivers.modbus.section import ModbusValvesSection
from drivers.modbus.valves import ModbusValves
from drivers.valve_layout import ValveLayout

EXTEND, RETRACT = 0, 1  # coils


# ---- your program ----
def extend(port: str, baud: int) -> float:
    """Power the valve that extends the cylinder, and no other; the pressure of its chamber [Pa]."""
    client = ModbusSerialClient(port, baudrate=baud, timeout=0.2, retries=2)
    if not client.connect():
        raise ConnectionError(f"no relay board at {port}")
    with closing(client):
        client.write_coils(EXTEND, [True, False], device_id=1)
        if client.read_coils(EXTEND, count=2, device_id=1).bits[:2] != [True, False]:
            raise RuntimeError("the relay board did not switch")
        return float(client.read_input_registers(10, device_id=1).registers[0]) * 100.0


# ---- its tests ----
def test_it_powers_one_valve(simulated_relay_board: "hil.testing.modbus.ModbusRelayBoard") -> None:
    """The fixture is a board at a path; a test looks at its coils."""
    board = simulated_relay_board
    board.coils[RETRACT] = True  # somebody left it on
    extend(board.path, board.baud)
    assert board.coils == [True] + [False] * 7
    assert board.cylinders.powered[EXTEND]


def test_it_reads_the_pressure(simulated_relay_board: "hil.testing.modbus.ModbusRelayBoard") -> None:
    """A test sets what there is to be measured."""
    board = simulated_relay_board
    board.cylinders.supply_Pa, board.cylinders.fill_s = 4.0e5, 1e-6
    assert extend(board.path, board.baud) == 4.0e5


def test_it_asks_again_when_an_answer_is_damaged(
    simulated_relay_board: "hil.testing.modbus.ModbusRelayBoard",
) -> None:
    """One bit of one answer is wrong: the client sees it by the check sum."""
    simulated_relay_board.inject_fault("damaged", answers=1)
    extend(simulated_relay_board.path, simulated_relay_board.baud)
    assert simulated_relay_board.coils[EXTEND]


def test_it_gives_up_when_the_board_is_unplugged() -> None:
    """Settings other than those of the fixture: use the function of the same name in a `with`."""
    with hil.testing.relay_board(coils=16, baud=19200) as board:
        board.inject_fault("unplugged")
        with pytest.raises(ConnectionError):
            extend(board.path, board.baud)


def test_a_driver_of_rover_hil_in_virtual_time(virtual_bench: "hil.testing.VirtualBench") -> None:
    """A valve that nobody renews goes off by itself: half a second of virtual time, which takes none of yours."""
    with hil.testing.relay_board(baud=19200, bench=virtual_bench) as board:
        section = ModbusValvesSection(driver="modbus", port=board.path, baud=board.baud, flash_on=True)
        valves = ModbusValves(section, RigSetup(valves=ValveLayout()), virtual_bench.host)
        valves.open()
        off, on = ((False, False), (False, False)), ((True, False), (False, False))
        for number, powered in enumerate((off, on), start=1):
            valves.write(ValveCommand(number, powered))
            virtual_bench.step_for(valves, 0.2)
        assert board.coils[EXTEND]
        virtual_bench.run_for(0.6)
        assert not board.coils[EXTEND]
