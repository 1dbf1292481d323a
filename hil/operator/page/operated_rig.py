"""The rig that the page operates: its state, its telemetry and its commands."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import zmq
import zmq.asyncio

from hil.messages.operator_input import EStop, Stop, shortened
from hil.operator.client import CommandClient, CommandError
from hil.operator.command_messages import LeaseState, Status
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


Connect = Callable[[str], CommandClient]
# Name of the server's own client, which asks for the status and sends the stops of all viewers.
OWN_NAME = "page"
# Between two looks at the status, and between two attempts to connect [s].
_LOOK_S, _RETRY_S = 0.1, 0.5
# How long telemetry may take to show a cut [s].
_CUT_S = 2.0
_LOG_LINES = 200


class PageRig:
    """The rig as the page server sees it; all methods belong to one event loop.

    Args:
        connect: makes a client of the command socket with that name. Raises CommandError.
        realtime: the loop's clock is that of this computer; else the cut is timed when telemetry shows it.

    Attributes:
        feed: of the telemetry.
        log: who did what and when.
        answers: the command server answers.
    """

    def __init__(self, connect: Connect, feed: TelemetryReceiver, *, realtime: bool) -> None:
        self.connect, self.feed, self._realtime = connect, feed, realtime
        self.log: NewestEntries[dict[str, Any]] = NewestEntries(_LOG_LINES)
        self.answers = False
        self.status: dict[str, Any] = {}
        self.lease = LeaseState("", yours=False, held_before=False, asked_by="")
        self._looks, self._stops = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._own: dict[str, CommandClient] = {}
        self._running_since_s: float | None = None
        self._stopping: dict[str, asyncio.Future[None]] = {}

    async def watch(self) -> None:
        """Ask for the status again and again, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                status, lease = await loop.run_in_executor(self._looks, self._look)
            except (CommandError, zmq.ZMQError) as error:
                if self.answers:
                    self.note("page", f"the command server does not answer: {error}")
                self.answers = False
                await asyncio.sleep(_RETRY_S)
                continue
            self._take(status, lease)
            if "stop" not in self._own:  # the first stop does not wait for a connection
                with suppress(CommandError, zmq.ZMQError):
                    await loop.run_in_executor(self._stops, self._client, "stop")
            await asyncio.sleep(_LOOK_S)

    def _look(self) -> tuple[dict[str, Any], LeaseState]:
        reply = self._client("status").ask(Status())
        assert reply.lease is not None
        return reply.status or {}, reply.lease

    def _client(self, use: str) -> CommandClient:
        """The server's own client for that use; each is used by one thread."""
        if use not in self._own:
            self._own[use] = self.connect(OWN_NAME)
        return self._own[use]

    def _take(self, status: dict[str, Any], lease: LeaseState) -> None:
        if status.get("message") and status["message"] != self.status.get("message"):
            self.note("hil operate", status["message"])
        if lease.holder != self.lease.holder:
            self.note(lease.holder or self.lease.holder, "holds the lease" if lease.holder else "the lease has ended")
        if lease.asked_by and lease.asked_by != self.lease.asked_by:
            self.note(lease.asked_by, f"asks {lease.holder} for the lease")
        if not status.get("running"):
            self._running_since_s = None
        elif self._running_since_s is None:
            self._running_since_s = time.monotonic()
        # a fault that was there at the first look is of an earlier time, which nobody here knows
        seen_s, known = time.time() if self.status else None, self.status.get("fault_times", {})
        numbers = [str(fault["number"]) for key in ("faults", "warnings") for fault in status.get(key, ())]
        status["fault_times"] = {number: known.get(number, seen_s) for number in numbers}
        self.status, self.lease, self.answers = status, lease, True

    @property
    def running(self) -> bool:
        """The loop runs, as far as is known."""
        return bool(self.status.get("running"))

    def note(self, who: str, text: str) -> None:
        """Write a line of the log."""
        self.log.add({"t": time.time(), "who": who, "text": text})

    def held_by(self, viewer: str) -> bool:
        """Whether a viewer holds the lease; with keys, the key's name stands before that of the client."""
        return self.lease.holder == viewer or self.lease.holder.endswith(f": {viewer}")

    def ages(self) -> dict[str, float | None]:
        """Ages of what is shown [s]: of the status; of the newest tick in a run. None: there is none."""
        now_s, t_ns, tick_age_s = time.monotonic(), self.status.get("t_ns"), None
        if self.feed.endpoint and self._running_since_s is not None:
            tick_age_s = now_s - max(self.feed.received_s, self._running_since_s)
        return {"status_age_s": now_s - t_ns * 1e-9 if t_ns else None, "telemetry_age_s": tick_age_s}

    def stop(self, command: Stop | EStop, viewer: str) -> asyncio.Future[None]:
        """Hand a stop to its thread, now: it does not wait for what the event loop has to do first.

        The same stop that is on its way already is not sent twice.

        Args:
            command: the stop.
            viewer: who asked for it; its name stands in the reason.
        """
        kind = type(command).__name__
        if kind not in self._stopping:
            signed = type(command)(shortened(": ".join(part for part in (viewer, command.reason) if part)))
            sent = asyncio.get_running_loop().run_in_executor(self._stops, self._send_stop, signed)
            self._stopping[kind] = sent
            sent.add_done_callback(lambda _: self._stopping.pop(kind))
        return asyncio.shield(self._stopping[kind])

    def _send_stop(self, command: Stop | EStop) -> None:
        self._client("stop").ask(command)

    async def outcome(self, command: Stop | EStop, viewer: str, answered: asyncio.Future[None]) -> str:
        """Wait for the answer to a stop, and note it. Returns why it failed; empty: it did not."""
        try:
            await answered
        except (CommandError, zmq.ZMQError) as error:
            self.note(viewer, f"stop failed: {error}")
            return str(error)
        self.note(viewer, "stop" if isinstance(command, Stop) else "E-stop")
        return ""

    async def cut_ms(self, since_s: float) -> float | None:
        """Wait until telemetry shows that the drives are cut.

        Args:
            since_s: when the stop was asked for, in Unix seconds.

        Returns:
            Time from then until the stop had been sent to all drives [ms], 0 if it was before; None: not shown in 2 s.
        """
        shown: asyncio.Future[float] = asyncio.get_running_loop().create_future()

        def look(tick: dict[str, Any], received_s: float) -> None:
            if shown.done() or not tick.get("cut") or tick.get("drives_stopped_ns", -1) < 0:
                return
            before_s = (tick["t_ns"] - tick["drives_stopped_ns"]) * 1e-9
            stopped_s = tick["timestamp"] - before_s if self._realtime else received_s
            shown.set_result(max(0.0, (stopped_s - since_s) * 1e3))

        self.feed.watching.append(look)
        try:
            return await asyncio.wait_for(shown, _CUT_S)
        except TimeoutError:
            return None
        finally:
            self.feed.watching.remove(look)

    def close(self) -> None:
        """Disconnect from the command socket, each client in the thread that uses it."""
        for pool, use in ((self._looks, "status"), (self._stops, "stop")):
            pool.submit(self._disconnect, use)
            pool.shutdown(wait=False)

    def _disconnect(self, use: str) -> None:
        if use in self._own:
            self._own.pop(use).close()
