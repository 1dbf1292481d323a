"""A page server whose messages a test writes: the browser side alone, whatever the machine is doing."""

from __future__ import annotations

import asyncio
import copy
import json
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import Scope
from starlette.websockets import WebSocket, WebSocketDisconnect

from hil.operator.page.app import HEADERS, STATIC, bind, make_server

from .scripted_rig import CHECK, CONFIG, STATUS

# A busy machine may take so long for each step [s].
LONGEST_S = 120.0
# A screen on which all of the page is in view: what is not, the browser does not draw.
TALL = {"width": 1280, "height": 5000}
# Gives the page what waits until it has handled a message with that number and has drawn all its parts. Between the two
# drawings it is laid out: a section that comes into view has no text before, and a new chart no size.
FOLLOW = """async () => {
    const { connection } = await import("/static/page/main.js");
    const { drawAll } = await import("/static/page/draw.js");
    let [handled, wake] = [0, () => {}];
    connection.on("mark", ({ number }) => { handled = number; wake(); });
    window.settled = async (number) => {
        while (handled < number) await new Promise((done) => { wake = done; });
        for (let i = 0; i < 2; i += 1) {
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            await drawAll();
        }
    };
}"""


class _Files(StaticFiles):
    """The page's files, which a browser reads once: they do not change."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = "max-age=3600"
        return answer


class ScriptedServer:
    """Serves the real files of the page; a test sends what the page server would, and sees what the page sends.

    What it sends, the pages that it follows have handled and drawn when the call returns; what they read or send
    because of it, they may not have.

    Attributes:
        url: of the page.
        answers: to GET /api/..., by what follows that; others are 404.
        received: messages of the page but its signs of life, oldest first.
        posted: stops that came without a WebSocket, and notes on runs.
        alive: number of its signs of life; the status is sent again with each of them.
        speaking: number of connections for signs of life.
        full: there are too many viewers already.
        mute: it answers no message.
        hangs: as if it did not run any more: it sends nothing by itself.
        refuses: the error of each reply; "": none.
        late: by what follows /api/, what the next answer waits for; gone once that was asked for.
    """

    def __init__(self) -> None:
        self._viewers: set[WebSocket] = set()
        self.speaking, self._mark = 0, 0
        self._waited_for: list[threading.Event] = []
        self.begin()
        listening = bind("127.0.0.1:*")
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        routes = [
            Route("/", lambda _: FileResponse(STATIC / "page" / "index.html", headers=HEADERS)),
            Route("/api/{what:path}/annotation", self._annotate, methods=["POST"]),
            Route("/api/{what:path}", self._answer),
            Mount("/static", _Files(directory=STATIC)),
            Route("/stop", self._stop, methods=["POST"]),
            WebSocketRoute("/ws", self._socket),
            WebSocketRoute("/alive/{viewer}", self._alive),
        ]
        self._server: uvicorn.Server = make_server(Starlette(routes=routes), None, None)
        self._loop: Future[asyncio.AbstractEventLoop] = Future()

        async def serve() -> None:
            self._loop.set_result(asyncio.get_running_loop())
            await self._server.serve([listening])

        self._thread = threading.Thread(target=lambda: asyncio.run(serve()))
        self._thread.start()

    def begin(self) -> None:
        """Forget the test before; its pages are closed."""
        for event in self._waited_for:
            event.set()
        until(lambda: not self._viewers and not self.speaking)
        self._waited_for = []
        self.late: dict[str, threading.Event] = {}
        self.received: list[dict[str, Any]] = []
        self.posted: list[dict[str, Any]] = []
        self.alive, self.hangs, self.mute, self.full, self.refuses = 0, False, False, False, ""
        self.answers: dict[str, Any] = {
            "config": copy.deepcopy(CONFIG),
            "check": copy.deepcopy(CHECK),
            "runs": [],
        }
        self.status = dict(STATUS)
        self._pages: list[Any] = []

    def follow(self, page: Any) -> None:
        """From now on wait for this page, too, whenever something is sent; it is drawn."""
        page.evaluate(FOLLOW)
        self._pages.append(page)
        if not self.full:
            self.settle()

    def answer_late(self, what: str) -> threading.Event:
        """Answer what is asked for next only when the event is set."""
        self.late[what] = threading.Event()
        self._waited_for.append(self.late[what])
        return self.late[what]

    def settle(self) -> None:
        """Wait until each page that is followed has handled all that was sent to it, and has drawn it."""
        self._mark += 1
        self._run(self._to_all({"type": "mark", "number": self._mark}))
        for page in self._pages:
            page.evaluate("(number) => window.settled(number)", self._mark)

    def _run(self, task: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(task, self._loop.result()).result()

    async def _to_all(self, message: dict[str, Any]) -> None:
        for viewer in [*self._viewers]:
            with suppress(WebSocketDisconnect, RuntimeError):  # it has left just now
                await viewer.send_json(message)

    def _answer(self, request: Request) -> Response:
        what = request.path_params["what"]
        if what in self.late:
            self.late.pop(what).wait()
        if what == "signs":
            return JSONResponse(self.alive)
        if what.endswith("/camera/frames"):
            return JSONResponse(self.answers.get(what, []), headers=HEADERS)
        if what.endswith(".jpg"):  # any picture will do
            return FileResponse(STATIC / "page" / "icon.svg", headers=HEADERS)
        if what not in self.answers:
            return Response(status_code=404, headers=HEADERS)
        return JSONResponse(self.answers[what], headers=HEADERS)

    async def _annotate(self, request: Request) -> Response:
        """As the page server: note and tags of the run now."""
        asked = await request.json()
        self.posted.append(asked)
        (run,) = [one for one in self.answers["runs"] if f"runs/{one['name']}" == request.path_params["what"]]
        run["tags"] = sorted({*run.get("tags", []), *asked["add"]} - {*asked["remove"]})
        run["note"] = run.get("note", "") if asked["note"] is None else asked["note"].strip()
        return JSONResponse({"note": run["note"], "tags": run["tags"]}, headers=HEADERS)

    async def _socket(self, socket: WebSocket) -> None:
        await socket.accept()
        if self.full:
            return await socket.close(1013, "16 viewers already")
        self._viewers.add(socket)
        try:
            await socket.send_json(self.status)
            await socket.send_json({"type": "mark", "number": self._mark})
            while True:
                message = json.loads(await socket.receive_text())
                self.received.append(message)
                if "id" in message and not self.mute:
                    answer = {"ok": not self.refuses, "error": self.refuses, "cut_ms": None}
                    await socket.send_json({"type": "reply", "id": message["id"], **answer})
        except WebSocketDisconnect:
            return None
        finally:
            self._viewers.discard(socket)

    async def _alive(self, socket: WebSocket) -> None:
        await socket.accept()
        self.speaking += 1
        try:
            while await socket.receive_text():
                self.alive += 1
                if not self.hangs:
                    await self._to_all(self.status)
        except WebSocketDisconnect:
            return
        finally:
            self.speaking -= 1

    async def _stop(self, request: Request) -> Response:
        self.posted.append(await request.json())
        return JSONResponse({"ok": True, "error": ""}, headers=HEADERS)

    def show(self, **changed: Any) -> None:
        """Send a status with these values; new viewers get it, too."""
        self.status |= changed
        self.send(self.status)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to all viewers."""
        self._run(self._to_all(message))
        self.settle()

    def disconnect(self) -> None:
        """End all connections; the page connects again."""

        async def end() -> None:
            for viewer in [*self._viewers]:
                await viewer.close()

        self._run(end())

    def add_series(self, unit: str, *names: str) -> None:
        """Have the rig these series, too; before the page is opened."""
        self.answers["config"]["series"] += [{"name": name, "unit": unit, "description": name} for name in names]

    def show_ticks(self, **columns: Sequence[float]) -> None:
        """Send ticks of 0.1 s; in names of series, __ stands for /."""
        names = [name.replace("__", "/") for name in columns]
        count = len(next(iter(columns.values())))
        t = [1e9 + 0.1 * i for i in range(count)]
        self.send({"type": "ticks", "names": names, "t": t, "values": [*columns.values()]})

    def commands(self) -> list[dict[str, Any]]:
        """The commands that the page has sent."""
        return [message["command"] for message in self.received if message["type"] == "command"]

    def close(self) -> None:
        """End the server."""
        self._server.should_exit = True
        self._thread.join()


def hold(page: Any, button: Any, reached: Callable[[], object]) -> None:
    """Hold a button until something is reached."""
    button.hover()
    page.mouse.down()
    until(reached)
    page.mouse.up()


def until(true: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    give_up = time.monotonic() + LONGEST_S
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def cells(page: Any, place: str) -> Any:
    """Texts of the rows of a table body, in view or not."""
    return page.evaluate(
        f"[...document.querySelectorAll('{place} tr')].map((one) => [...one.cells].map((cell) => cell.textContent))"
    )


def wait_on(page: Any, ms: int) -> None:
    """Let time pass on the page's own clock: what it had begun to wait for, for less than that, has happened then."""
    page.evaluate("(ms) => new Promise((done) => setTimeout(done, ms))", ms)
