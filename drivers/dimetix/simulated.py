"""A Dimetix laser distance sensor, simulated at the protocol level."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from drivers.dimetix import protocol
from drivers.interfaces import BadFrameError
from drivers.sim.protocol.plant_ports import Instrument
from drivers.sim.protocol.reading_stream import StreamingDevice

_COMMAND = re.compile(r"s([0-9])([a-z]{1,3})([+-][0-9]{1,8})?\r\n")
_BETWEEN_M = (0.05, 500.0)  # its range
SERIAL_NUMBER = "01234567"
_OUT_OF_RANGE, _WRONG, _TRACKS, _COMMUNICATION = 234, 203, 212, 220


class DimetixDevice(StreamingDevice):
    """A `SimulatedSerialDevice` that streams once it tracks.

    It knows the commands that the driver uses, and single measurements. A reading that the instrument lost, or that is
    no number, is a measurement with a signal too weak.

    Args:
        instrument: of the plant; its channel is the distance.
        parity: characters have 7 bits and an even parity bit; else 8 bits.
        sensor: its number.
        delay_ns: from a measurement until its message begins [ns].
        identity: its serial number.
    """

    def __init__(
        self, instrument: Instrument, *, parity: bool, sensor: int, delay_ns: int, identity: str = SERIAL_NUMBER
    ) -> None:
        super().__init__(instrument, delay_ns)
        self._identity = identity
        self._parity, self._sensor = parity, sensor
        self._to_line: Callable[[bytes], bytes] = protocol.with_parity if parity else bytes
        self._buffer = b""
        self._tracks = False

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:  # noqa: ARG002
        """Receive bytes of a host; the bytes sent back."""
        *commands, self._buffer = (self._buffer + data).split(b"\n")
        return b"".join(self._answer(one + b"\n", ended_ns) for one in commands)

    def _answer(self, line: bytes, now_ns: int) -> bytes:
        try:
            text = (protocol.without_parity(line) if self._parity else line).decode("latin-1")
        except BadFrameError:
            return self._error(_COMMUNICATION)
        found = _COMMAND.fullmatch(text)
        if found is None:
            return self._error(_WRONG)
        sensor, letters, number = found.groups()
        if int(sensor) != self._sensor:
            return b""
        if letters == protocol.STOP:
            self._stream.stop()
            self._tracks = False
            return self._reply("?")
        if self._tracks and letters != protocol.TRACK:
            return self._error(_TRACKS)
        return self._obey(letters, None if number is None else int(number), now_ns)

    def _obey(self, letters: str, number: int | None, now_ns: int) -> bytes:
        if letters == protocol.TRACK:
            return self._track(number or 0, now_ns)
        if letters == protocol.FORMAT and number == protocol.PLAIN_FORMAT:
            return self._reply("uo?")
        values = {
            protocol.FIRMWARE: "sv+01060110",
            protocol.SERIAL_NUMBER: f"sn+{self._identity:0>8}",
            protocol.FORMAT: "uo+0",
        }
        if letters in values and number is None:
            return self._reply(values[letters])
        if letters == protocol.SINGLE and number is None:
            return self._measured(self._stream.newest(), letters)
        return self._error(_WRONG)

    def _track(self, period_ms: int, now_ns: int) -> bytes:
        period_ms = period_ms or protocol.LEAST_MS
        if not protocol.LEAST_MS <= period_ms <= protocol.MOST_MS:
            return self._error(360 if period_ms < protocol.LEAST_MS else 361)
        self._tracks = True
        self._stream.start(now_ns, 1e3 / period_ms)
        return b""

    def _message(self, values: tuple[float, ...] | None) -> bytes:
        return self._measured(values)

    def _measured(self, values: tuple[float, ...] | None, letters: str = protocol.TRACK) -> bytes:
        if values is None or not math.isfinite(values[0]):
            return self._error(protocol.TOO_WEAK)
        if not _BETWEEN_M[0] <= values[0] <= _BETWEEN_M[1]:
            return self._error(_OUT_OF_RANGE)
        return self._to_line(protocol.distance_message(self._sensor, values[0], letters))

    def _error(self, code: int) -> bytes:
        return self._to_line(protocol.error_message(self._sensor, code))

    def _reply(self, text: str) -> bytes:
        return self._to_line(f"g{self._sensor}{text}".encode() + protocol.END)
