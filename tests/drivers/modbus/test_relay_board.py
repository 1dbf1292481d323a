"""The simulated relay board behaves like common ones, in virtual time and with pymodbus's client."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymodbus.client import ModbusSerialClient

from drivers.modbus import protocol
from drivers.modbus.protocol import Code, Function
from drivers.modbus.simulated.relay_board import AnalogOutputs, RelayBoard
from drivers.modbus.simulated.rtu import RtuBus

from .conftest import chambers

MS = 1_000_000
S = 1000 * MS


class Board(RtuBus):
    """A relay board with a stored register, alone on its line."""

    def __init__(self, cylinders, **how):
        board = RelayBoard(cylinders, pressures=chambers(), **how)
        super().__init__([board, AnalogOutputs(cylinders, {}, stored=(5,))])
        self.on, self.stuck = board.on, board.stuck


@pytest.fixture
def board(cylinders):
    return Board(cylinders)


def say(board: Board, frame: bytes, at_ns: int) -> bytes:
    """A frame whose last byte arrives at a time."""
    return board.receive(frame, at_ns - len(frame) * 10 * S // 9600, at_ns)


def flash(coil: int, tenths: int) -> bytes:
    return protocol.write_coil(1, 0x0200 + coil, tenths).frame


def test_a_plain_coil_stays_on_when_its_host_dies(board, cylinders):
    say(board, protocol.write_coil(1, 2, protocol.ON).frame, S)
    for hour in range(1, 25):
        board.wake(hour * 3600 * S)
    assert cylinders.powered == [False, False, True, False]


def test_a_flashed_coil_lets_go_when_its_host_dies_and_not_before(board, cylinders):
    say(board, flash(2, 5), S)
    board.wake(S + 500 * MS - 1)
    assert cylinders.powered[2]
    board.wake(S + 500 * MS)
    assert not cylinders.powered[2]
    assert board.switched == [(S, 2, True), (S + 500 * MS, 2, False)]


def test_a_flash_that_is_repeated_in_time_holds(board, cylinders):
    for tenth in range(10, 50, 4):
        say(board, flash(0, 5), tenth * 100 * MS)
    board.wake(46 * 100 * MS + 499 * MS)
    assert board.switched == [(S, 0, True)]
    board.wake(46 * 100 * MS + 500 * MS)
    assert not cylinders.powered[0]


@pytest.mark.parametrize("on", [True, False])
def test_a_plain_command_ends_a_flash(board, on):
    say(board, flash(0, 5), S)
    say(board, protocol.write_coil(1, 0, protocol.ON if on else protocol.OFF).frame, S + 100 * MS)
    board.wake(10 * S)
    assert board.on[0] == on


def test_all_coils_go_at_once(board):
    assert (
        say(board, protocol.write_coil(1, 0x00FF, protocol.ON).frame, S)
        == protocol.write_coil(1, 0x00FF, protocol.ON).frame
    )
    assert board.on == [True] * 8
    say(board, protocol.write_coil(1, 0x00FF, protocol.OFF).frame, 2 * S)
    assert board.on == [False] * 8


def test_a_broadcast_is_obeyed_and_not_answered(board):
    assert say(board, protocol.write_coil(0, 3, protocol.ON).frame, S) == b""
    assert board.on[3]


def test_another_address_is_neither_obeyed_nor_answered(board):
    assert say(board, protocol.write_coil(2, 3, protocol.ON).frame, S) == b""
    assert not any(board.on)


def test_a_stuck_valve_does_not_follow_its_coil(board, cylinders):
    board.stuck.add(1)
    say(board, protocol.write_coils(1, 0, (True, True)).frame, S)
    assert board.on[:2] == [True, True]
    assert cylinders.powered[:2] == [True, False]


def test_a_frame_in_two_pieces_counts_only_without_silence_between_them(board):
    frame = protocol.write_coil(1, 0, protocol.ON).frame
    board.receive(frame[:4], S, S + 4 * MS)
    assert board.receive(frame[4:], S + 5 * MS, S + 9 * MS) == frame
    board.receive(frame[:4], 2 * S, 2 * S + 4 * MS)
    assert board.receive(frame[4:], 2 * S + 4 * MS + protocol.silence_ns(9600), 2 * S + 20 * MS) == b""


def test_a_frame_that_follows_without_silence_is_lost_and_the_next_is_not(board):
    frame = protocol.write_coil(1, 0, protocol.ON).frame
    assert board.receive(frame, S, S + 8 * MS) == frame
    assert board.receive(protocol.write_coil(1, 1, protocol.ON).frame, S + 9 * MS, S + 17 * MS) == b""
    assert board.on[:2] == [True, False]
    assert say(board, frame, 2 * S) == frame


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (protocol.frame(1, 0x2B, b"\x0e\x01\x00"), Code.FUNCTION),
        (protocol.read_coils(1, 4, 5).frame, Code.ADDRESS),
        (protocol.write_coil(1, 8, protocol.ON).frame, Code.ADDRESS),
        (protocol.write_coil(1, 0, 1).frame, Code.VALUE),
        (flash(0, 0), Code.VALUE),
        (flash(0, 0x8000), Code.VALUE),
        (protocol.read_registers(1, 9, 4).frame, Code.ADDRESS),
        (protocol.read_registers(1, 6, 1, Function.READ_HOLDING).frame, Code.ADDRESS),
        (protocol.frame(1, Function.WRITE_COILS, bytes.fromhex("00 00 00 08 02 ff ff")), Code.VALUE),
        (protocol.frame(1, Function.READ_COILS, b""), Code.VALUE),
    ],
)
def test_what_the_board_cannot_do_is_answered_with_its_exception(board, frame, code):
    assert say(board, frame, S) == protocol.refusal(1, frame[1], code)
    assert not any(board.on)


def test_a_board_without_flash_refuses_it(cylinders):
    board = Board(cylinders, flash=False)
    assert say(board, flash(0, 5), S) == protocol.refusal(1, 5, Code.ADDRESS)
    assert not any(board.on)


@given(st.lists(st.binary(max_size=300), max_size=8), st.integers(0, 10 * MS))
def test_random_bytes_switch_nothing_and_break_nothing(chunks, gap_ns):
    board = Board(NoCylinders())
    t_ns = S
    for chunk in chunks:
        answer = board.receive(chunk, t_ns, t_ns + len(chunk) * MS)
        t_ns += len(chunk) * MS + gap_ns
        if answer:  # then it was a whole good frame, by a chance of 1 in 65536
            assert protocol.unframe(answer)
    assert not any(board.on)
    assert say(board, protocol.read_coils(1, 0, 8).frame, t_ns + S)


class NoCylinders:
    def power(self, valve, on): ...
    def pressure_Pa(self, valve):
        return 0.0


@given(st.integers(0, 7), st.lists(st.integers(0, 8 * 10 - 1), min_size=1, max_size=5, unique=True))
def test_a_mutated_request_is_not_obeyed_unless_it_is_a_valid_one(coil, bits):
    board, received = Board(NoCylinders()), bytearray(protocol.write_coils(1, coil, (True,)).frame)
    for bit in bits:
        received[bit // 8] ^= 1 << bit % 8
    answer = say(board, bytes(received), S)
    good = protocol.crc16(bytes(received[:-2])) == int.from_bytes(received[-2:], "little")
    assert good or (answer == b"" and not any(board.on))


@pytest.fixture
def client(rig, serve):
    serve([rig.line])
    client = ModbusSerialClient(str(rig.line.path), baudrate=19200, timeout=60.0)
    assert client.connect()
    yield client
    client.close()


def test_pymodbus_s_client_switches_and_reads_coils(client, rig):
    client.write_coil(2, True, device_id=1)
    assert client.read_coils(0, count=8, device_id=1).bits == [False, False, True] + [False] * 5
    client.write_coils(0, [True, True, False, True], device_id=1)
    assert client.read_coils(1, count=3, device_id=1).bits[:3] == [True, False, True]
    assert rig.cylinders.powered == [True, True, False, True]


def test_pymodbus_s_client_reads_pressures_and_sets_a_register(client, rig):
    client.write_coil(2, True, device_id=1)
    assert client.read_input_registers(10, count=4, device_id=1).registers == [65526, 65526, 6000, 65526]
    client.write_register(5, 450, device_id=1)
    assert client.read_holding_registers(5, count=1, device_id=1).registers == [450]
    client.write_registers(5, [470], device_id=1)
    assert rig.supply.values == {5: 470}


def test_pymodbus_s_client_is_told_what_the_board_has_not(client):
    assert client.read_input_registers(100, count=1, device_id=1).exception_code == Code.ADDRESS
    assert client.read_discrete_inputs(0, count=1, device_id=1).exception_code == Code.FUNCTION
