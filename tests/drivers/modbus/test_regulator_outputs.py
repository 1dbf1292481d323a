"""The simulated module with regulators behaves like common ones, with pymodbus's client and with damaged frames."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymodbus.client import ModbusSerialClient

from drivers.modbus import protocol
from drivers.modbus.protocol import Function
from drivers.modbus.section import OutputWatchdog
from drivers.modbus.simulated.relay_board import AnalogOutputs
from drivers.modbus.simulated.rtu import RtuBus
from drivers.modbus.valve_requests import Regulator

BAUD = 19200
TIMEOUT = OutputWatchdog(holding_register=40, timeout_ms=400)
# 4 to 20 mA over 0 to 200 kPa: 800 to 4000 counts
REGULATORS = {which: Regulator(20 + which, 2, 62.5, 800) for which in range(3)}


class InstantRegulators:
    """Regulators without delay, and no valves."""

    valves, regulators = 0, 3

    def __init__(self):
        self.set_Pa = [0.0] * 3

    def power(self, valve, on): ...
    def pressure_Pa(self, valve):
        return 0.0

    def regulate(self, regulator, pressure_Pa):
        self.set_Pa[regulator] = pressure_Pa


def outputs(cylinders, watchdog=TIMEOUT):
    return RtuBus([AnalogOutputs(cylinders, REGULATORS, address=2, watchdog=watchdog)], BAUD)


@pytest.mark.parametrize("watchdog", [None, TIMEOUT])
def test_pymodbus_s_client_sets_and_reads_regulators(tmp_path, line_time, serve, watchdog):
    cylinders = InstantRegulators()
    line, _ = line_time.connect(tmp_path / "regulators", outputs(cylinders, watchdog), BAUD, protocol.silence_ns(BAUD))
    serve([line])
    client = ModbusSerialClient(str(line.path), baudrate=BAUD, timeout=60.0)
    assert client.connect()
    client.write_registers(20, [800, 2400, 4000], device_id=2)
    assert client.read_holding_registers(20, count=3, device_id=2).registers == [800, 2400, 4000]
    client.write_register(20, 1600, device_id=2)
    assert cylinders.set_Pa == [50e3, 100e3, 200e3]
    assert client.write_register(23, 1, device_id=2).exception_code == protocol.Code.ADDRESS
    if watchdog is not None:
        client.write_register(40, 10_000, device_id=2)
        assert client.read_holding_registers(40, count=1, device_id=2).registers == [10_000]
    client.close()


class Untouched(InstantRegulators):
    """Regulators that nobody may move."""

    def regulate(self, regulator, pressure_Pa):
        raise AssertionError("moved")


@given(st.lists(st.binary(max_size=300), max_size=8), st.integers(0, 10_000_000))
def test_random_bytes_move_nothing_and_break_nothing(chunks, gap_ns):
    bus, t_ns = outputs(Untouched()), 1_000_000_000
    for chunk in chunks:
        bus.receive(chunk, t_ns, t_ns + len(chunk) * 1_000_000)
        t_ns += len(chunk) * 1_000_000 + gap_ns
    asked = protocol.read_registers(2, 20, 3, Function.READ_HOLDING)
    assert asked.decode(bus.receive(asked.frame, t_ns + 10**9, t_ns + 10**9 + 1)) == (0, 0, 0)


@pytest.mark.slow
@given(st.lists(st.integers(0, 15 * 8 - 1), min_size=1, max_size=5, unique=True))
def test_a_mutated_request_moves_nothing_unless_it_is_a_valid_one(bits):
    cylinders = InstantRegulators()
    frame = bytearray(protocol.write_registers(2, 20, (900, 1000, 1100)).frame)
    for bit in bits:
        frame[bit // 8] ^= 1 << bit % 8
    answer = outputs(cylinders).receive(bytes(frame), 10**9, 10**9 + 10_000_000)
    good = protocol.crc16(bytes(frame[:-2])) == int.from_bytes(frame[-2:], "little")
    assert good or (answer == b"" and cylinders.set_Pa == [0.0] * 3)


@given(st.lists(st.integers(0, 8 * 8 - 1), min_size=1, max_size=5, unique=True))
def test_a_mutated_answer_is_damage_or_a_refusal_and_never_another_confirmation(bits):
    request = protocol.write_registers(2, 20, (900, 1000, 1100))
    answer = bytearray(outputs(InstantRegulators()).receive(request.frame, 10**9, 10**9 + 10_000_000))
    request.decode(bytes(answer))
    for bit in bits:
        answer[bit // 8] ^= 1 << bit % 8
    with pytest.raises((protocol.BadFrameError, protocol.RefusedError)):
        request.decode(bytes(answer))
