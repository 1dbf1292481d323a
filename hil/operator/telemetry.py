"""Live values for any viewer: ZeroMQ PUB, frames [topic, msgpack map], topics `tick`, `event`, `link`, `trial`.

Numbers only and nested maps, as PlotJuggler wants them: it shows tick/normal_force_N/front_left. It never blocks and
never waits for a viewer: a message without a receiver is dropped.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import msgspec
import numpy as np
import zmq
from numpy.typing import NDArray

from drivers.interfaces import DeviceError
from hil.config.schema.equipment import KeysConfig, TelemetryConfig, is_local
from hil.messages.layout import Layout
from hil.messages.signals import TICK
from hil.operator.curve import CurveDoor, KeysError, own_path
from hil.operator.sockets import bind

_QUEUE = 1000  # messages kept for a slow viewer; more are dropped
_TOPICS = (b"tick", b"event", b"link", b"trial")
# What viewers send: longest [bytes], with room for the handshake of keys; and how many requests between two messages.
# Viewers need far fewer: if there are more, all connections are ended, and honest viewers connect again by themselves.
_LONGEST_REQUEST, _REQUESTS_AT_ONCE = 1024, 500


class PortBusy(Exception):  # noqa: N818 - reads well: `except PortBusy`
    """Another program uses the telemetry port: a warning in simulation; on a real rig the run does not arm."""


class Publisher:
    """Publishes ticks, events and the outcome of a trial.

    Args:
        endpoint: Where viewers connect, e.g. "tcp://127.0.0.1:9872" ("*" as the port selects a free one); "" publishes
            nothing.
        rate_hz: Ticks published a second [Hz], as nearly as whole ticks allow; at most the loop's rate.
        loop_rate_hz: Rate of the loop [Hz].
        wall_start_s: Unix time at t_ns = 0 [s].
        keys: of this computer and of the viewers that may connect; None: any viewer, on this computer only.

    Attributes:
        endpoint: The endpoint as bound, with the port's number.

    Raises:
        PortBusy: Another program uses the port.
        ValueError: The endpoint cannot be bound for another reason, or other computers reach it and there are no keys.
        KeysError: The keys are not in order.
    """

    def __init__(
        self,
        endpoint: str,
        rate_hz: float,
        loop_rate_hz: float,
        wall_start_s: float,
        layout: Layout,
        keys: KeysConfig | None = None,
    ) -> None:
        if not (rate_hz > 0 and loop_rate_hz > 0):
            raise ValueError(f"Publisher: rates are {rate_hz} and {loop_rate_hz} Hz, allowed: above 0")
        self._every = max(1, round(loop_rate_hz / rate_hz))
        self._published = (-1, False)
        self._due: NDArray[np.void] | None = None  # the newest tick, as long as it is not published
        self._wall_start_s = wall_start_s
        self._newest_ns, self._watched = 0, False  # a viewer has asked for messages
        self._encoder = msgspec.msgpack.Encoder()
        self._fields = [
            (signal.name, partial(_by_name, signal.names(layout)) if signal.by_name else _list_or_number)
            for signal in TICK
            if signal.present(layout)
        ]
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._socket: zmq.Socket[bytes] | None = None
        self._door: CurveDoor | None = None
        self.endpoint = ""
        if endpoint:
            self._bind(endpoint, keys)

    def _bind(self, endpoint: str, keys: KeysConfig | None) -> None:
        if keys is None and not is_local(endpoint):
            raise ValueError(f"telemetry.endpoint is {endpoint}, which other computers reach: telemetry.keys is needed")
        self._context = zmq.Context(io_threads=1)
        if keys is not None:
            try:
                self._door = CurveDoor(self._context, own_path(keys.secret), own_path(keys.clients))
            except KeysError:
                self.close()
                raise
        try:
            self._socket = self._listening(endpoint)
        except zmq.ZMQError as error:
            self.close()
            if error.errno == errno.EADDRINUSE:
                raise PortBusy(
                    f"telemetry.endpoint is {endpoint}, which another program uses (a second hil, or a viewer that "
                    'binds): stop it, choose another port, or set telemetry.endpoint to "" for no telemetry'
                ) from None
            why = os.strerror(error.errno) if error.errno else str(error)
            allowed = "tcp://ADDRESS:PORT with an address of this machine, ipc://PATH of no file"
            raise ValueError(f"telemetry.endpoint is {endpoint}: {why}; allowed: {allowed}") from None
        self.endpoint = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def _listening(self, endpoint: str) -> zmq.Socket[bytes]:
        """A socket that viewers may connect to. Raises zmq.ZMQError."""
        assert self._context is not None
        socket = self._context.socket(zmq.XPUB)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.XPUB_MANUAL, 1)  # only subscriptions to topics that there are cost memory
        socket.setsockopt(zmq.MAXMSGSIZE, _LONGEST_REQUEST)
        socket.setsockopt(zmq.RCVHWM, _REQUESTS_AT_ONCE)
        socket.setsockopt(zmq.SNDHWM, _QUEUE)
        if self._door is not None:
            self._door.protect(socket)
        try:
            bind(socket, endpoint)
        except zmq.ZMQError:
            socket.close()
            raise
        return socket

    def starts_at(self, wall_start_s: float) -> None:
        """A run begins: set the Unix time at its t_ns = 0 [s]. No stamp is of the run before from now on."""
        self._wall_start_s, self._newest_ns, self._published, self._due = wall_start_s, 0, (-1, False), None

    def tick(self, rows: NDArray[np.void]) -> None:
        """Publishes the ticks that are due: fields by name, wheels by name, other arrays as lists.

        The tick in which the drives are confirmed to be cut is always due; the last tick of a run comes with its
        outcome (`trial`).

        Args:
            rows: An array of `tick_dtype`.
        """
        if self._context is None:
            return
        ticks = rows["tick"].tolist()  # one by one: mostly one row
        if not self._watched and ticks[-1] // self._every == self._published[0]:
            return  # nobody is there; whether somebody has come is looked at as often as a tick is published
        stopped_ns = rows["drives_stopped_ns"].tolist()
        for index, (tick, at_ns) in enumerate(zip(ticks, stopped_ns, strict=True)):
            self._due = rows[index : index + 1]
            if (newest := (tick // self._every, at_ns >= 0)) != self._published:
                self._published = newest
                self._publish(rows[index])
                self._due = None
        if self._due is not None:
            self._due = self._due.copy()  # the caller may use the memory again

    def _publish(self, record: np.void) -> None:
        stamp = {"timestamp": self._timestamp(int(record["t_ns"]))}
        self._send(b"tick", lambda: stamp | {name: convert(record[name]) for name, convert in self._fields})

    def event(self, row: NDArray[np.void]) -> None:
        """Publishes one event under its name: event/NAME/id, tick, value, limit and reaction_tick.

        Args:
            row: An array of one `EVENT`. Its detail is text: recorded, not published.
        """
        event = row[0]
        numbers = {name: event[name] for name in ("id", "tick", "value", "limit", "reaction_tick")}
        stamp = {"timestamp": self._timestamp(int(event["t_ns"]))}
        self._send(b"event", lambda: stamp | {event["name"].decode(errors="replace"): _numbers(numbers)})

    def links(self, healths: Mapping[str, Mapping[str, Any]]) -> None:
        """Publishes the state of each link: link/NAME/errors, retries, rate_hz and age_ms, as far as they are counted.

        Args:
            healths: By name of the link (`hil.ipc.run_memory.healths`).
        """
        stamp = {"timestamp": self._timestamp(self._newest_ns)}
        if healths:
            self._send(b"link", lambda: stamp | _numbers(healths))

    def trial(self, summary: Mapping[str, Any], t_ns: int | None = None) -> None:
        """Publishes the last tick, and the numbers of a trial's summary: true is 1, text and null are left out.

        Args:
            summary: As in `summary.json`.
            t_ns: Time of the outcome [ns]; by default that of the newest message.
        """
        if self._due is not None:
            self._publish(self._due[0])
            self._due = None
        stamp = {"timestamp": self._timestamp(self._newest_ns if t_ns is None else t_ns)}
        self._send(b"trial", lambda: stamp | _numbers(summary))

    def _timestamp(self, t_ns: int) -> float:
        self._newest_ns = max(self._newest_ns, t_ns)
        return self._wall_start_s + t_ns * 1e-9

    def _send(self, topic: bytes, payload: Callable[[], dict[str, Any]]) -> None:
        """Send a message, which is made only once there has been a viewer."""
        if self._door is not None:
            self._door.answer()
        if self._context is None:
            return
        with contextlib.suppress(zmq.ZMQError):  # the queue is full, or the port is not free again yet: it is dropped
            if self._socket is None:
                self._socket = self._listening(self.endpoint)
            if not self._subscribed(self._socket):
                self._socket.close(linger=0)
                self._socket = None
            elif self._watched:
                self._socket.send_multipart([topic, self._encoder.encode(payload())], zmq.NOBLOCK)

    def _subscribed(self, socket: zmq.Socket[bytes]) -> bool:
        """Do what viewers ask for: 1 and the beginning of a topic, or 0 and the same, to end it. False: they flood."""
        options = {b"\x01": zmq.SUBSCRIBE, b"\x00": zmq.UNSUBSCRIBE}
        for _ in range(_REQUESTS_AT_ONCE):
            try:
                request = socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return True
            if request[:1] in options and any(topic.startswith(request[1:]) for topic in _TOPICS):
                socket.setsockopt(options[request[:1]], request[1:])
                self._watched = True
        return False

    def close(self) -> None:
        """Drops queued messages and frees the port; may be called twice."""
        if self._socket is not None:
            self._socket.close(linger=0)
            self._socket = None
        if self._door is not None:
            self._door.close()
            self._door = None
        if self._context is not None:
            self._context.term()
            self._context = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_publisher(
    section: TelemetryConfig, rate_hz: int, layout: Layout, progress: Callable[[str], None]
) -> Publisher:
    """The publisher of a run; in simulation a busy port is only reported as a warning.

    Raises:
        DeviceError: the endpoint cannot be bound for another reason, or the keys are not in order.
    """
    rates = (section.rate_hz, rate_hz, time.time(), layout)
    try:
        return Publisher(section.endpoint, *rates, section.keys)
    except PortBusy as busy:
        progress(f"warning: no telemetry, {busy}")
        return Publisher("", *rates)
    except ValueError as error:
        raise DeviceError(str(error)) from None
    except KeysError as error:
        raise DeviceError(f"telemetry.keys: {error}") from None


def _by_name(wheels: Sequence[str], values: NDArray[Any]) -> dict[str, Any]:
    return dict(zip(wheels, values.tolist(), strict=True))


def _list_or_number(value: Any) -> Any:
    return value.tolist()


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return int(value)
    return float(value) if isinstance(value, float | np.floating) else None


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the numbers among the values, nested maps and lists of numbers included."""
    numbers: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            numbers[key] = _numbers(value)
        elif isinstance(value, list | tuple | np.ndarray):
            items = [_number(item) for item in value]
            if items and None not in items:
                numbers[key] = items
        elif (number := _number(value)) is not None:
            numbers[key] = number
    return numbers
