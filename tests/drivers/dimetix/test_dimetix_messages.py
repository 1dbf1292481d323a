"""Commands and replies of Dimetix sensors: examples of manuals and programs, and damage."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.dimetix import protocol
from drivers.dimetix.protocol import DistanceReply
from drivers.interfaces import BadFrameError

DISTANCE = b"g0h+00012345\r\n"


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        (b"g0?\r\n", DistanceReply(0, "", "", 0)),
        (b"g0g+00002718\r\n", DistanceReply(0, "g", "+00002718", 0)),
        (b"g0g-00000234\r\n", DistanceReply(0, "g", "-00000234", 0)),
        (b"g0sv+00430121\r\n", DistanceReply(0, "sv", "+00430121", 0)),
        (b"g0sn+40250215\r\n", DistanceReply(0, "sn", "+40250215", 0)),
        (b"g0uo?\r\n", DistanceReply(0, "uo", "", 0)),
        (b"g0@E203\r\n", DistanceReply(0, "", "", 203)),
        (b"g12@E255\r\n", DistanceReply(12, "", "", 255)),
    ],
)
def test_replies_of_the_manuals_are_understood(message, reply):
    assert protocol.decode(message) == reply


def test_a_distance_is_in_tenths_of_a_millimetre_and_an_error_is_none():
    assert protocol.decode(b"g0g+00002718\r\n").distance_m == pytest.approx(0.2718)
    assert math.isnan(protocol.decode(b"g0@E255\r\n").distance_m)


def test_commands_are_written_as_the_manuals_have_them():
    assert protocol.command(0, protocol.STOP) == b"s0c\r\n"
    assert protocol.command(0, protocol.TRACK, 20) == b"s0h+20\r\n"
    assert protocol.command(3, protocol.FORMAT, 0) == b"s3uo+0\r\n"


@given(st.floats(0.05, 500.0))
def test_what_the_simulated_sensor_writes_is_what_the_driver_reads_to_the_last_digit(distance_m):
    message = protocol.distance_message(0, distance_m)
    assert len(message) == protocol.MESSAGE_BYTES
    assert protocol.decode(message).distance_m == pytest.approx(distance_m, abs=0.5001e-4)


@given(st.integers(0, len(DISTANCE) - 1), st.integers(0, 7))
def test_with_parity_no_flipped_bit_is_taken_for_a_distance(place, bit):
    damaged = bytearray(protocol.with_parity(DISTANCE))
    damaged[place] ^= 1 << bit
    with pytest.raises(BadFrameError):
        protocol.decode(protocol.without_parity(bytes(damaged)))


@given(st.binary(max_size=127).map(lambda data: bytes(byte & 0x7F for byte in data)))
def test_parity_bits_that_are_added_are_even_and_are_taken_off_again(text):
    with_parity = protocol.with_parity(text)
    assert all(byte.bit_count() % 2 == 0 for byte in with_parity)
    assert protocol.without_parity(with_parity) == text


@given(st.integers(0, len(DISTANCE)), st.integers(0, len(DISTANCE)))
def test_a_part_of_a_message_is_not_taken_for_a_shorter_distance(begin, end):
    if (part := DISTANCE[begin:end]) != DISTANCE:
        with pytest.raises(BadFrameError):
            protocol.decode(part)


@given(st.binary(max_size=30))
def test_noise_is_no_reply(noise):
    with pytest.raises(BadFrameError):
        protocol.decode(noise)


def test_codes_of_errors_have_words_and_unknown_ones_point_to_the_manual():
    assert protocol.error_words(203) == "error 203: wrong command or parameter"
    assert protocol.error_words(999) == "error 999: see its manual"
    assert set(protocol.COMMAND_ERRORS) < {row.value for row in protocol.ERRORS.rows}
