"""Requests and replies of GeoCOM: examples of the manual and of independent clients, and damage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.interfaces import BadFrameError
from drivers.leica import protocol
from drivers.leica.protocol import Coordinates, GeocomReply, Procedure

PLACE = b"%R1P,0,3:0,2.00000,-1.50000,0.45000,734900,2.00000,-1.50000,0.45000,735020\r\n"


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        (b"%R1P,0,0:0\r\n", GeocomReply(0, 0, 0, ("",))),
        (b"%R1P,0,0:0,1996,'07','19'\r\n", GeocomReply(0, 0, 0, ("1996", "'07'", "'19'"))),
        (b'%R1P,0,4:0,"TCRP1201"\r\n', GeocomReply(0, 4, 0, ("TCRP1201",))),
        (b"%R1P,0,7:1285\r\n", GeocomReply(0, 7, 1285, ("",))),
        (b"%R1P,3081,2:0\r\n", GeocomReply(3081, 2, 0, ("",))),
    ],
)
def test_replies_of_the_manual_are_understood(message, reply):
    assert protocol.decode(message) == reply


def test_requests_are_written_as_the_manual_has_them():
    assert protocol.request(Procedure.NULL, 1) == b"%R1Q,0,1:\r\n"
    assert protocol.request(Procedure.GET_COORDINATE, 3, 0, 1) == b"%R1Q,2082,3:0,1\r\n"
    assert protocol.request(Procedure.FINE_ADJUST, 2, 0.1, 0.1, 0) == b"%R1Q,9037,2:0.1,0.1,0\r\n"


def test_coordinates_are_of_the_newest_distance_and_have_both_times():
    values = protocol.decode(PLACE).values
    assert protocol.coordinates(values) == Coordinates((2.0, -1.5, 0.45), 734900, 735020)


@pytest.mark.parametrize(
    "values",
    [
        "",
        "1,2,3",
        "1,2,x,9,1,2,3,20",
        "1,2,nan,9,1,2,3,20",
        "1,2,3,30,1,2,3,20",
        "1,2,3,1e1,1,2,3,20",
        "1,2,3,4,5,6,7,8,9",
    ],
)
def test_coordinates_that_cannot_be_are_damaged(values):
    with pytest.raises(BadFrameError):
        protocol.coordinates(tuple(values.split(",")))


@given(st.binary(max_size=80))
def test_any_bytes_are_a_reply_or_damaged(data):
    for message in (data, b"%R1P" + data, PLACE[: len(data)] + data):
        try:
            reply = protocol.decode(message)
        except BadFrameError:
            continue
        assert message.startswith(b"%R1P,")
        assert reply.code >= 0


@given(st.integers(0, len(PLACE) - 1))
def test_an_answer_is_awaited_until_its_last_byte(length):
    late = b"%R1P,0,2:0,1\r\n"
    for before in (b"", late):
        assert protocol.missing(before + PLACE[:length], 3) > 0
        assert protocol.missing(before + PLACE, 3) == 0
        assert protocol.decode(before + PLACE) == protocol.decode(PLACE)
