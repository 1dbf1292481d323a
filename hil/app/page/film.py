"""Pictures of a run in three dimensions: the page's own scene, drawn by a Chromium without a window."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

import hil.operator
from drivers.extensions import install_command
from hil.analysis.film.files import FilmError, Picture
from hil.analysis.film.moments import FilmedWindow
from hil.analysis.film.view import caption, headline
from hil.app.page.record import shown_of
from hil.config.rig import Rig

WIDTH, HEIGHT = 960, 540
_STATIC = Path(next(iter(hil.operator.__path__))) / "static"
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# As root it has no sandbox, without a graphics card it draws by software, and it asks nobody for anything.
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-quic", "--enable-unsafe-swiftshader", "--hide-scrollbars",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--force-device-scale-factor=1", f"--window-size={WIDTH + 100},{HEIGHT + 200}", "--remote-debugging-port=0",
)  # fmt: skip
_STARTS_S = 60.0


def solid_pictures(
    shown: FilmedWindow, times_s: NDArray[np.float64], progress: Callable[[int, int], None]
) -> Iterator[Picture]:
    """A picture of each time.

    Args:
        shown: the run.
        times_s: of the pictures.
        progress: called with how many are made, and of how many.

    Raises:
        FilmError: no Chromium, or it does not draw.
    """
    moments = [shown.at(float(t_s)) for t_s in times_s]
    rows = np.array([moment.row for moment in moments], shown.rows.dtype)
    places = np.searchsorted(shown.rows["t_ns"], rows["t_ns"])
    content = shown_of(Rig(shown.config), rows, shown.turned_rad[places]) | {"width": WIDTH, "height": HEIGHT}
    with _served(msgspec.json.encode(content)) as address, _browser(f"{address}/page/film.html") as evaluate:
        for number, moment in enumerate(moments):
            drawn = base64.b64decode(str(evaluate(f"picture({number})")).partition(",")[2])
            yield _with_words(Image.open(io.BytesIO(drawn)).convert("RGBA"), [headline(shown), *caption(shown, moment)])
            progress(number + 1, len(moments))


def _with_words(drawn: Any, lines: list[str]) -> Picture:
    picture = Image.new("RGBA", (WIDTH, HEIGHT), "white")
    picture.alpha_composite(drawn.resize((WIDTH, HEIGHT)))
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(14)
    for number, line in enumerate(lines):
        pen.text((12, 10 + 20 * number), line, fill="black", font=font)
    return np.asarray(picture.convert("RGB"))


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, content: bytes, **more: Any) -> None:
        self._content = content
        super().__init__(*arguments, directory=str(_STATIC), **more)

    def do_GET(self) -> None:
        if self.path != "/film.json":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(self._content)
        return None

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@contextmanager
def _served(content: bytes) -> Iterator[str]:
    """The page's files and this film, for this computer only."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, content=content)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def _browser(address: str) -> Iterator[Callable[[str], Any]]:
    """A browser on that page, once it can draw; evaluates what it is given there."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise FilmError(
            "no Chromium on the PATH, which draws in three dimensions: install it (apt install chromium), or choose "
            "--view side or top, which need none"
        )
    if find_spec("websockets") is None:
        raise FilmError(f"--view 3d needs websockets: {install_command('page')}; --view side or top does without")
    from websockets.sync.client import connect

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [program, *_FLAGS, f"--user-data-dir={folder}", address]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                with connect(_target(process, Path(folder)), max_size=None, compression=None) as socket:
                    numbers = count(1)

                    def evaluate(expression: str) -> Any:
                        number, asked = next(numbers), {"expression": expression, "returnByValue": True}
                        socket.send(json.dumps({"id": number, "method": "Runtime.evaluate", "params": asked}))
                        while (answer := json.loads(socket.recv(_STARTS_S))).get("id") != number:
                            pass
                        if "exceptionDetails" in answer["result"]:
                            raise FilmError(f"Chromium does not draw: {answer['result']['result'].get('description')}")
                        return answer["result"]["result"].get("value")

                    _wait(lambda: evaluate("typeof picture === 'function'"), "it does not draw; has it WebGL?")
                    yield evaluate
            finally:
                process.terminate()


def _target(process: subprocess.Popen[bytes], folder: Path) -> str:
    """Address of the socket by which the browser's page is told what to do."""
    port = folder / "DevToolsActivePort"
    _wait(lambda: process.poll() is not None or (port.is_file() and port.read_text().strip()), "it does not start")
    if process.poll() is not None:
        raise FilmError(f"Chromium ended with status {process.returncode}")
    where = f"http://127.0.0.1:{port.read_text().split()[0]}/json/list"

    def found() -> str:
        with urlopen(where, timeout=_STARTS_S) as answer:
            pages = [one for one in json.load(answer) if one["type"] == "page" and "film.html" in one["url"]]
        return str(pages[0]["webSocketDebuggerUrl"]) if pages else ""

    return str(_wait(found, "it does not open the page"))


def _wait(true: Callable[[], Any], otherwise: str) -> Any:
    give_up = time.monotonic() + _STARTS_S
    while not (found := true()):
        if time.monotonic() > give_up:
            raise FilmError(f"Chromium: {otherwise}")
        time.sleep(0.05)
    return found
