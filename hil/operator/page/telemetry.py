"""Ticks and events of the running run, as the recorder publishes them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import zmq
import zmq.asyncio

from hil.operator.curve import KeyPair, prove

T = TypeVar("T")


class NewestEntries(Generic[T]):
    """Keeps the newest entries, and counts them all.

    Attributes:
        count: entries so far.
    """

    def __init__(self, most: int) -> None:
        self._entries: deque[tuple[int, T]] = deque(maxlen=most)
        self.count = 0

    def add(self, entry: T) -> None:
        """Add the newest."""
        self._entries.append((self.count + 1, entry))
        self.count += 1

    def since(self, count: int) -> tuple[int, list[T]]:
        """Those added since there were so many, as far as they are kept, oldest first; and the count to ask with next.

        The count is that of the entries returned: a reader sends them one by one, and others are added meanwhile.
        """
        new = [numbered for numbered in tuple(self._entries) if numbered[0] > count]
        return (new[-1][0] if new else count), [entry for _, entry in new]


# Ticks handed to viewers a second [Hz], and how many are kept: those of 2 s.
RATE_HZ = 30
_KEPT, _KEPT_EVENTS = 60, 200
# Ticks that wait here for this process; older ones are dropped by the publisher.
_QUEUE = 200


class Series(NamedTuple):
    """One number of a tick.

    Attributes:
        name: as the page calls it, FIELD or FIELD/ELEMENT.
        path: keys and indices from the tick to the number.
    """

    name: str
    path: tuple[str | int, ...]

    def of(self, tick: Any) -> Any:
        """The number in a tick; None: it is not there."""
        try:
            for key in self.path:
                tick = tick[key]
        except (LookupError, TypeError):
            return None
        return tick


class TelemetryReceiver:
    """Receives telemetry, while `receive` runs.

    Args:
        endpoint: of the telemetry; "": there is none.
        keys: of this client and the publisher's public key; None: it has none.
        virtual_hz: ticks a second of a loop in virtual time; None: its time is that of this computer.

    Attributes:
        ticks: the newest, at RATE_HZ, as published.
        events: the newest: name, `t` in Unix seconds of this computer, `virtual_s` from the start of a run in virtual
            time or None, id, value, limit.
        links: the newest state of each link, by its name: errors, retries, rate_hz, age_ms, as far as they are known.
        received_s: when the newest tick was received, on the monotonic clock [s].
        watching: called with each tick that is received, and its time of reception in Unix seconds.
    """

    def __init__(
        self, endpoint: str, keys: tuple[KeyPair, bytes] | None = None, virtual_hz: float | None = None
    ) -> None:
        self.endpoint, self._keys, self._virtual_hz = endpoint, keys, virtual_hz
        self.ticks: NewestEntries[dict[str, Any]] = NewestEntries(_KEPT)
        self.events: NewestEntries[dict[str, Any]] = NewestEntries(_KEPT_EVENTS)
        self.links: dict[str, Any] = {}
        self.received_s = float("-inf")
        self.watching: list[Callable[[dict[str, Any], float], None]] = []
        self._slot = -1
        self._newest: dict[str, Any] = {}
        self._shown = self._newest

    async def receive(self) -> None:
        """Receive until cancelled."""
        if not self.endpoint:
            return
        with zmq.asyncio.Context(io_threads=1) as context, context.socket(zmq.SUB) as socket:
            socket.setsockopt(zmq.LINGER, 0)
            socket.setsockopt(zmq.RCVHWM, _QUEUE)
            if self._keys is not None:
                prove(socket, *self._keys)
            for topic in (b"tick", b"event", b"link", b"trial"):
                socket.subscribe(topic)
            socket.connect(self.endpoint)
            while True:
                topic, content = await socket.recv_multipart()
                self.take(topic, content)
                await asyncio.sleep(0)  # with a full queue the others get their turn, too

    def take(self, topic: bytes, content: bytes) -> None:
        """Take one message of the publisher."""
        try:
            payload = msgspec.msgpack.decode(content, type=dict[str, Any])
            t_s = float(payload.pop("timestamp"))
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError, OverflowError):
            return
        if topic == b"event":
            for name, numbers in payload.items():
                self.events.add({"name": name, **self._when(t_s, numbers), **numbers})
            return
        if topic == b"link":
            self.links = payload
            return
        if topic == b"trial":  # the run is over: its last tick is shown, however soon it came after the one before
            self._show(self._newest)
            return
        self.received_s = time.monotonic()
        payload["timestamp"] = t_s
        for watch in [*self.watching]:
            watch(payload, time.time())
        self._newest = payload
        slot = int(t_s * RATE_HZ)
        if slot != self._slot:
            self._slot = slot
            self._show(payload)

    def _show(self, tick: dict[str, Any]) -> None:
        if tick is not self._shown:
            self._shown = tick
            self.ticks.add(tick)

    def _when(self, t_s: float, event: Mapping[str, Any]) -> dict[str, float | None]:
        """When an event was: `t` and `virtual_s`; in virtual time it is published as soon as it has happened."""
        if self._virtual_hz is None or "tick" not in event:
            return {"t": t_s, "virtual_s": None}
        return {"t": time.time(), "virtual_s": event["tick"] / self._virtual_hz}


def columns(ticks: Sequence[dict[str, Any]], series: Sequence[Series]) -> dict[str, Any]:
    """Names, times [Unix s] and values of ticks: a list of values for each series."""
    return {
        "names": [line.name for line in series],
        "t": [tick["timestamp"] for tick in ticks],
        "values": [[line.of(tick) for tick in ticks] for line in series],
    }
