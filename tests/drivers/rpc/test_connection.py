"""Both ends of a connection, joined without a socket."""

from __future__ import annotations

import struct

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.rpc.connection import (
    ACK,
    END_HEADERS,
    END_STREAM,
    FRAME_BYTES,
    HEADER_BYTES,
    MESSAGE_BYTES,
    MOST_HEADERS,
    MOST_STREAMS,
    PADDED,
    PREFACE,
    PRIORITY,
    FrameType,
    ProtocolError,
    RpcConnection,
    Setting,
)
from drivers.rpc.headers import OK, HeaderReader, field, fields

HEAD = fields({":path": "/service/Read", "te": "trailers"}.items())
DONE = field("grpc-status", "0")


def framed(kind, flags, number, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + number.to_bytes(4, "big") + payload


def frames(data):
    """The frames in bytes that an end sends: type, flags, stream, payload."""
    found = []
    while data:
        length = int.from_bytes(data[:3], "big")
        found.append((data[3], data[4], int.from_bytes(data[5:9], "big"), data[9 : 9 + length]))
        data = data[9 + length :]
    return found


@pytest.fixture
def ends():
    """A client and a server that have exchanged their settings."""
    client, server = RpcConnection(client=True), RpcConnection(client=False)
    exchange(client, server)
    assert client.settled
    assert server.settled
    return client, server


def exchange(client, server):
    """Carry bytes to and fro until both are silent; the calls that each end has got."""
    answered, asked = [], []
    there, back = client.output(), server.output()
    while there or back:
        asked += server.receive(there)
        answered += client.receive(back)
        there, back = client.output(), server.output()
    return answered, asked


def test_a_call_arrives_and_its_answer_comes_back(ends):
    client, server = ends
    number = client.call(HEAD, b"question")
    _, (asked,) = exchange(client, server)
    assert (asked.number, asked.headers[0][":path"], asked.message()) == (number, "/service/Read", b"question")
    server.answer(number, OK, b"answer", DONE)
    (answered,), _ = exchange(client, server)
    assert (answered.number, answered.message()) == (number, b"answer")
    assert answered.headers == [{":status": "200"}, {"grpc-status": "0"}]


@pytest.mark.parametrize("size", [0, 1, FRAME_BYTES, 70_000, 3_000_000])
def test_a_message_of_any_size_arrives_whole_though_the_peer_admits_64_kb_at_first(ends, size):
    early = RpcConnection(client=True)
    early.call(HEAD, bytes(size))  # before the server's settings are known
    sent = frames(early.output()[len(PREFACE) :])
    assert sum(len(payload) for kind, _, _, payload in sent if kind == FrameType.DATA) == min(size + 5, 65_535)
    client, server = ends
    number = client.call(HEAD, bytes(size))
    _, (asked,) = exchange(client, server)
    server.answer(number, OK, asked.message() + b"!", DONE)
    (answered,), _ = exchange(client, server)
    assert answered.message() == bytes(size) + b"!"


def test_more_than_the_window_is_sent_only_as_the_peer_takes_it():
    server = RpcConnection(client=False)
    server.receive(PREFACE + framed(FrameType.SETTINGS, 0, 0))
    server.receive(framed(FrameType.HEADERS, END_HEADERS, 1, HEAD))
    server.receive(framed(FrameType.DATA, END_STREAM, 1, bytes(5)))
    server.output()
    server.answer(1, OK, bytes(100_000), DONE)
    sent = frames(server.output())
    assert sum(len(payload) for kind, _, _, payload in sent if kind == FrameType.DATA) == 65_535
    assert sent[-1][1] != END_HEADERS | END_STREAM
    server.receive(framed(FrameType.WINDOW_UPDATE, 0, 1, struct.pack(">I", 100_000)))
    assert not server.output()  # the connection's window is still used up
    server.receive(framed(FrameType.WINDOW_UPDATE, 0, 0, struct.pack(">I", 100_000)))
    more = frames(server.output())
    assert sum(len(payload) for kind, _, _, payload in more if kind == FrameType.DATA) == 100_005 - 65_535
    assert more[-1][:2] == (FrameType.HEADERS, END_HEADERS | END_STREAM)


def test_a_peer_that_admits_less_gets_less(ends):
    client, server = ends
    server.receive(framed(FrameType.SETTINGS, 0, 0, struct.pack(">HI", Setting.INITIAL_WINDOW_SIZE, 10)))
    client.call(HEAD, b"")
    exchange(client, server)
    server.answer(1, OK, bytes(20), DONE)
    sent = frames(server.output())
    assert [len(payload) for kind, _, _, payload in sent if kind == FrameType.DATA] == [10]
    server.receive(framed(FrameType.SETTINGS, 0, 0, struct.pack(">HI", Setting.INITIAL_WINDOW_SIZE, 100)))
    assert [len(payload) for kind, _, _, payload in frames(server.output()) if kind == FrameType.DATA] == [15]


def test_windows_are_opened_again_as_bytes_are_taken(ends):
    client, server = ends
    for number in range(1, 41, 2):  # 20 MB, more than the window of the connection
        client.call(HEAD, bytes(10**6))
        _, (asked,) = exchange(client, server)
        assert (asked.number, len(asked.message())) == (number, 10**6)


def test_bytes_may_come_one_at_a_time(ends):
    client, server = ends
    client.call(HEAD, b"question")
    asked = [stream for byte in client.output() for stream in server.receive(bytes((byte,)))]
    assert [stream.message() for stream in asked] == [b"question"]


def test_header_blocks_may_be_continued_padded_and_with_a_priority(ends):
    _, server = ends
    payload = bytes((3,)) + bytes(5) + HEAD[:7] + bytes(3)
    assert not server.receive(framed(FrameType.HEADERS, PADDED | PRIORITY, 1, payload))
    assert not server.receive(framed(FrameType.CONTINUATION, 0, 1, HEAD[7:9]))
    assert not server.receive(framed(FrameType.CONTINUATION, END_HEADERS, 1, HEAD[9:]))
    data = bytes((2,)) + bytes(5) + bytes(2)
    (asked,) = server.receive(framed(FrameType.DATA, PADDED | END_STREAM, 1, data))
    assert (asked.headers[0][":path"], asked.message()) == ("/service/Read", b"")


def test_a_ping_is_answered_with_its_bytes(ends):
    for end in ends:
        end.receive(framed(FrameType.PING, 0, 0, b"12345678"))
        assert frames(end.output()) == [(FrameType.PING, ACK, 0, b"12345678")]
        end.receive(framed(FrameType.PING, ACK, 0, b"12345678"))
        assert not end.output()


def test_an_answer_to_a_call_that_was_given_up_is_dropped(ends):
    client, server = ends
    number = client.call(HEAD, b"")
    exchange(client, server)
    client.give_up(number)
    server.answer(number, OK, b"late", DONE)
    late = server.output()
    server.receive(client.output())
    assert client.receive(late) == []
    client.call(HEAD, b"next")
    _, (asked,) = exchange(client, server)
    assert asked.message() == b"next"


def test_a_call_that_the_server_gives_up_ends(ends):
    client, _ = ends
    number = client.call(HEAD, b"")
    (ended,) = client.receive(framed(FrameType.RST_STREAM, 0, number, struct.pack(">I", 7)))
    assert (ended.number, ended.reset) == (number, 7)


def test_a_server_that_goes_away_says_so(ends):
    client, _ = ends
    client.receive(framed(FrameType.GOAWAY, 0, 0, bytes(8)))
    assert client.goes_away


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (framed(FrameType.DATA, 0, 1, bytes(FRAME_BYTES + 1)), "a frame of 16385 bytes"),
        (framed(FrameType.CONTINUATION, END_HEADERS, 1, HEAD), "was not begun"),
        (framed(FrameType.HEADERS, 0, 1, HEAD) + framed(FrameType.PING, 0, 0, bytes(8)), "is not continued"),
        (framed(FrameType.HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"), "cannot be read"),
        (framed(FrameType.HEADERS, END_HEADERS | PADDED, 1, b"\x09abc"), "padding"),
        (framed(FrameType.PUSH_PROMISE, END_HEADERS, 1, bytes(8)), "pushed"),
    ],
)
def test_a_peer_that_does_not_keep_to_the_protocol_is_refused(ends, data, words):
    with pytest.raises(ProtocolError, match=words):
        ends[1].receive(data)


def test_a_message_longer_than_allowed_is_refused(ends):
    _, server = ends
    server.receive(framed(FrameType.HEADERS, END_HEADERS, 1, HEAD))
    for _ in range(MESSAGE_BYTES // FRAME_BYTES):
        server.receive(framed(FrameType.DATA, 0, 1, bytes(FRAME_BYTES)))
    with pytest.raises(ProtocolError, match="message of over"):
        server.receive(framed(FrameType.DATA, 0, 1, bytes(1)))


def test_what_is_no_http2_is_refused():
    with pytest.raises(ProtocolError, match="no HTTP/2"):
        RpcConnection(client=False).receive(b"GET / HTTP/1.1\r\n\r\n")


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_end_the_connection(data):
    for client in (True, False):
        end = RpcConnection(client=client)
        try:
            end.receive((b"" if client else PREFACE) + data)
        except ProtocolError:
            continue


@given(st.lists(st.tuples(st.sampled_from(["te", "x-long"]), st.text("ab /%", max_size=300)), max_size=4))
def test_any_reader_of_header_blocks_reads_ours(pairs):
    assert hpack.Decoder().decode(fields(pairs)) == pairs


def test_a_block_means_what_it_means_in_its_place():
    """A peer may keep fields in a table: the same bytes then stand for another value later."""
    peer, reader = hpack.Encoder(), HeaderReader()
    for value in ("1", "2", "2", "3", "1"):
        assert reader.read(peer.encode({"grpc-timeout": value})) == {"grpc-timeout": value}


def test_a_repeated_block_is_read_once_where_no_table_is_kept(monkeypatch):
    reader = HeaderReader()
    assert reader.read(HEAD)[":path"] == "/service/Read"
    monkeypatch.setattr(reader, "_decoder", hpack.Decoder())
    monkeypatch.setattr(reader._decoder, "decode", None)
    assert reader.read(HEAD)[":path"] == "/service/Read"


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (framed(FrameType.HEADERS, 0, 1, HEAD)
         + framed(FrameType.CONTINUATION, 0, 1, b"x" * FRAME_BYTES) * (HEADER_BYTES // FRAME_BYTES + 1),
         "header block of"),
        (framed(FrameType.HEADERS, END_HEADERS, 1, HEAD) * (MOST_HEADERS + 1), "header blocks of a call"),
        (b"".join(framed(FrameType.HEADERS, END_HEADERS, 2 * one + 1, HEAD) for one in range(MOST_STREAMS + 1)),
         "calls at once"),
        (framed(FrameType.SETTINGS, 0, 0, b"abc"), "settings of 3 bytes"),
    ],
)  # fmt: skip
def test_a_peer_cannot_make_an_end_work_without_bound_before_it_is_known(ends, sent, why):
    with pytest.raises(ProtocolError, match=why):
        ends[1].receive(sent)
