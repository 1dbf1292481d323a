"""One end of an HTTP/2 connection (RFC 9113) that carries unary gRPC calls, without its socket: bytes in, calls out."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum

import hpack

from drivers.rpc.headers import HeaderReader, Headers

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Longest payload of a frame that an end may send without having asked.
FRAME_BYTES = 16_384
# What a peer may send before it is told that it may send more: of a call, and of the connection.
WINDOW_BYTES = 2**24
# Longest message: gRPC's own limit.
MESSAGE_BYTES = 4 * 2**20
# Numbers of streams have 31 bits, those of a client are odd.
LAST_STREAM = 2**31 - 1
# What a peer may make an end work on before it says who it is: bytes of a header block, such blocks of a call (headers
# and trailers, and as many in between), and calls at once.
HEADER_BYTES, MOST_HEADERS, MOST_STREAMS = 65_536, 4, 1000
_FIRST_WINDOW = 65_535
_HEAD = 9


class FrameType(IntEnum):
    """Frames of RFC 9113 that are used here."""

    DATA = 0
    HEADERS = 1
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


class Setting(IntEnum):
    """Settings that are used here."""

    HEADER_TABLE_SIZE = 1
    ENABLE_PUSH = 2
    INITIAL_WINDOW_SIZE = 4
    MAX_FRAME_SIZE = 5


ACK = END_STREAM = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITY = 0x20
CANCEL = 0x8


class ProtocolError(ConnectionError):
    """The peer does not keep to the protocol, or ends the connection."""


@dataclass(slots=True)
class Stream:
    """One call, as far as it has come from the peer.

    Attributes:
        number: of the stream.
        headers: its header blocks: of a request one, of an answer one or two.
        body: of its data frames.
        reset: code with which the peer gave it up.
    """

    number: int
    headers: list[Headers] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    reset: int | None = None

    def message(self) -> bytes:
        """Its message, without gRPC's prefix. Raises ProtocolError: it is not one whole, plain message."""
        compressed, length = struct.unpack_from(">BI", self.body) if len(self.body) >= 5 else (0, -1)
        if compressed or length != len(self.body) - 5:
            raise ProtocolError(f"a message of {len(self.body)} bytes: compressed, cut off or more than one")
        return bytes(memoryview(self.body)[5:])


@dataclass(slots=True)
class _PendingData:
    """Data that the peer's windows do not admit yet, and the frame that follows them."""

    number: int
    data: memoryview
    last: bytes
    ends: bool  # the data end the stream


class RpcConnection:
    """One end of a connection.

    Args:
        client: this end opens it and makes the calls.

    Attributes:
        settled: the peer's settings have come.
        goes_away: the peer takes no more calls.
    """

    def __init__(self, *, client: bool) -> None:
        self._client = client
        self._read, self._reader = bytearray(), HeaderReader()
        self._expected = b"" if client else PREFACE
        self._streams: dict[int, Stream] = {}
        self._block: tuple[int, int, bytes] | None = None  # header block that continues: stream, flags, bytes
        self._out: list[bytes] = [PREFACE] if client else []
        self._waiting: deque[_PendingData] = deque()
        self._window, self._first_window, self._frame_bytes = _FIRST_WINDOW, _FIRST_WINDOW, FRAME_BYTES
        self._windows: dict[int, int] = {}  # of streams on which data wait
        self._consumed = self._newest = 0
        self.settled = self.goes_away = False
        settings = [(Setting.HEADER_TABLE_SIZE, 0), (Setting.INITIAL_WINDOW_SIZE, WINDOW_BYTES)]
        settings += [(Setting.ENABLE_PUSH, 0)] if client else []
        self._frame(FrameType.SETTINGS, 0, 0, b"".join(struct.pack(">HI", *setting) for setting in settings))
        self._frame(FrameType.WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW_BYTES - _FIRST_WINDOW))

    def output(self) -> bytes:
        """Returns what has to be sent now."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    @property
    def used_up(self) -> bool:
        """Every number of a stream has been used; a connection in which 400 calls a second are made lives 31 days."""
        return self._newest >= LAST_STREAM

    def call(self, block: bytes, message: bytes) -> int:
        """Send a request; the number of its stream, which its answer has too."""
        number, self._newest = self._newest + 1, self._newest + 2
        self._frame(FrameType.HEADERS, END_HEADERS, number, block)
        self._streams[number] = Stream(number)
        self._send(number, message, b"", ends=True)
        return number

    def answer(self, number: int, block: bytes, message: bytes, trailers: bytes) -> None:
        """Send the answer to a request."""
        self._frame(FrameType.HEADERS, END_HEADERS, number, block)
        self._send(number, message, _framed(FrameType.HEADERS, END_HEADERS | END_STREAM, number, trailers), ends=False)

    def fail(self, number: int, block: bytes) -> None:
        """Answer a request with headers only."""
        self._frame(FrameType.HEADERS, END_HEADERS | END_STREAM, number, block)

    def give_up(self, number: int) -> None:
        """Await the answer to a request no longer."""
        self._streams.pop(number, None)
        self._drop(number)
        self._frame(FrameType.RST_STREAM, 0, number, struct.pack(">I", CANCEL))

    def receive(self, data: bytes) -> list[Stream]:
        """Take bytes of the peer; the calls that are whole, or given up by the peer, with them.

        Raises:
            ProtocolError: the peer does not keep to the protocol; the connection is of no more use.
        """
        self._read += data
        if self._expected:
            if not (self._read.startswith(self._expected) or self._expected.startswith(self._read)):
                raise ProtocolError("this is no HTTP/2")
            if len(self._read) < len(self._expected):
                return []
            del self._read[: len(self._expected)]
            self._expected = b""
        done: list[Stream] = []
        at, read = 0, self._read
        while len(read) - at >= _HEAD:
            length = int.from_bytes(read[at : at + 3], "big")
            if length > FRAME_BYTES:
                raise ProtocolError(f"a frame of {length} bytes, allowed: {FRAME_BYTES}")
            if len(read) - at < _HEAD + length:
                break
            kind, flags = read[at + 3], read[at + 4]
            number = int.from_bytes(read[at + 5 : at + 9], "big") & 0x7FFF_FFFF
            payload = bytes(read[at + _HEAD : at + _HEAD + length])
            at += _HEAD + length
            if (stream := self._take(kind, flags, number, payload)) is not None:
                done.append(stream)
        del read[:at]
        return done

    def _take(self, kind: int, flags: int, number: int, payload: bytes) -> Stream | None:
        """One frame; the call that it ends."""
        if self._block is not None and (kind != FrameType.CONTINUATION or number != self._block[0]):
            raise ProtocolError("a header block is not continued")
        if kind == FrameType.DATA:
            return self._take_data(flags, number, payload)
        if kind == FrameType.HEADERS:
            return self._take_headers(flags, number, _unpadded(flags, payload)[5 if flags & PRIORITY else 0 :])
        if kind == FrameType.CONTINUATION:
            if self._block is None:
                raise ProtocolError("a continued header block was not begun")
            (_, begun, first), self._block = self._block, None
            return self._take_headers(begun | flags & END_HEADERS, number, first + payload)
        if kind == FrameType.RST_STREAM:
            return self._take_reset(number, payload)
        if kind == FrameType.SETTINGS:
            self._take_settings(flags, payload)
        elif kind == FrameType.PING and not flags & ACK:
            self._frame(FrameType.PING, ACK, 0, payload)
        elif kind == FrameType.WINDOW_UPDATE:
            self._widen(number, int.from_bytes(payload, "big") & 0x7FFF_FFFF)
        elif kind == FrameType.GOAWAY:
            self.goes_away = True
        elif kind == FrameType.PUSH_PROMISE:
            raise ProtocolError("a pushed answer, which was refused")
        return None

    def _take_data(self, flags: int, number: int, payload: bytes) -> Stream | None:
        self._consumed += len(payload)
        if self._consumed > WINDOW_BYTES // 2:
            self._frame(FrameType.WINDOW_UPDATE, 0, 0, struct.pack(">I", self._consumed))
            self._consumed = 0
        if (stream := self._streams.get(number)) is None:
            return None  # given up
        stream.body += _unpadded(flags, payload)
        if len(stream.body) > MESSAGE_BYTES:
            raise ProtocolError(f"a message of over {MESSAGE_BYTES} bytes")
        return self._streams.pop(number) if flags & END_STREAM else None

    def _take_headers(self, flags: int, number: int, block: bytes) -> Stream | None:
        if len(block) > HEADER_BYTES:
            raise ProtocolError(f"a header block of over {HEADER_BYTES} bytes")
        if not flags & END_HEADERS:
            self._block = (number, flags, block)
            return None
        try:
            headers = self._reader.read(block)
        except hpack.HPACKError as error:
            raise ProtocolError(f"a header block that cannot be read: {error}") from error
        if (stream := self._streams.get(number)) is None:
            if self._client or number <= self._newest:
                return None  # given up
            if len(self._streams) >= MOST_STREAMS:
                raise ProtocolError(f"over {MOST_STREAMS} calls at once")
            self._newest, stream = number, Stream(number)
            self._streams[number] = stream
        stream.headers.append(headers)
        if len(stream.headers) > MOST_HEADERS:
            raise ProtocolError(f"over {MOST_HEADERS} header blocks of a call")
        return self._streams.pop(number) if flags & END_STREAM else None

    def _take_reset(self, number: int, payload: bytes) -> Stream | None:
        self._drop(number)
        if (stream := self._streams.pop(number, None)) is not None:
            stream.reset = int.from_bytes(payload, "big")
        return stream if self._client else None

    def _drop(self, number: int) -> None:
        """Send no more of a stream."""
        self._waiting = deque(item for item in self._waiting if item.number != number)
        self._windows.pop(number, None)

    def _take_settings(self, flags: int, payload: bytes) -> None:
        if flags & ACK:
            return
        if len(payload) % struct.calcsize(">HI"):
            raise ProtocolError(f"settings of {len(payload)} bytes, allowed: a multiple of 6")
        for name, value in struct.iter_unpack(">HI", payload):
            if name == Setting.INITIAL_WINDOW_SIZE:
                for number in self._windows:
                    self._windows[number] += value - self._first_window
                self._first_window = value
            elif name == Setting.MAX_FRAME_SIZE:
                self._frame_bytes = value
        self.settled = True
        self._frame(FrameType.SETTINGS, ACK, 0, b"")
        self._flush()

    def _widen(self, number: int, by: int) -> None:
        if number == 0:
            self._window += by
        elif number in self._windows:
            self._windows[number] += by
        self._flush()

    def _send(self, number: int, message: bytes, last: bytes, *, ends: bool) -> None:
        """Send a message with gRPC's prefix, as far as the peer admits, then `last`."""
        data = b"\0" + len(message).to_bytes(4, "big") + message
        self._waiting.append(_PendingData(number, memoryview(data), last, ends))
        self._windows[number] = self._first_window
        self._flush()

    def _flush(self) -> None:
        """Send what waits and is admitted now."""
        for item in list(self._waiting):
            while item.data and (size := self._admitted(item)) > 0:
                part, item.data = item.data[:size], item.data[size:]
                self._window -= size
                self._windows[item.number] -= size
                end = END_STREAM if item.ends and not item.data else 0
                self._out.append(_framed(FrameType.DATA, end, item.number, bytes(part)))
            if not item.data:
                self._out.append(item.last)
                self._waiting.remove(item)
                del self._windows[item.number]

    def _admitted(self, item: _PendingData) -> int:
        """Returns the length of the next frame of data [bytes]."""
        return min(len(item.data), self._frame_bytes, self._window, self._windows[item.number])

    def _frame(self, kind: FrameType, flags: int, number: int, payload: bytes) -> None:
        self._out.append(_framed(kind, flags, number, payload))


def _framed(kind: int, flags: int, number: int, payload: bytes) -> bytes:
    return struct.pack(">HBBBI", len(payload) >> 8, len(payload) & 0xFF, kind, flags, number) + payload


def _unpadded(flags: int, payload: bytes) -> bytes:
    """Raises ProtocolError."""
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise ProtocolError("a frame with more padding than bytes")
    return payload[1 : len(payload) - payload[0]]
