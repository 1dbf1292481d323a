"""What a page has beside its WebSocket: a stop without a place among the viewers, signs of life, and its session."""

from __future__ import annotations

import json

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from hil.messages.operator_input import EStop, Stop
from hil.operator.page import app as app_module
from hil.operator.page import viewer as viewer_module


# ---- a stop without a place among the viewers ----
def test_with_all_places_taken_the_next_browser_stops_all_the_same(browser, browsers, rig, monkeypatch):
    monkeypatch.setattr(app_module, "MOST_VIEWERS", 2)
    viewers = [browser.viewer() for _ in range(2)]
    for viewer in viewers:
        viewer.until("status")
    late = browsers()
    late.log_in("Jürgen")
    assert late.viewer().close_code() == 1013
    for stop in ({"type": "stop", "reason": "button"}, {"type": "e_stop", "reason": ""}):
        answer = late.request("POST", "/stop", json.dumps(stop))
        assert (answer.status, json.loads(answer.body)) == (200, {"ok": True, "error": ""})
    assert rig.commands() == [Stop("Jürgen: button"), EStop("Jürgen")]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ('{"type":"stop"}', {"Origin": "http://rig.example"}, 403), ('{"type":"stop"}', {"Origin": None}, 403),
        ('{"type":"stop"}', {"Cookie": ""}, 401), ('{"type":"arm"}', {}, 400), ("", {}, 400), ("[" * 900, {}, 400),
        ('{"type":"stop","more":1}', {}, 400), ('{"type":"stop"}' + " " * 2000, {}, 413),
    ],
)  # fmt: skip
def test_nothing_but_a_stop_of_somebody_who_has_logged_in_is_taken_without_a_socket(
    browser, rig, body, headers, status
):
    assert browser.request("POST", "/stop", body, **headers).status == status
    assert (rig.commands(), rig.lease()) == ([], None)


# ---- signs of life ----
def test_signs_of_life_come_on_a_socket_of_their_own_which_ends_with_that_of_the_viewer(browser, monkeypatch):
    seen = []
    monkeypatch.setattr(viewer_module.Viewer, "sign", lambda viewer: seen.append(viewer.session.name))
    viewer, other = browser.viewer(), browser.viewer()
    with browser.signs(viewer.until("status")["you"]) as signs:
        for _ in range(3):
            signs.send("alive")
        other.until("status", lambda _: len(seen) == 3)
        viewer.socket.close()
        closed = False
        while not closed:
            other.until("status")
            try:
                signs.send("alive")
            except ConnectionClosed:
                closed = True
    assert set(seen) == {"Ada"}


def test_signs_for_another_operators_viewer_or_from_elsewhere_are_refused(browser, browsers):
    you = browser.viewer().until("status")["you"]
    other = browsers()
    other.log_in("Ben")
    for stranger, name, more in (
        (other, you, {}), (browser, "Ada-000000", {}), (browser, you, {"origin": "http://rig.example"}),
    ):  # fmt: skip
        with pytest.raises(InvalidStatus) as caught, stranger.signs(name, **more):
            pass
        assert caught.value.response.status_code == 403


def test_a_session_that_is_over_ends_its_sockets(browser, browsers):
    other = browsers()
    other.log_in("Ben")
    ada, ben = browser.viewer(), other.viewer()
    browser.request("POST", "/logout")
    assert ada.close_code() == viewer_module.SESSION_OVER
    assert ben.until("status")["you"].startswith("Ben-")
    with pytest.raises(InvalidStatus):
        browser.viewer()
