"""Roboteq lines follow the manual, and only the answer to the request counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.roboteq import protocol
from drivers.roboteq.protocol import Exchange, FaultFlag, OpeningLine, RoboteqCommand
from drivers.serial.link import BadFrameError

VALUE = st.integers(-999_999_999, 999_999_999)
SAMPLE = Exchange(("!G 1 500", "!G 2 -20", "?FF", "?S"), (1, 2))
GOOD = b"+\r+\rFF=16\rS=-30:1250\r"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (b"!G 1 500", RoboteqCommand("!", "G", (1, 500))),
        (b"!g 2 -1000", RoboteqCommand("!", "G", (2, -1000))),
        (b"^RWD 2000", RoboteqCommand("^", "RWD", (2000,))),
        (b"~RWD", RoboteqCommand("~", "RWD", ())),
        (b"?FM 1", RoboteqCommand("?", "FM", (1,))),
        (b"!EX", RoboteqCommand("!", "EX", ())),
        (b"", None),
        (b"G 1 500", None),
        (b"!G 1 5.0", None),
        (b"!G 1 --5", None),
        (b"!G 1 " + b"0" * 80, None),
    ],
)
def test_commands_are_read_as_the_manual_says(text, command):
    assert protocol.parse(text) == command


def test_several_commands_share_a_line():
    assert SAMPLE.frame == b"!G 1 500_!G 2 -20_?FF_?S\r"
    assert SAMPLE.decode(GOOD) == ((16,), (-30, 1250))


@given(st.integers(1, 2), st.integers(-1000, 1000))
def test_what_is_sent_is_what_a_controller_reads(channel, value):
    assert protocol.parse(protocol.go(channel, value).encode()) == RoboteqCommand("!", "G", (channel, value))


@given(st.lists(VALUE, min_size=1, max_size=4).map(tuple))
def test_values_come_back_as_they_were_answered(values):
    assert Exchange(("?S",), (len(values),)).decode(protocol.answer("S", *values)) == (values,)


@pytest.mark.parametrize("count", range(len(GOOD) + 1))
def test_an_answer_is_waited_for_to_its_last_byte_and_no_further(count):
    missing = SAMPLE.missing(GOOD[:count])
    assert (missing == 0) == (count == len(GOOD))
    assert missing <= len(GOOD) - count
    assert len(GOOD) <= SAMPLE.longest_answer


@pytest.mark.parametrize(
    "received",
    [
        b"-\r+\rFF=16\rS=-30:1250\r",
        b"+\rFF=16\r+\rS=-30:1250\r",
        b"+\r+\rFM=16\rS=-30:1250\r",
        b"+\r+\rFF=16\rS=-30\r",
        b"+\r+\rFF=16\rS=-30:1250:7\r",
        b"+\r+\rFF=16\rS=-30:+125\r",
        b"+\r+\rFF=16\rS=-30:01250\r",
        b"+\r+\rFF=16\rS=-30:1250",
        b"+\r+\r+\rFF=16\rS=-30:1250\r",
        b"!G 1 500\r+\r+\rFF=16\rS=-30:1250\r",
    ],
)
def test_an_answer_that_is_not_to_this_line_is_refused(received):
    with pytest.raises(BadFrameError):
        SAMPLE.decode(received)


def see_that_only_valid_is_accepted(received: bytes) -> None:
    assert SAMPLE.missing(received) >= 0
    try:
        (faults, speeds) = SAMPLE.decode(received)
    except BadFrameError:
        return
    assert received == b"+\r+\r" + protocol.answer("FF", *faults) + protocol.answer("S", *speeds)


@given(st.one_of(st.binary(max_size=60), st.text("+-\rFS=0123456789:_", max_size=40).map(str.encode)))
def test_random_bytes_are_never_taken_for_an_answer(received):
    see_that_only_valid_is_accepted(received)


@given(st.lists(st.tuples(st.sampled_from("xdi"), st.integers(0, 21), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_mutated_answer_is_refused_unless_it_is_a_valid_one(changes):
    received = bytearray(GOOD)
    for kind, place, byte in changes:
        at = place % len(received)
        if kind == "x":
            received[at] ^= 1 << byte % 8
        elif kind == "d" and len(received) > 1:
            del received[at]
        elif kind == "i":
            received.insert(at, byte)
    see_that_only_valid_is_accepted(bytes(received))


@given(st.binary(max_size=100))
def test_random_bytes_are_no_command_or_a_whole_one(text):
    command = protocol.parse(text)
    if command is not None:
        again = " ".join([command.sign + command.name, *map(str, command.numbers)]).encode()
        assert protocol.parse(again) == command
        assert text[:1].decode() == command.sign


@pytest.mark.parametrize("before", [b"", b"-\r", b"+\r", b"!EX_!G 1 0_!G 2 0_^ECHOF 1_", b"\x00\xff"])
def test_the_opening_waits_for_the_faults_with_echo_and_without(before):
    opening, answer = OpeningLine(), b"+\r+\r+\r+\rFF=20\r"
    assert opening.decode(before + answer) == FaultFlag.EMERGENCY_STOP | FaultFlag.UNDERVOLTAGE
    assert all(opening.missing((before + answer)[:count]) for count in range(len(before + answer)))


@given(st.binary(max_size=60))
def test_the_opening_takes_no_random_bytes_for_faults(received):
    opening = OpeningLine()
    if opening.missing(received):
        with pytest.raises(BadFrameError):
            opening.decode(received)
    else:
        assert received.endswith(protocol.answer("FF", opening.decode(received)))
