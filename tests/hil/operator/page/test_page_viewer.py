"""A viewer whose browser is slow or gone: what becomes of its lease and its messages."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest
from starlette.websockets import WebSocketState

from hil.messages.operator_input import Arm
from hil.operator.client import CommandError
from hil.operator.command_messages import Lease, LeaseState
from hil.operator.page import viewer
from hil.operator.page.operated_rig import NewestEntries, PageRig, TelemetryReceiver
from hil.operator.page.viewer import Session, Viewer

HANGS_S = 120.0  # only a viewer that does nothing any more needs so long


class Browser:
    """The server's end of a WebSocket; `write` is what happens to a message."""

    application_state = WebSocketState.CONNECTED

    def __init__(self, write):
        self._messages, self.send_text = asyncio.Queue(), write

    async def accept(self):
        """It is."""

    def says(self, text):
        self._messages.put_nowait({"type": "websocket.receive", "text": text})

    def leaves(self):
        self._messages.put_nowait({"type": "websocket.disconnect"})

    async def receive(self):
        return await self._messages.get()


class Rig:
    """A rig that refuses to be armed, and counts the heartbeats of the lease."""

    def __init__(self):
        self.feed = TelemetryReceiver("")
        self.log, self.status, self.answers = NewestEntries(9), {}, True
        self.lease = LeaseState("", yours=False, held_before=False, asked_by="")
        self.kept = 0

    def connect(self, _):
        return SimpleNamespace(ask=self.ask, close=lambda: None)

    def ask(self, request):
        if isinstance(request, Arm):
            raise CommandError("arm: a fault is latched")
        self.kept += request == Lease("keep")

    def held_by(self, _):
        return False

    def ages(self):
        return {"status_age_s": None, "telemetry_age_s": None}

    def note(self, who, text):
        self.log.add({"who": who, "text": text})

    async def until(self, condition):
        async with asyncio.timeout(HANGS_S):
            while not condition(self):
                await asyncio.sleep(0.01)


def test_a_browser_that_reads_slowly_keeps_the_lease_after_a_command_was_refused(monkeypatch):
    monkeypatch.setattr(viewer, "MOST_WITHOUT_SIGN", float("inf"))

    async def never_read(_):
        await asyncio.Event().wait()

    async def take_and_arm():
        browser, rig = Browser(never_read), Rig()
        serving = asyncio.create_task(Viewer(browser, rig, "Ada-1", {}, Session("Ada", time.monotonic)).serve())
        browser.says('{"type":"lease","id":1,"do":"take"}')
        await rig.until(lambda rig: rig.kept)
        browser.says('{"type":"command","id":2,"command":{"type":"arm"}}')
        await rig.until(lambda rig: any("refused" in line["text"] for line in rig.log.since(0)[1]))
        kept = rig.kept
        await rig.until(lambda rig: rig.kept > kept + 1)  # one may have been on its way
        browser.leaves()
        await serving

    asyncio.run(take_and_arm())


def shown(write, rig):
    """What becomes of the task that shows a rig in a browser."""

    async def show():
        async with asyncio.timeout(HANGS_S):
            await Viewer(Browser(write), rig, "Ada-1", {}, Session("Ada", time.monotonic))._show()

    asyncio.run(show())


def test_a_connection_that_the_server_has_closed_ends_what_is_shown():
    async def closed(_):
        raise RuntimeError("Unexpected ASGI message 'websocket.send', after sending 'websocket.close'.")

    shown(closed, Rig())


def test_an_error_in_what_is_shown_is_not_taken_for_a_closed_connection():
    def broken():
        raise RuntimeError("a status that cannot be")

    async def read(_):
        """Take it."""

    rig = Rig()
    rig.ages = broken
    with pytest.raises(RuntimeError, match="a status that cannot be"):
        shown(read, rig)


def test_a_stop_is_handed_on_before_anything_else_that_the_event_loop_has_to_do():
    done = []

    async def read(_):
        """Take it."""

    class Waiting(Browser):
        async def receive(self):
            message = await super().receive()
            asyncio.get_running_loop().call_soon(done.append, "other work")
            return message

    class Stopped(Rig):
        running, outcome = False, PageRig.outcome

        def stop(self, command, who):
            done.append((command.reason, who))
            answered = asyncio.get_running_loop().create_future()
            answered.set_result(None)
            return answered

    async def stop():
        browser, rig = Waiting(read), Stopped()
        browser.says('{"type":"command","id":1,"command":{"type":"stop","reason":"button"}}')
        serving = asyncio.create_task(Viewer(browser, rig, "Ada-1", {}, Session("Ada", time.monotonic)).serve())
        await rig.until(lambda rig: any(line["text"] == "stop" for line in rig.log.since(0)[1]))
        browser.leaves()
        await serving

    asyncio.run(stop())
    assert done[0] == ("button", "Ada-1")
