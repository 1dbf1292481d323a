"""A page server in a thread, with a command socket behind it, and browsers that log in and open WebSockets."""

from __future__ import annotations

import http.client
import json
import sys
import threading
from contextlib import ExitStack
from types import SimpleNamespace
from urllib.parse import quote, urlencode

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from hil.ipc.shared_types import STATUS
from hil.operator.client import CommandClient
from hil.operator.page.app import Page, bind, make_server, serve
from hil.operator.page.messages import DrawingInputs
from hil.operator.page.operated_rig import PageRig, Series, TelemetryReceiver
from hil.operator.page.runs import RunFolder
from hil.operator.page.viewer import PageAccess
from hil.recording.run_folder import annotate, annotation_of, frames_of

TOKEN, PAGE_TOKEN, TICKET = bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96))
CONTENT = {"name": "sim_impact", "series": []}
CHECKS = [{"item": "cylinder supply", "ok": True, "found": "207 kPa", "allowed": "at most 207 kPa"}]
# A message that does not come within this time on any machine is lost [s].
PATIENCE_S = 60.0
SERIES = [Series("speed_mps", ("speed_mps",)), Series("slip/front_left", ("slip", "front_left"))]


class Viewer:
    """A WebSocket of a browser."""

    def __init__(self, socket):
        self.socket, self._id = socket, 0

    def send(self, kind, **content):
        self.socket.send(json.dumps({"type": kind, **content}))

    def until(self, kind, condition=lambda _: True):
        """The next message of that kind that a condition holds of."""
        while True:
            message = json.loads(self.socket.recv(PATIENCE_S))
            if message["type"] == kind and condition(message):
                return message

    def ask(self, kind, **content):
        """The reply to a message with the next number."""
        self._id += 1
        self.send(kind, id=self._id, **content)
        return self.until("reply", lambda reply: reply["id"] == self._id)

    def command(self, kind, **fields):
        return self.ask("command", command={"type": kind, **fields})

    def close_code(self):
        """The code with which the server closes the connection."""
        try:
            while True:
                self.socket.recv(PATIENCE_S)
        except ConnectionClosed as closed:
            return closed.rcvd.code

    def lease(self, do):
        return self.ask("lease", do=do)


class Browser:
    """Requests as a browser sends them, to one page server."""

    def __init__(self, address, stack):
        self.address, self.origin, self.cookie, self._stack = address, f"http://{address}", "", stack

    def request(self, method, path, body=None, **headers):
        """Status, headers (names in lower case) and body of the answer; None as a header: it is left out."""
        given = {"Origin": self.origin, "Cookie": self.cookie, **headers}
        connection = http.client.HTTPConnection(self.address)
        try:
            connection.request(method, path, body, {name: value for name, value in given.items() if value is not None})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return SimpleNamespace(status=answer.status, headers=found, body=answer.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.request("GET", path, **headers)

    def json(self, path):
        return json.loads(self.get(path).body)

    def log_in(self, name="", token="", **headers):
        fields = {"token": token or PAGE_TOKEN.hex(), "name": name}
        answer = self.request("POST", "/login", urlencode(fields), **headers)
        if "set-cookie" in answer.headers:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer

    def viewer(self, origin=None, cookie=None):
        """Open a WebSocket. Raises InvalidStatus: it is refused."""
        headers = {"Cookie": self.cookie if cookie is None else cookie}
        socket = connect(
            f"ws://{self.address}/ws", origin=self.origin if origin is None else origin or None,
            additional_headers=headers, compression=None, open_timeout=PATIENCE_S,
        )  # fmt: skip
        return Viewer(self._stack.enter_context(socket))

    def signs(self, viewer, origin=None):
        """Open the WebSocket for signs of life of a viewer. Raises InvalidStatus: it is refused."""
        return connect(
            f"ws://{self.address}/alive/{quote(viewer)}", origin=origin or self.origin,
            additional_headers={"Cookie": self.cookie}, compression=None, open_timeout=PATIENCE_S,
        )  # fmt: skip


class ServedProcess:
    """A page server in a thread."""

    def __init__(self, rig, runs, series=SERIES):
        listening = bind("127.0.0.1:*")
        self.address = "{}:{}".format(*listening.getsockname())
        self.rig = PageRig(
            lambda name: CommandClient(rig.endpoint, token=TOKEN, name=name), TelemetryReceiver(""), realtime=True
        )
        ticket = runs.parent / "ticket"
        ticket.write_text(TICKET.hex() + "\n")
        access = PageAccess(PAGE_TOKEN, self.address, encrypted=False, ticket=ticket)
        self._runs = RunFolder(runs, ("false",), annotation_of, annotate, frames_of)
        page = Page(access, self.rig, self._runs, lambda: DrawingInputs(CONTENT, CHECKS), series)
        self.server = make_server(page.app(), None, None)
        self.thread = threading.Thread(target=serve, args=(self.server, listening))
        self.thread.start()

    def prints_records(self):
        """The process that reads records prints what it was asked for from now on."""
        self._runs.read_record = (sys.executable, "-c", "import sys; print(*sys.argv[1:])")

    def close(self):
        self.server.should_exit = True
        self.thread.join()


@pytest.fixture
def show(rig):
    """Makes the resident process's status."""

    def write(**status):
        rig.memory.status.write(np.array([(json.dumps({"t_ns": 1, "state": "idle", **status}).encode(),)], STATUS))

    write()
    return write


@pytest.fixture
def runs(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


@pytest.fixture
def served(rig, show, runs):
    one = ServedProcess(rig, runs)
    yield one
    one.close()


@pytest.fixture
def browsers(served):
    """Makes browsers."""
    with ExitStack() as stack:
        yield lambda: Browser(served.address, stack)


@pytest.fixture
def browser(browsers):
    """One that has logged in."""
    one = browsers()
    one.log_in("Ada")
    return one
