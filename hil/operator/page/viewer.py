"""A viewer of the page: the access that it has, and what it sends and gets."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

import msgspec
import zmq
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from hil.config.schema.equipment import is_local
from hil.messages.operator_input import EStop, OperatorRequest, Stop
from hil.operator.client import HEARTBEAT_S, CommandClient, CommandError
from hil.operator.command_messages import MOST_NAME_BYTES, fits_names, is_client_name
from hil.operator.command_messages import Lease as LeaseRequest
from hil.operator.page.messages import PageCommand, PageLease, Subscribe, read_message
from hil.operator.page.operated_rig import PageRig, Series, columns

# Names of operators are cut to so many characters and bytes, so that a viewer's name is one of a client.
LONGEST_NAME, _MOST_BYTES = 20, MOST_NAME_BYTES - 7
# A session in which nobody does anything, and that does not hold the lease, ends after so long [s].
IDLE_S = 3600.0


class Session:
    """What one login has opened.

    Args:
        name: of the operator; "": not known yet.
        now_s: monotonic clock [s].
    """

    def __init__(self, name: str, now_s: Callable[[], float]) -> None:
        self.name, self._now_s = name, now_s
        self._ended = False
        self.used()

    def used(self) -> None:
        """Somebody has done something in it."""
        self._used_s = self._now_s()

    def end(self) -> None:
        """Somebody has logged out."""
        self._ended = True

    @property
    def over(self) -> bool:
        """It is not valid any more."""
        return self._ended or self._now_s() - self._used_s > IDLE_S


class PageAccess:
    """Checks tokens, sessions and origins.

    A session is a cookie that only somebody with the token can make: it is still valid after a restart of the server.

    Args:
        ticket: file of the token in the printed address, which opens one session; None: there is none.
        now_s: monotonic clock [s].

    Attributes:
        cookie: name of the session's cookie. It holds the port, because browsers share cookies between ports.
    """

    def __init__(
        self,
        token: bytes,
        address: str,
        *,
        encrypted: bool,
        ticket: Path | None = None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token, self._scheme = token, "https" if encrypted else "http"
        self._address, self._port = address, address.rpartition(":")[2]
        self._local = is_local(f"tcp://{address}")
        self._ticket, self._now_s = ticket, now_s
        self._sessions: dict[str, Session] = {}
        self.cookie = f"rover_hil_{self._port}"

    def known(self, token: str) -> bool:
        """Whether that is the token, or the one of the printed address, which is worth nothing from now on."""
        given = token.strip().lower().encode()
        return hmac.compare_digest(given, self._token.hex().encode()) or self._takes_ticket(given)

    def _takes_ticket(self, given: bytes) -> bool:
        """Whether that is the token of the printed address; its file is removed, so that no restart makes it valid."""
        try:
            if self._ticket is None or not hmac.compare_digest(given, self._ticket.read_bytes().strip()):
                return False
            self._ticket.unlink()
        except FileNotFoundError:  # it was used
            return False
        return True

    def session(self, name: str) -> str:
        """The Set-Cookie header that opens a session.

        Args:
            name: of the operator, in letters of any language; characters that names of clients cannot have are left
                out.
        """
        plain = fits_names(name)[:LONGEST_NAME].encode()[:_MOST_BYTES].decode(errors="ignore").strip()
        shown = base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")
        content = f"{shown}.{secrets.token_hex(8)}"
        return self._set_cookie(f"{content}.{self._code(content)}")

    def no_session(self) -> str:
        """The Set-Cookie header that removes the cookie."""
        return f"{self._set_cookie('')}; Max-Age=0"

    def opened(self, headers: Mapping[str, str]) -> Session | None:
        """The session that a request belongs to; None: none that is valid."""
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return None
        content, _, code = (cookie.value if cookie else "").rpartition(".")
        if not content or not hmac.compare_digest(code.encode(), self._code(content).encode()):
            return None
        if content not in self._sessions:  # new, or of a server that was restarted
            self._sessions[content] = Session(_name_in(content), self._now_s)
        session = self._sessions[content]
        return None if session.over else session

    def host_is_ours(self, headers: Mapping[str, str]) -> bool:
        """Whether a request is addressed to this server; a name that was bent to a loopback address is not."""
        host, _, port = headers.get("host", "").rpartition(":")
        return not self._local or (port == self._port and is_local(f"tcp://{host}:{port}"))

    def origin_is_ours(self, headers: Mapping[str, str]) -> bool:
        """Whether a request was sent by a page of this server."""
        return headers.get("origin") == f"{self._scheme}://{headers.get('host')}"

    def _set_cookie(self, value: str) -> str:
        secure = "; Secure" if self._scheme == "https" else ""
        return f"{self.cookie}={value}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def _code(self, content: str) -> str:
        return hmac.new(self._token, f"session {content}".encode(), hashlib.sha256).hexdigest()


def _name_in(content: str) -> str:
    """The operator's name in what a cookie holds."""
    shown = content.partition(".")[0]
    try:
        return base64.urlsafe_b64decode(shown + "=" * (-len(shown) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def viewer_name(operator: str) -> str:
    """A name for one viewer of that operator, as other clients see it."""
    name = f"{operator}-{secrets.token_hex(3)}"
    assert is_client_name(name)
    return name


# Between two messages of ticks, and the longest time between two of the status [s].
EVERY_S, STATUS_S = 0.1, 0.2
# A command that could not be sent for so long is not sent any more: it would surprise people [s].
_TOO_LATE_S = 1.0
# Heartbeats of the lease that are sent without a sign of life of the browser since the one before, at most; then none
# follows. Counted, not timed: signs that wait to be read while this process gets no processor time are not late.
MOST_WITHOUT_SIGN = 5
_POLICY_VIOLATION = 1008
# The page then shows the login form.
SESSION_OVER = 4401


class Viewer:
    """Serves one WebSocket until it is closed.

    Commands are sent one after the other by a client of their own, so that the lease belongs to this viewer alone. It
    is kept by what the browser sends: a viewer that is closed or asleep loses it. A stop waits for nothing.

    Attributes:
        session: the same.
    """

    def __init__(
        self, socket: WebSocket, rig: PageRig, name: str, series: Mapping[str, Series], session: Session
    ) -> None:
        self.session = session
        self._socket, self._rig, self._name, self._series = socket, rig, name, series
        self._wanted: tuple[Series, ...] = ()
        self._client: CommandClient | None = None
        self._order, self._writing = asyncio.Lock(), asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._using = threading.Lock()  # the client is not disconnected while a thread still waits for its answer
        self._last_id = 0
        self._holds, self._asks, self._signs = False, False, 0
        self._heartbeat: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Serve it."""
        await self._socket.accept()
        self._begin(self._show())
        try:
            while (message := await self._socket.receive())["type"] != "websocket.disconnect":
                try:
                    self._take(message.get("text") or "")
                except ValueError as error:
                    await self._socket.close(_POLICY_VIOLATION, str(error)[:100])
                    return
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.to_thread(self._disconnect)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ---- to the browser ----
    async def _show(self) -> None:
        """Send status, ticks, events and log, until cancelled."""
        rig, feed = self._rig, self._rig.feed
        ticks, events, log = feed.ticks.count, feed.events.count, 0
        shown, due_s = "", 0.0
        with suppress(WebSocketDisconnect):
            while True:
                if self.session.over:
                    return await self._socket.close(SESSION_OVER, "log in again")
                if rig.held_by(self._name):
                    self.session.used()
                if self._asks and rig.held_by(self._name):  # it was given to this viewer
                    self._hold()
                state = str((rig.status, rig.lease, rig.answers))
                if state != shown or time.monotonic() >= due_s:
                    shown, due_s = state, time.monotonic() + STATUS_S - EVERY_S / 2
                    await self._send("status", self._status())
                ticks, new_ticks = feed.ticks.since(ticks)
                if self._wanted and new_ticks:
                    await self._send("ticks", columns(new_ticks, self._wanted))
                events, new_events = feed.events.since(events)
                for event in new_events:
                    await self._send("event", {**event, "detail": self._detail(event)})
                log, lines = rig.log.since(log)
                for line in lines:
                    await self._send("log", line)
                await asyncio.sleep(EVERY_S)

    def _status(self) -> dict[str, Any]:
        lease = self._rig.lease
        return {
            **self._rig.status,
            "lease": {"holder": lease.holder, "yours": self._rig.held_by(self._name), "asked_by": lease.asked_by},
            "you": self._name,
            "command_server": self._rig.answers,
            **self._rig.ages(),
            "links": self._rig.feed.links,
        }

    def _detail(self, event: Mapping[str, Any]) -> str:
        """Telemetry holds numbers only; the sentence on a fault is in the status."""
        faults = [*self._rig.status.get("faults", ()), *self._rig.status.get("warnings", ())]
        return next((fault["detail"] for fault in faults if fault["number"] == event.get("id")), "")

    async def _send(self, kind: str, content: Mapping[str, Any]) -> None:
        text = msgspec.json.encode({"type": kind, **content}).decode()
        async with self._writing:
            if self._socket.application_state != WebSocketState.CONNECTED:
                return
            try:
                await self._socket.send_text(text)
            except RuntimeError as error:  # so uvicorn says that it has closed the connection itself
                raise WebSocketDisconnect from error

    async def _reply(self, number: int, error: str = "", cut_ms: float | None = None) -> None:
        with suppress(WebSocketDisconnect):
            await self._send("reply", {"id": number, "ok": not error, "error": error, "cut_ms": cut_ms})

    # ---- from the browser ----
    def sign(self) -> None:
        """The browser lives: its lease is kept."""
        self._signs += 1

    def _take(self, text: str) -> None:
        """Begin with what a message asks for. Raises ValueError: it is no message."""
        message = read_message(text)
        if isinstance(message, Subscribe):
            if unknown := [name for name in message.series if name not in self._series]:
                raise ValueError(f"no series {unknown[0]!r}")
            self._wanted = tuple(self._series[name] for name in message.series)
        elif isinstance(message, PageCommand) and isinstance(message.command, Stop | EStop):
            asked_s = time.time()
            answered = self._rig.stop(message.command, self._name)
            self._begin(self._show_stop(message.id, message.command, asked_s, answered))
            self.session.used()
        elif message.id <= self._last_id:
            error = f"message {message.id}, allowed: above {self._last_id}; nothing is done twice"
            self._begin(self._reply(message.id, error))
        elif isinstance(message, PageLease):
            self._last_id = message.id
            self.session.used()
            self._begin(self._ask(message.id, LeaseRequest(message.do), f"{message.do} the lease"))
        else:
            self._last_id = message.id
            self.session.used()
            self._begin(self._ask(message.id, message.command, _in_words(message.command)))

    async def _show_stop(
        self, number: int, command: Stop | EStop, asked_s: float, answered: asyncio.Future[None]
    ) -> None:
        """Reply once a stop is answered, and again once the drives are cut."""
        shown = asyncio.create_task(self._rig.cut_ms(asked_s)) if self._rig.running else None
        error = await self._rig.outcome(command, self._name, answered)
        await self._reply(number, error)
        if error and shown is not None:
            shown.cancel()
            return
        if shown is not None and (cut_ms := await shown) is not None:
            self._rig.note(self._name, f"drives cut {cut_ms:.1f} ms after the stop was asked for")
            await self._reply(number, cut_ms=cut_ms)

    async def _ask(self, number: int, request: Any, words: str) -> None:
        """Send a request with this viewer's client, and reply."""
        asked_s, refused = time.monotonic(), ""
        async with self._order:
            try:
                if time.monotonic() - asked_s > _TOO_LATE_S:
                    raise CommandError("not sent: the one before it got no answer")
                await asyncio.to_thread(self._exchange, request)
            except (CommandError, zmq.ZMQError) as error:
                refused = str(error)
        if refused:  # a browser that reads slowly keeps its reply waiting, but no heartbeat of the lease
            self._rig.note(self._name, f"{words} refused: {refused}")
            return await self._reply(number, refused)
        repeated = self._asks and isinstance(request, LeaseRequest) and request.do == "ask"
        if not repeated:
            self._rig.note(self._name, words)
        if isinstance(request, LeaseRequest):
            self._asks = request.do == "ask"
        if self._holds:
            self._hold()
        return await self._reply(number)

    def _hold(self) -> None:
        """Keep the lease from now on."""
        self._holds, self._asks = True, False
        if self._heartbeat is None or self._heartbeat.done():
            self._heartbeat = self._begin(self._keep())

    async def _keep(self) -> None:
        """Send heartbeats of the lease, as long as there are signs of life of the browser."""
        silent = 0
        while self._holds and silent < MOST_WITHOUT_SIGN:
            signs = self._signs
            try:
                async with self._order:
                    if self._holds:  # not released while this waited
                        await asyncio.to_thread(self._exchange, LeaseRequest("keep"))
            except (CommandError, zmq.ZMQError) as error:
                self._holds = False
                self._rig.note(self._name, f"the lease was lost: {error}")
            await asyncio.sleep(HEARTBEAT_S)
            silent = 0 if self._signs != signs else silent + 1
        if self._holds:
            self._holds = False
            text = f"no sign of life of the browser for {MOST_WITHOUT_SIGN} heartbeats: the lease is not kept"
            self._rig.note(self._name, text)

    def _exchange(self, request: Any) -> None:
        """In a thread: send a request. Raises CommandError."""
        with self._using:
            if self._client is None:
                self._client = self._rig.connect(self._name)
            self._client.ask(request)
            if isinstance(request, LeaseRequest) and request.do in ("take", "release", "give"):
                self._holds = request.do == "take"

    def _disconnect(self) -> None:
        """In a thread: a lease that is held expires."""
        with self._using:
            if self._client is not None:
                self._client.close()


def _in_words(command: OperatorRequest) -> str:
    """A command for the log: its name and its values."""
    values = [str(value) for value in msgspec.structs.astuple(command) if value not in ("", ())]
    return " ".join([str(command.__struct_config__.tag), *values])
