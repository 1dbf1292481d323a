"""What all viewers share: the newest status, the log, stops, and who holds the lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import zmq

from hil.messages.operator_input import EStop, Stop, shortened
from hil.operator.client import CommandClient, CommandError
from hil.operator.command_messages import LeaseState, Status
from hil.operator.page.telemetry import NewestEntries, TelemetryReceiver

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
