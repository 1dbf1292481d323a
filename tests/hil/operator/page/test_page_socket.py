"""The WebSocket of a viewer: what gets through to the command socket, and what does not."""

from __future__ import annotations

import json

import pytest
from websockets.exceptions import InvalidStatus

from hil.messages.fault import CONSOLE_SILENT_NS
from hil.messages.operator_input import Arm, ClearFault, EStop, SetPoint, Start, Stop
from hil.operator import client as client_module
from hil.operator.page import viewer as viewer_module

STEP_NS = CONSOLE_SILENT_NS // 2


def handshake_refused(browser, **headers):
    with pytest.raises(InvalidStatus) as caught:
        browser.viewer(**headers)
    return caught.value.response.status_code


# ---- who may ----
@pytest.mark.parametrize("origin", ["http://rig.example", "null", "", "https://127.0.0.1"])
def test_a_forged_or_missing_origin_is_refused_and_nothing_changes(browser, rig, origin):
    assert handshake_refused(browser, origin=origin) == 403
    assert (rig.commands(), rig.lease()) == ([], None)


@pytest.mark.parametrize("cookie", ["", "rover_hil=1", "rover_hil_80=Ada.00.00"])
def test_without_a_session_there_is_no_socket(browser, rig, cookie):
    assert handshake_refused(browser, cookie=cookie) == 403
    assert (rig.commands(), rig.lease()) == ([], None)


# ---- commands ----
def test_a_viewer_with_the_lease_is_obeyed_in_order(browser, rig):
    viewer = browser.viewer()
    assert viewer.lease("take")["ok"]
    for name, fields in (
        ("arm", {}),
        ("start", {}),
        ("set_point", {"name": "speed_mps", "value": 0.1}),
        ("clear", {"fault": 18}),
    ):
        assert viewer.command(name, **fields)["ok"]
    assert rig.lease() == viewer.until("status")["you"]
    assert viewer.lease("release")["ok"]
    assert rig.lease() is None
    assert rig.commands() == [Arm(), Start(), SetPoint("speed_mps", 0.1), ClearFault(18)]


def test_a_viewer_without_the_lease_can_stop_and_do_nothing_else(browser, rig):
    viewer = browser.viewer()
    you = viewer.until("status")["you"]
    assert you.startswith("Ada-")
    for name, fields in (("arm", {}), ("start", {}), ("clear", {"fault": 18})):
        reply = viewer.command(name, **fields)
        assert (reply["ok"], "needs the operator lease" in reply["error"]) == (False, True)
    assert viewer.command("stop", reason="space bar")["ok"]
    assert viewer.command("e_stop", reason="")["ok"]
    assert rig.commands() == [Stop(f"{you}: space bar"), EStop(you)]


def test_the_first_stop_uses_a_connection_that_is_there_already(browser, served, rig, monkeypatch):
    def refuse(name):
        raise client_module.CommandError(f"a connection of {name} that was not there")

    viewer = browser.viewer()
    while "stop" not in served.rig._own:  # a busy machine makes it some messages later
        viewer.until("status")
    monkeypatch.setattr(served.rig, "connect", refuse)
    assert viewer.command("stop", reason="")["ok"]
    assert len(rig.commands()) == 1


def test_a_replayed_message_is_refused_and_nothing_changes(browser, rig):
    viewer = browser.viewer()
    viewer.lease("take")
    viewer.command("arm")
    for number in (2, 1, 0, -1):
        viewer.send("command", id=number, command={"type": "arm"})
        reply = viewer.until("reply", lambda reply, number=number: reply["id"] == number)
        assert (reply["ok"], "nothing is done twice" in reply["error"]) == (False, True)
    assert rig.commands() == [Arm()]


def test_a_stop_is_done_whatever_its_number(browser, rig):
    viewer = browser.viewer()
    viewer.lease("take")
    viewer.send("command", id=1, command={"type": "stop"})
    assert viewer.until("reply", lambda reply: reply["id"] == 1)["ok"]
    assert len(rig.commands()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "{}", "[]", '{"type":"command"}', '{"type":"command","id":1,"command":{"type":"reboot"}}',
        '{"type":"command","id":1,"command":{"type":"arm","more":1}}', '{"type":"lease","id":1,"do":"keep"}',
        '{"type":"command","id":1,"command":{"type":"lease","holder":"","why":"taken"}}', "[" * 5000,
        '{"type":"command","id":"1","command":{"type":"stop"}}', '{"type":"subscribe","series":["no_such_series"]}',
        '{"type":"subscribe","series":[]}' + " " * 9000,
    ],
)  # fmt: skip
def test_what_is_no_message_ends_the_connection_and_changes_nothing(browser, rig, text):
    viewer = browser.viewer()
    viewer.socket.send(text)
    assert viewer.close_code() in (1008, 1009)
    assert (rig.commands(), rig.lease()) == ([], None)


# ---- the lease ----
def test_the_second_operator_sees_who_has_the_lease_and_the_first_who_asks_for_it(browsers, rig):
    first, second = browsers(), browsers()
    first.log_in("Ada")
    second.log_in("Ben")
    ada, ben = first.viewer(), second.viewer()
    ada.lease("take")
    seen = ben.until("status", lambda status: status["lease"]["holder"])
    assert (seen["lease"]["holder"].partition("-")[0], seen["lease"]["yours"]) == ("Ada", False)
    assert not ben.lease("take")["ok"]
    assert ben.lease("ask")["ok"]
    assert ada.until("status", lambda status: status["lease"]["asked_by"])["lease"]["asked_by"].startswith("Ben-")
    ada.lease("release")
    assert ben.lease("take")["ok"]
    assert ada.until("log", lambda line: line["who"].startswith("Ben-") and line["text"] == "holds the lease")
    assert rig.lease().startswith("Ben-")


def test_a_lease_that_is_given_is_kept_by_the_new_viewer_and_the_log_says_so(browsers, rig, monkeypatch):
    monkeypatch.setattr(viewer_module, "MOST_WITHOUT_SIGN", float("inf"))
    first, second = browsers(), browsers()
    first.log_in("Ada")
    second.log_in("Ben")
    ada, ben = first.viewer(), second.viewer()
    ada.lease("take")
    assert not ada.lease("give")["ok"]
    ben.lease("ask")
    assert ada.lease("give")["ok"]
    ben.until("status", lambda status: status["lease"]["yours"])
    for _ in range(3):
        rig.t_ns += STEP_NS
        rig.heartbeat()
    assert rig.lease() == ben.until("status")["you"]
    ada.until("log", lambda line: line["text"] == "give the lease")
    ada.until("log", lambda line: line["who"].startswith("Ben-") and line["text"] == "holds the lease")
    assert ben.command("arm")["ok"]
    assert not ada.command("arm")["ok"]


def test_a_lease_is_kept_while_there_are_signs_of_life(browser, rig, monkeypatch):
    monkeypatch.setattr(viewer_module, "MOST_WITHOUT_SIGN", float("inf"))
    viewer = browser.viewer()
    viewer.lease("take")
    for _ in range(4):
        rig.t_ns += STEP_NS
        rig.heartbeat()
    assert rig.lease() == viewer.until("status")["you"]


def test_a_browser_that_sleeps_loses_the_lease_and_is_told_so(browser, rig, monkeypatch):
    monkeypatch.setattr(viewer_module, "MOST_WITHOUT_SIGN", 0)
    viewer = browser.viewer()
    viewer.lease("take")
    viewer.until("log", lambda line: "no sign of life of the browser" in line["text"])
    rig.t_ns += CONSOLE_SILENT_NS + 1
    viewer.until("status", lambda status: not status["lease"]["holder"])
    assert not viewer.command("start")["ok"]
    assert (rig.lease(), rig.commands()) == (None, [])


def test_a_tab_that_is_closed_loses_the_lease(browser, rig, monkeypatch):
    monkeypatch.setattr(viewer_module, "MOST_WITHOUT_SIGN", float("inf"))
    viewer, other = browser.viewer(), browser.viewer()
    viewer.lease("take")
    viewer.socket.close()
    while rig.lease():  # a heartbeat may be on its way still
        rig.t_ns += CONSOLE_SILENT_NS + 1
        other.until("status")
    assert other.lease("take")["ok"]


# ---- what is shown ----
def test_a_viewer_sees_the_status_of_the_resident_process(browser, show):
    show(state="armed", armed=True, message="armed")
    viewer = browser.viewer()
    status = viewer.until("status", lambda status: status.get("state") == "armed")
    assert (status["armed"], status["command_server"], status["lease"]["holder"]) == (True, True, "")
    assert status["status_age_s"] > 1.0  # written at the start of the computer's clock
    assert status["telemetry_age_s"] is None  # no run is on
    assert viewer.until("log", lambda line: line["text"] == "armed")["who"] == "hil operate"


def test_a_fault_has_the_time_at_which_it_was_first_seen_and_none_if_it_was_there_before(show, request):
    seen = {number: {"number": number, "name": "one", "detail": ""} for number in (18, 19)}
    show(state="idle", faults=[seen[18]])
    viewer = request.getfixturevalue("browser").viewer()  # whose server looks for the first time
    viewer.until("status", lambda status: status.get("faults") == [seen[18]])
    show(state="idle", faults=[*seen.values()])
    times = viewer.until("status", lambda status: len(status.get("faults", ())) == 2)["fault_times"]
    assert (times["18"], times["19"] > 1e9) == (None, True)


def test_a_command_server_that_is_gone_is_shown_and_stops_say_that_they_failed(browser, rig, monkeypatch):
    monkeypatch.setattr(client_module, "ANSWER_S", 0.2)
    viewer = browser.viewer()
    viewer.until("status", lambda status: status["command_server"])
    rig._ending.set()
    rig._thread.join()
    viewer.until("status", lambda status: not status["command_server"])
    reply = viewer.command("stop", reason="")
    assert (reply["ok"], "no answer" in reply["error"]) == (False, True)


def test_viewers_get_the_series_that_they_subscribed_to_and_events(browser, served, show):
    show(faults=[{"number": 18, "name": "stop by operator", "detail": "smoke"}])
    viewer = browser.viewer()
    viewer.send("subscribe", series=["slip/front_left", "speed_mps"])
    viewer.lease("ask")  # answered after that
    viewer.until("status", lambda status: status.get("faults"))
    feed = served.rig.feed
    tick = {"timestamp": 5.0, "speed_mps": 0.1, "slip": {"front_left": 0.2}, "state": 3}
    feed.ticks.add(tick)
    feed.events.add({"name": "stop by operator", "t": 5.0, "id": 18, "value": 1.0, "limit": 0.0})
    ticks = viewer.until("ticks")
    assert ticks == {
        "type": "ticks", "names": ["slip/front_left", "speed_mps"], "t": [5.0], "values": [[0.2], [0.1]],
    }  # fmt: skip
    assert viewer.until("event")["detail"] == "smoke"


def test_what_comes_while_a_viewer_is_sent_something_reaches_it_too(browser, served, monkeypatch):
    sent, events = viewer_module.Viewer._send, served.rig.feed.events

    async def send(self, kind, content):
        if kind == "event" and content["id"] == 18:
            events.add({"name": "machine stall", "t": 5.1, "id": 19, "value": 1.0, "limit": 0.0})
        await sent(self, kind, content)

    monkeypatch.setattr(viewer_module.Viewer, "_send", send)
    viewer = browser.viewer()
    viewer.until("status")
    events.add({"name": "stop by operator", "t": 5.0, "id": 18, "value": 1.0, "limit": 0.0})
    assert [viewer.until("event")["id"] for _ in range(2)] == [18, 19]


def test_a_stop_in_a_run_shows_when_the_drives_were_cut(browser, served, show):
    show(running=True, state="drive")
    viewer = browser.viewer()
    viewer.until("status", lambda status: status.get("running"))
    viewer.send("command", id=1, command={"type": "stop"})
    assert viewer.until("reply")["cut_ms"] is None
    tick = {"timestamp": 2e10, "t_ns": 10**9, "cut": 1, "drives_stopped_ns": -1}
    for watch in [*served.rig.feed.watching]:
        watch(tick, 0.0)
        watch({**tick, "drives_stopped_ns": 10**9}, 0.0)
    reply = viewer.until("reply")
    assert (reply["id"], reply["ok"]) == (1, True)
    assert reply["cut_ms"] > 0.0


def test_the_server_ends_while_viewers_look_on_and_tells_them(browser, served):
    viewer = browser.viewer()
    viewer.until("status")
    served.close()
    assert viewer.close_code() == 1012


def test_messages_are_json_without_numbers_that_json_has_not(browser, served):
    viewer = browser.viewer()
    viewer.send("subscribe", series=["speed_mps"])
    viewer.lease("ask")
    served.rig.feed.ticks.add({"timestamp": 5.0, "speed_mps": float("nan")})
    assert json.dumps(viewer.until("ticks")["values"]) == "[[null]]"
