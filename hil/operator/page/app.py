"""The operator's page: its web application and its server."""

from __future__ import annotations

import asyncio
import html
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from hil.operator.page.messages import MOST_BYTES, MOST_SERIES, DrawingInputs, read_note, read_stop
from hil.operator.page.operated_rig import PageRig, Series
from hil.operator.page.runs import RunFolder
from hil.operator.page.viewer import PageAccess, Session, Viewer, viewer_name

# How long viewers may take to end when the server ends [s].
_ENDS_S = 1
_WAITING = 64


def bind(address: str) -> socket.socket:
    """A socket that listens at ADDRESS:PORT; * as the port: a free one. Raises ValueError: it cannot be bound."""
    host, _, port = address.rpartition(":")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of a server that was killed
        listening.bind((host, 0 if port == "*" else int(port)))
        listening.listen(_WAITING)
    except OSError as error:
        listening.close()
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        allowed = "ADDRESS:PORT with an address of this machine and a free port, or * as the port"
        raise ValueError(f"operator.page.address is {address}: {why}; allowed: {allowed}") from None
    return listening


def make_server(app: Starlette, certificate: Path | None, certificate_key: Path | None) -> uvicorn.Server:
    """The server of an application; SIGTERM ends it.

    `certificate`: file of the TLS certificate; None: no TLS.

    Raises:
        ValueError: certificate and key are not in order.
    """
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="on", server_header=False, proxy_headers=False,
        ws="websockets-sansio", ws_max_size=MOST_BYTES * 4, ws_per_message_deflate=False,
        timeout_graceful_shutdown=_ENDS_S, ssl_certfile=certificate, ssl_keyfile=certificate_key,
    )  # fmt: skip
    try:
        config.load()
    except OSError as error:
        allowed = "a certificate and its key, in PEM"
        raise ValueError(f"operator.page.certificate is {certificate}: {error}; allowed: {allowed}") from None
    return uvicorn.Server(config)


def serve(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until it is ended."""
    asyncio.run(server.serve(sockets=[listening]))


STATIC = Path(__file__).parents[1] / "static"
# Browsers at the same time.
MOST_VIEWERS = 16
_MOST_POST_BYTES, _MOST_NOTE_BYTES = 1000, 20_000
_TRY_AGAIN_LATER = 1013
# What another process reads from a record: shown by the page, or a file to download.
_SHOWN, _EXPORTS = ("impact", "timing", "traces", "replay"), ("tdms", "mat", "mcap")
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
# A report holds its scripts itself. It may run them, but as a page of nobody: it cannot use the session.
_REPORT = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
)


class _Guard:
    """Refuses requests to another host, and adds the headers of every answer."""

    def __init__(self, app: ASGIApp, access: PageAccess) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._access.host_is_ours(Headers(scope=scope)):
            answer = PlainTextResponse("this is not the host that was asked for", 421)
            return await answer(scope, receive, send)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        return await self._app(scope, receive, send_guarded)


class Page:
    """Makes the application."""

    def __init__(
        self,
        access: PageAccess,
        rig: PageRig,
        runs: RunFolder,
        shown: Callable[[], DrawingInputs],
        series: Sequence[Series],
    ) -> None:
        self._access, self._rig, self._runs, self._shown = access, rig, runs, shown
        self._series = {one.name: one for one in series}
        self._viewers: dict[str, Viewer] = {}

    def app(self) -> Starlette:
        """The application; one server runs it once."""
        routes = [
            Route("/", self._index),
            Route("/login", self._login, methods=["POST"]),
            Route("/logout", self._logout, methods=["POST"]),
            Route("/stop", self._stop, methods=["POST"]),
            Route("/api/config", self._for_operators(self._config)),
            Route("/api/check", self._for_operators(self._check)),
            Route("/api/runs", self._for_operators(self._list)),
            Route("/api/runs/{name:path}/record/{what}", self._for_operators(self._record)),
            Route("/api/runs/{name:path}/annotation", self._annotate, methods=["POST"]),
            Route("/api/runs/{name:path}/camera/{file}", self._for_operators(self._camera)),
            Route("/api/runs/{name:path}/{kind}", self._for_operators(self._file)),
            Mount("/static", StaticFiles(directory=STATIC)),
            WebSocketRoute("/ws", self._socket),
            WebSocketRoute("/alive/{viewer}", self._alive),
        ]
        return Starlette(routes=routes, middleware=[Middleware(_Guard, access=self._access)], lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        # each viewer may wait for the command server
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(MOST_VIEWERS + 4))
        tasks = [asyncio.create_task(self._rig.watch()), asyncio.create_task(self._rig.feed.receive())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self._rig.close()

    # ---- who may ----
    def _for_operators(self, answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """The answer, which is made in a thread, or 401 without a session."""

        def checked(request: Request) -> Response:
            return _log_in_first() if self._session(request.headers) is None else answer(request)

        return checked

    def _index(self, request: Request) -> Response:
        if (session := self._session(request.headers)) is None:
            return _login_form("", ask_token=self._access.opened(request.headers) is None)
        session.used()
        return FileResponse(STATIC / "page" / "index.html")

    def _session(self, headers: Headers) -> Session | None:
        """The session of a request whose operator is known by name; None: there is none."""
        session = self._access.opened(headers)
        return session if session is not None and session.name else None

    async def _login(self, request: Request) -> Response:
        """A token opens a session; the name of its operator may follow, from whoever has that session."""
        body = await self._posted(request)
        if isinstance(body, Response):
            return body
        fields, session = parse_qs(body.decode(errors="replace")), self._access.opened(request.headers)
        if (session is None or session.name) and not self._access.known(fields.get("token", [""])[0]):
            return _login_form("This is not the token, or it was used. It is in the file that hil operate names.")
        answer = RedirectResponse("/", 303)
        answer.headers["set-cookie"] = self._access.session(fields.get("name", [""])[0])
        return answer

    async def _logout(self, request: Request) -> Response:
        body = await self._posted(request)
        if isinstance(body, Response):
            return body
        if (session := self._access.opened(request.headers)) is not None:
            session.end()
        answer = RedirectResponse("/", 303)
        answer.headers["set-cookie"] = self._access.no_session()
        return answer

    async def _stop(self, request: Request) -> Response:
        """A stop of a page that has no WebSocket: too many viewers have one, or its own was lost."""
        session, body = self._session(request.headers), await self._posted(request)
        if session is None:
            return _log_in_first()
        if isinstance(body, Response):
            return body
        try:
            command = read_stop(body)
        except ValueError as wrong:
            return PlainTextResponse(str(wrong), 400)
        session.used()
        error = await self._rig.outcome(command, session.name, self._rig.stop(command, session.name))
        return _json(msgspec.json.encode({"ok": not error, "error": error}))

    async def _annotate(self, request: Request) -> Response:
        """A note and tags on a run: every operator may write them, without the lease, for no device is told."""
        session, body = self._session(request.headers), await self._posted(request, _MOST_NOTE_BYTES)
        if session is None:
            return _log_in_first()
        if isinstance(body, Response):
            return body
        name = request.path_params["name"]
        try:
            asked = read_note(body)
            note, tags = await asyncio.to_thread(self._runs.annotate, name, asked.note, asked.add, asked.remove)
        except LookupError as error:
            return PlainTextResponse(str(error), 404)
        except ValueError as error:
            return PlainTextResponse(str(error), 400)
        session.used()
        self._rig.note(session.name, f"note and tags of {name} changed")
        return _json(msgspec.json.encode({"note": note, "tags": tags}))

    async def _posted(self, request: Request, most_bytes: int = _MOST_POST_BYTES) -> bytes | Response:
        """The body of a POST, or why it is refused."""
        if not self._access.origin_is_ours(request.headers):
            return PlainTextResponse("this was not sent by a page of this server", 403)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > most_bytes:
                return PlainTextResponse(f"allowed: {most_bytes} bytes", 413)
        return body

    async def _socket(self, socket: WebSocket) -> None:
        access, headers = self._access, socket.headers
        session = self._session(headers)
        if session is None or not (access.host_is_ours(headers) and access.origin_is_ours(headers)):
            return await socket.close()  # before it is accepted: 403
        if len(self._viewers) >= MOST_VIEWERS:
            await socket.accept()
            return await socket.close(_TRY_AGAIN_LATER, f"{MOST_VIEWERS} viewers already")
        name = viewer_name(session.name)
        self._viewers[name] = viewer = Viewer(socket, self._rig, name, self._series, session)
        try:
            return await viewer.serve()
        finally:
            del self._viewers[name]

    async def _alive(self, socket: WebSocket) -> None:
        """Signs of life of a viewer, from a thread of their own in its browser: each message is one."""
        access, headers = self._access, socket.headers
        name = socket.path_params["viewer"]
        viewer = self._viewers.get(name)
        ours = access.host_is_ours(headers) and access.origin_is_ours(headers)
        if viewer is None or not ours or viewer.session is not self._session(headers):
            return await socket.close()
        await socket.accept()
        while (await socket.receive())["type"] != "websocket.disconnect":
            if self._viewers.get(name) is not viewer:
                return await socket.close()
            viewer.sign()
        return None

    # ---- what there is to see ----
    def _config(self, _: Request) -> Response:
        return _json(msgspec.json.encode(self._shown().content))

    def _check(self, _: Request) -> Response:
        made, made_s = self._rig.status.get("checks"), self._rig.status.get("checks_t_s")
        of_config = {"source": "config", "checks": self._shown().checks, "t": None}
        content = {"source": "arming", "checks": made, "t": made_s} if made else of_config
        return _json(msgspec.json.encode(content))

    def _list(self, _: Request) -> Response:
        running = self._rig.status.get("run", "") if self._rig.running else ""
        return _json(msgspec.json.encode(self._runs.listed(running)))

    def _file(self, request: Request) -> Response:
        kind = request.path_params["kind"]
        try:
            file = self._runs.file(request.path_params["name"], kind)
        except LookupError as error:
            return PlainTextResponse(str(error), 404)
        return FileResponse(file, headers={"Content-Security-Policy": _REPORT} if kind == "report.html" else None)

    def _camera(self, request: Request) -> Response:
        name, file = request.path_params["name"], request.path_params["file"]
        try:
            if file == "frames":
                return _json(msgspec.json.encode(self._runs.frames(name)))
            return FileResponse(self._runs.frame(name, file))
        except LookupError as error:
            return PlainTextResponse(str(error), 404)

    def _record(self, request: Request) -> Response:
        what, series = request.path_params["what"], request.query_params.getlist("series")
        if what not in _SHOWN + _EXPORTS or len(series) > MOST_SERIES or not self._series.keys() >= set(series):
            return PlainTextResponse(f"not in a record, allowed: {', '.join(_SHOWN + _EXPORTS)}", 404)
        name = request.path_params["name"]
        try:
            content = self._runs.read(name, what + _span(request), *series)
        except (LookupError, ValueError) as error:
            return PlainTextResponse(str(error), 404)
        if what in _SHOWN:
            return _json(content)
        file = f"{name.replace('/', '_')}.{what}"
        return Response(content, headers={"Content-Disposition": f'attachment; filename="{file}"'})


def _span(request: Request) -> str:
    """Times from_s and to_s of a replay as its process takes them; "": all. Raises ValueError: they are no times."""
    span = [request.query_params[key] for key in ("from_s", "to_s") if key in request.query_params]
    if request.path_params["what"] != "replay" or not span:
        return ""
    from_s, to_s = (float(one[:40]) for one in span)
    return f"@{from_s:.9f}:{to_s:.9f}"


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")


def _log_in_first() -> Response:
    return PlainTextResponse("log in first", 401)


def _login_form(problem: str, *, ask_token: bool = True) -> Response:
    """The login form, with what was wrong, and without its part on the token if that is known; 401."""
    before, token, after = (STATIC / "page" / "login.html").read_text(encoding="utf-8").split("<!-- token -->\n")
    text = "".join([before, token, after] if ask_token else [before, after])
    return HTMLResponse(text.replace("{problem}", html.escape(problem)), 401)
