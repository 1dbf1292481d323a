"""Modbus frames equal the makers' vectors, and damaged ones are refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymodbus.framer import FramerRTU
from pymodbus.pdu import DecodePDU

from drivers.modbus import protocol
from drivers.serial.link import BadFrameError

ADDRESS = st.integers(0, 255)
PLACE = st.integers(0, 0xFFFF)
COILS = st.lists(st.booleans(), min_size=1, max_size=40).map(tuple)
REGISTERS = st.lists(st.integers(-0x8000, 0x7FFF), min_size=1, max_size=40).map(tuple)


@pytest.mark.parametrize(
    ("request_", "frame"),
    [
        (protocol.write_coil(0xFF, 0, protocol.ON), "ff 05 00 00 ff 00 99 e4"),
        (protocol.write_coils(0xFF, 0, (True,) * 8), "ff 0f 00 00 00 08 01 ff 30 1d"),
        (protocol.write_coil(1, 0x0200, 7), "01 05 02 00 00 07 8d b0"),  # a relay board's flash-on for 0.7 s
        (protocol.write_coil(1, 1, protocol.ON), "01 05 00 01 ff 00 dd fa"),
        (protocol.write_coil(1, 1, protocol.OFF), "01 05 00 01 00 00 9c 0a"),
        (protocol.write_register(17, 1, 3), "11 06 00 01 00 03 9a 9b"),
        (protocol.read_registers(17, 0x6B, 3, protocol.Function.READ_HOLDING), "11 03 00 6b 00 03 76 87"),
    ],
)
def test_requests_are_those_of_the_makers(request_, frame):
    assert request_.frame == bytes.fromhex(frame)


def test_the_silence_between_frames_is_three_and_a_half_characters_and_never_below_1_75_ms():
    assert protocol.silence_ns(9600) == pytest.approx(3.5 * 11 / 9600 * 1e9, rel=1e-6)
    assert [protocol.silence_ns(baud) for baud in (19201, 115200, 1_000_000)] == [1_750_000] * 3


def answered(request: protocol.ModbusRequest[Any], data: bytes) -> bytes:
    return protocol.frame(request.frame[0], request.frame[1], data)


@given(ADDRESS, PLACE, COILS)
def test_coils_come_back_as_they_were_sent(address, first, coils):
    asked = protocol.read_coils(address, first, len(coils))
    packed = protocol.pack(coils)
    answer = answered(asked, bytes([len(packed)]) + packed)
    assert asked.decode(answer) == coils
    assert asked.missing(answer) == 0
    assert len(answer) == asked.length


@given(ADDRESS, PLACE, REGISTERS)
def test_registers_come_back_with_their_signs(address, first, values):
    asked = protocol.read_registers(address, first, len(values))
    data = b"".join(value.to_bytes(2, "big", signed=True) for value in values)
    assert asked.decode(answered(asked, bytes([len(data)]) + data)) == values


@given(ADDRESS, PLACE, COILS, REGISTERS)
def test_an_independent_server_reads_our_requests_as_they_are_meant(address, first, coils, values):
    requests = [
        protocol.read_coils(address, first, len(coils)),
        protocol.write_coils(address, first, coils),
        protocol.write_registers(address, first, values),
        protocol.write_register(address, first, values[0]),
        protocol.write_coil(address, first, protocol.ON if coils[0] else protocol.OFF),
        protocol.read_registers(address, first, len(values)),
    ]
    read = [FramerRTU(DecodePDU(True)).handleFrame(one.frame, 0, 0) for one in requests]
    assert [used for used, _ in read] == [len(one.frame) for one in requests]
    pdus = [pdu for _, pdu in read]
    assert all(pdu.dev_id == address and pdu.address == first for pdu in pdus)
    assert tuple(pdus[1].bits[: len(coils)]) == coils
    assert [tuple(pdu.registers) for pdu in pdus[2:4]] == [tuple(v & 0xFFFF for v in values), (values[0] & 0xFFFF,)]
    assert pdus[4].bits[:1] == [coils[0]]
    assert (pdus[0].count, pdus[5].count) == (len(coils), len(values))


@pytest.mark.parametrize("code", [1, 2, 3, 4, 6, 11])
def test_a_slave_that_will_not_is_no_damage_and_its_reason_is_told(code):
    asked = protocol.read_coils(1, 0, 8)
    answer = protocol.frame(1, 1 | protocol.REFUSED, bytes([code]))
    assert [asked.missing(answer[:count]) for count in (0, 1, 2, 5)] == [5, 4, 3, 0]
    with pytest.raises(protocol.RefusedError, match=f"exception {code}"):
        asked.decode(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "02 05 00 02 ff 00",  # of another address
        "01 06 00 02 ff 00",  # to another function
        "01 05 00 03 ff 00",  # of another coil
        "01 05 00 02 00 00",  # of another value
        "01 05 00 02 ff",
        "01 85 02 00",
    ],
)
def test_a_whole_frame_that_is_no_answer_to_this_request_is_refused(answer):
    body = bytes.fromhex(answer)
    with pytest.raises(BadFrameError):
        protocol.write_coil(1, 2, protocol.ON).decode(body + protocol.crc16(body).to_bytes(2, "little"))


REQUESTS = [
    protocol.read_coils(1, 0, 8),
    protocol.read_registers(1, 10, 4),
    protocol.write_coil(1, 2, protocol.ON),
    protocol.write_coils(1, 0, (True, False, True)),
    protocol.write_register(1, 5, 600),
]
GOOD = [
    answered(REQUESTS[0], bytes.fromhex("01 a5")),
    answered(REQUESTS[1], bytes.fromhex("08 00 01 00 02 ff fe 7f ff")),
    *(answered(one, one.frame[2:6]) for one in REQUESTS[2:]),
]


def again(request: protocol.ModbusRequest[Any], value: Any) -> bytes:
    """The only answer to a request that may be read as this value."""
    if value is None:
        return answered(request, request.frame[2:6])
    if isinstance(value[0], bool):
        packed = protocol.pack(value)
    else:
        packed = b"".join(one.to_bytes(2, "big", signed=True) for one in value)
    return answered(request, bytes([len(packed)]) + packed)


def see_that_only_valid_is_accepted(request: protocol.ModbusRequest[Any], received: bytes) -> None:
    assert request.missing(received) >= 0
    try:
        valid = again(request, request.decode(received))
    except protocol.RefusedError as refused:
        valid = protocol.frame(request.frame[0], request.frame[1] | protocol.REFUSED, bytes([refused.code]))
    except BadFrameError:
        return
    assert received == valid


@given(st.sampled_from(REQUESTS), st.binary(max_size=300))
def test_random_bytes_are_never_taken_for_an_answer(request_, received):
    see_that_only_valid_is_accepted(request_, received)


@given(st.sampled_from(list(zip(REQUESTS, GOOD, strict=True))), st.data())
def test_a_mutated_answer_is_refused_unless_it_is_a_valid_one(pair, data):
    request, good = pair
    received = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(received) - 1))
        kind = data.draw(st.sampled_from(["garbage", "intermittent", "insert", "cut"]))
        if kind == "garbage":
            received[place] ^= 1 << data.draw(st.integers(0, 7))
        elif kind == "intermittent" and len(received) > 1:
            del received[place]
        elif kind == "insert":
            received.insert(place, data.draw(st.integers(0, 255)))
        elif kind == "cut":
            received = received[: max(place, 1)]
    see_that_only_valid_is_accepted(request, bytes(received))


@pytest.mark.parametrize("bits", [(bit,) for bit in range(64)] + [(bit, bit + 5) for bit in range(59)])
def test_no_one_or_two_flipped_bits_get_through(bits):
    received = bytearray(GOOD[2])
    for bit in bits:
        received[bit // 8] ^= 1 << bit % 8
    with pytest.raises(BadFrameError):
        REQUESTS[2].decode(bytes(received))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: protocol.read_coils(256, 0, 1), "address: 256, allowed: 0 to 255"),
        (lambda: protocol.read_coils(1, 0, 0), "count: 0, allowed: 1 to"),
        (lambda: protocol.read_coils(1, -1, 1), "first: -1"),
        (lambda: protocol.write_register(1, 0, 65536), "value: 65536, allowed: -32768 to 65535"),
        (lambda: protocol.write_coils(1, 0, ()), "count: 0"),
        (lambda: protocol.write_coil(1, 0, 1 << 16), "value: 65536"),
    ],
)
def test_what_does_not_fit_into_a_frame_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
