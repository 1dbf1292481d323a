"""Packet serial: frames against the maker's client and byte vectors, and damaged bytes at both ends."""

import struct
from collections.abc import Callable
from contextlib import suppress

import pytest
from basicmicro import Basicmicro
from basicmicro.exceptions import PacketTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from drivers.roboclaw import protocol
from drivers.roboclaw.protocol import NARROW, READINGS, SETTINGS, WIDE, CommandCode, Listener, Transaction
from drivers.serial.link import BadFrameError

addresses = st.sampled_from(protocol.ADDRESSES)
noise = st.binary(max_size=64)
WIDTH = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4}


class RecordingPort:
    """Replaces the port of the maker's client: records writes, and answers every write with 0xFF."""

    is_open = True

    def __init__(self) -> None:
        self.written = b""

    def write(self, data: bytes) -> int:
        self.written += bytes(data)
        return len(data)

    def read(self, count: int = 1) -> bytes:
        return b"\xff" * count

    def flushInput(self) -> None:
        pass

    def close(self) -> None:
        pass


def written_by_maker(call: Callable[[Basicmicro], object]) -> bytes:
    client = Basicmicro("nowhere", 115200, retries=1)
    port = RecordingPort()
    client._port, client._connected = port, True
    with suppress(PacketTimeoutError):  # a reading: 0xFF everywhere is no sound answer
        call(client)
    return port.written


MAKERS = [
    (lambda c: c.SetTimeout(0x80, 0.1), (0x80, CommandCode.SET_TIMEOUT, 1)),
    (lambda c: c.ResetEncoders(0x83), (0x83, CommandCode.RESET_COUNTS)),
    (lambda c: c.DutyM1(0x81, -5000), (0x81, CommandCode.DUTY_M1, -5000)),
    (lambda c: c.DutyM2(0x81, 5000), (0x81, CommandCode.DUTY_M2, 5000)),
    (lambda c: c.DutyM1M2(0x80, 0, 0), (0x80, CommandCode.DUTY, 0, 0)),
    (lambda c: c.SpeedM1(0x82, -70000), (0x82, CommandCode.RUN_M1, -70000)),
    (lambda c: c.SpeedM2(0x82, 70000), (0x82, CommandCode.RUN_M2, 70000)),
    (lambda c: c.SpeedM1M2(0x87, 1304, -1304), (0x87, CommandCode.RUN, 1304, -1304)),
    (lambda c: c.SpeedAccelM1(0x80, 9000, -12), (0x80, CommandCode.RUN_ACCELERATING_M1, 9000, -12)),
    (lambda c: c.SpeedAccelM2(0x80, 9000, 12), (0x80, CommandCode.RUN_ACCELERATING_M2, 9000, 12)),
    (lambda c: c.SpeedAccelM1M2(0x80, 2**31, -1, 2), (0x80, CommandCode.RUN_ACCELERATING, 2**31, -1, 2)),
    (lambda c: c.GetTimeout(0x80), (0x80, CommandCode.TIMEOUT)),
    (lambda c: c.ReadVersion(0x81), (0x81, CommandCode.VERSION)),
    (lambda c: c.ReadSpeedM1(0x82), (0x82, CommandCode.SPEED_M1)),
    (lambda c: c.ReadSpeedM2(0x82), (0x82, CommandCode.SPEED_M2)),
    (lambda c: c.GetISpeeds(0x82), (0x82, CommandCode.RAW_SPEEDS)),
    (lambda c: c.ReadCurrents(0x82), (0x82, CommandCode.CURRENTS)),
    (lambda c: c.ReadMainBatteryVoltage(0x82), (0x82, CommandCode.MAIN_BATTERY)),
    (lambda c: c.ReadTemp(0x82), (0x82, CommandCode.TEMPERATURE)),
    (lambda c: c.ReadError(0x82), (0x82, CommandCode.STATUS)),
]


@pytest.mark.parametrize(("call", "ours"), MAKERS)
def test_a_request_has_the_bytes_of_the_makers_client(call, ours):
    assert protocol.request(*ours) == written_by_maker(call)


def test_the_checksum_is_that_of_the_manual():
    assert protocol.crc16(bytes.fromhex("80204000")) == 0x5632
    assert protocol.request(0x80, CommandCode.DUTY_M1, 0x4000) == bytes.fromhex("802040005632")


def fields(layout: struct.Struct) -> st.SearchStrategy[tuple[int, ...]]:
    def integers(kind: str) -> st.SearchStrategy[int]:
        bits = 8 * WIDTH[kind]
        return st.integers(0, 2**bits - 1) if kind.isupper() else st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    return st.tuples(*(integers(kind) for kind in layout.format.lstrip(">")))


settings_of_all_kinds = addresses.flatmap(
    lambda address: st.sampled_from(sorted(SETTINGS)).flatmap(
        lambda command: st.tuples(st.just(address), st.just(command), fields(SETTINGS[command]))
    )
)
readings_of_all_kinds = addresses.flatmap(
    lambda address: st.sampled_from(sorted(READINGS)).flatmap(
        lambda command: st.tuples(st.just(address), st.just(command), fields(READINGS[command]))
    )
)


def answer_to(address: int, command: CommandCode, payload: bytes) -> bytes:
    head = bytes((address, command))
    return payload + struct.pack(">H", protocol.crc16(head + payload))


@given(settings_of_all_kinds)
def test_what_one_end_sends_the_other_hears(sent):
    address, command, values = sent
    (received,) = Listener().receive(protocol.request(address, command, *values), 1000, 2000)
    assert (received.address, received.command, received.values, received.ended_ns) == (address, command, values, 2000)


@given(readings_of_all_kinds)
def test_what_a_controller_answers_is_what_is_read(exchange):
    address, command, values = exchange
    answer = answer_to(address, command, READINGS[command].pack(*values))
    asked = protocol.reading(address, command)
    assert asked.missing(answer) == 0
    assert asked.decode(answer) == values
    assert all(asked.missing(answer[:size]) == len(answer) - size for size in range(len(answer)))


@given(readings_of_all_kinds, st.data())
def test_a_damaged_answer_is_refused(exchange, data):
    address, command, values = exchange
    answer = answer_to(address, command, READINGS[command].pack(*values))
    place = data.draw(st.integers(0, len(answer) - 1))
    damaged = answer[:place] + bytes([answer[place] ^ data.draw(st.integers(1, 255))]) + answer[place + 1 :]
    with pytest.raises(BadFrameError):
        protocol.reading(address, command).decode(damaged)


@given(readings_of_all_kinds)
def test_the_answer_of_another_controller_is_refused(exchange):
    address, command, values = exchange
    other = address ^ 1
    with pytest.raises(BadFrameError):
        protocol.reading(other, command).decode(answer_to(address, command, READINGS[command].pack(*values)))


every_transaction = addresses.flatmap(
    lambda address: st.one_of(
        st.sampled_from(sorted(READINGS)).map(lambda command: protocol.reading(address, command)),
        st.sampled_from([NARROW, WIDE]).map(lambda form: protocol.status(address, form)),
        st.just(protocol.setting(address, CommandCode.DUTY, 0, 0)),
        st.just(protocol.status_form(address)),
        st.just(protocol.version(address)),
    )
)


@pytest.mark.slow
@given(every_transaction, noise)
def test_noise_for_an_answer_is_refused_or_is_a_sound_answer(transaction: Transaction, data: bytes):
    """As the link does: read as many bytes as are missing, and decode when complete."""
    taken = 0
    while (more := transaction.missing(data[:taken])) > 0:
        if taken + more > len(data):
            return
        taken += more
    answer = data[:taken]
    try:
        transaction.decode(answer)
    except BadFrameError:
        return
    head = transaction.request[:2]
    assert answer == b"\xff" or answer == answer_to(*head, answer[:-2])


@given(every_transaction, noise)
def test_decoding_anything_raises_nothing_but_bad_frame(transaction: Transaction, data: bytes):
    try:
        transaction.decode(data)
    except BadFrameError:
        return
    assert data == b"\xff" or data == answer_to(*transaction.request[:2], data[:-2])


def allowed_in(data: bytes, received: protocol.ReceivedRequest) -> bool:
    return protocol.request(received.address, received.command, *received.values) in data


@given(st.binary(max_size=200))
def test_a_bus_full_of_noise_is_never_a_request_that_was_not_on_it(data):
    assert all(allowed_in(data, received) for received in Listener().receive(data, 0, 0))


@pytest.mark.slow
@given(st.lists(settings_of_all_kinds, min_size=1, max_size=5), st.data())
def test_of_damaged_requests_only_whole_ones_are_heard(sent, data):
    stream = bytearray(b"".join(protocol.request(address, command, *values) for address, command, values in sent))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(len(stream) - 1, 0)))
        match data.draw(st.sampled_from(["garbage", "cut", "insert"])):
            case "garbage" if stream:
                stream[place] ^= data.draw(st.integers(1, 255))
            case "cut":
                del stream[place : place + data.draw(st.integers(1, 3))]
            case _:
                stream[place:place] = data.draw(st.binary(min_size=1, max_size=3))
    assert all(allowed_in(bytes(stream), received) for received in Listener().receive(bytes(stream), 0, 0))


@given(st.binary(max_size=100), settings_of_all_kinds)
def test_after_a_gap_whatever_was_before_is_forgotten(before, sent):
    address, command, values = sent
    listener = Listener()
    listener.receive(before, 0, 1000)
    request = protocol.request(address, command, *values)
    (received,) = listener.receive(request, 1001 + protocol.GAP_NS, 2000 + protocol.GAP_NS)
    assert (received.address, received.command, received.values) == (address, command, values)


def test_a_pause_within_the_gap_does_not_break_a_packet():
    request = protocol.request(0x80, CommandCode.DUTY, 0, 0)
    listener = Listener()
    assert listener.receive(request[:3], 0, 1000) == []
    assert len(listener.receive(request[3:], 1000 + protocol.GAP_NS, 2000 + protocol.GAP_NS)) == 1
    assert listener.receive(request[:3], 0, 1000) == []
    assert listener.receive(request[3:], 1001 + protocol.GAP_NS, 2000 + protocol.GAP_NS) == []


def test_requests_in_one_go_end_one_after_the_other():
    stops = b"".join(protocol.request(address, CommandCode.DUTY, 0, 0) for address in (0x80, 0x81, 0x82))
    assert [received.ended_ns for received in Listener().receive(stops, 1000, 4000)] == [2000, 3000, 4000]


@pytest.mark.parametrize(("form", "status"), [(NARROW, 0), (NARROW, 0x0004), (WIDE, 0), (WIDE, 1), (WIDE, 0x3000000)])
def test_the_form_of_the_status_is_found_out(form, status):
    answer = answer_to(0x81, CommandCode.STATUS, form.layout.pack(status))
    asked = protocol.status_form(0x81)
    taken = 0
    while more := asked.missing(answer[:taken]):
        taken += more
    assert taken == len(answer)
    assert asked.decode(answer) is form


def test_a_version_is_read_byte_for_byte_and_never_beyond_its_end():
    answer = answer_to(0x80, CommandCode.VERSION, b"USB Roboclaw 2x7a v4.1.34\n\0")
    asked = protocol.version(0x80)
    taken = 0
    while more := asked.missing(answer[:taken]):
        taken += more
        assert taken <= len(answer)
    assert asked.decode(answer) == "USB Roboclaw 2x7a v4.1.34"


@pytest.mark.parametrize(
    ("answered", "speed"), [((1200, 0), 1200), ((-1200, 1), -1200), ((1200, 1), -1200), ((0, 0), 0), ((0, 1), 0)]
)
def test_a_speed_has_the_direction_of_its_sign_or_of_its_status_byte(answered, speed):
    assert protocol.speed_qpps(answered) == speed
