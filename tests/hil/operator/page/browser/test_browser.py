"""What the page does in a browser, against a server that a test writes."""

from __future__ import annotations

from datetime import datetime

import pytest

from .scripted_rig import WHEELS
from .scripted_server import TALL, hold, until, wait_on

pytestmark = pytest.mark.slow
MINE = {"holder": "page-1", "yours": True, "asked_by": ""}
# Longer than a button has to be held, on the page's own clock [ms].
HELD_MS = 600


def stops(server):
    return [command["reason"] for command in server.commands() if command["type"] == "stop"]


def test_button_escape_and_space_stop_without_a_lease_and_with_one_press(page, server):
    page.click("#stop")
    page.focus("#traces")
    page.keyboard.press("Escape")
    page.keyboard.press(" ")
    until(lambda: len(stops(server)) == 3)
    assert stops(server) == ["button", "Escape", "space bar"]


def test_a_stop_is_sent_when_its_button_is_pressed_and_not_again_when_it_is_released(page, server):
    page.hover("#stop")
    page.mouse.down()
    until(lambda: stops(server) == ["button"])
    page.mouse.up()
    page.keyboard.press("Escape")  # and before it all that the release sent
    until(lambda: len(stops(server)) > 1)
    assert stops(server) == ["button", "Escape"]


def test_a_finger_on_the_stop_button_sends_one_stop(server, shown):
    page = shown(has_touch=True)
    page.tap("#stop")
    until(lambda: stops(server) == ["button"])
    page.tap("#stop")
    page.keyboard.press("Escape")
    until(lambda: "Escape" in stops(server))
    assert stops(server) == ["button", "button", "Escape"]


def test_the_stop_button_stops_by_its_key_and_by_a_click_without_a_press(page, server):
    page.focus("#stop")
    page.keyboard.press("Enter")
    until(lambda: stops(server) == ["button"])
    page.hover("#stop")
    page.mouse.down()
    page.mouse.move(5, 600)
    page.mouse.up()  # elsewhere: no click follows this press
    until(lambda: len(stops(server)) == 2)
    page.evaluate("document.getElementById('stop').click()")
    until(lambda: len(stops(server)) == 3)
    page.keyboard.press("Escape")
    until(lambda: "Escape" in stops(server))
    assert stops(server) == ["button", "button", "button", "Escape"]


def test_space_writes_in_a_text_field_and_presses_no_button(page, server):
    server.show(lease=MINE)
    page.fill("#find-line", "a")
    page.press("#find-line", " ")
    assert page.input_value("#find-line") == "a "
    for button in ("#arm", "#lease", "#stop"):
        page.focus(button)
        page.keyboard.press(" ")
    until(lambda: len(stops(server)) == 3)
    page.keyboard.press("Escape")
    until(lambda: len(stops(server)) == 4)
    assert {command["type"] for command in server.commands()} == {"stop"}
    assert not [message for message in server.received if message["type"] == "lease"]


def test_arm_and_start_need_the_lease_and_a_hold_by_pointer_or_by_enter(page, server):
    assert page.is_disabled("#arm")
    assert page.is_disabled("#start")
    server.show(lease=MINE)
    assert page.is_disabled("#start")  # nothing is armed
    hold(page, page.locator("#arm"), lambda: server.commands() == [{"type": "arm"}])
    server.show(lease=MINE, armed=True, running=True, state="armed")
    page.wait_for_selector("#start:enabled")
    assert page.is_disabled("#arm")
    page.focus("#start")
    page.keyboard.down("Enter")
    until(lambda: server.commands() == [{"type": "arm"}, {"type": "start"}])
    page.keyboard.up("Enter")


@pytest.mark.parametrize(
    "status", [{"state": "concluding"}, {"state": "preparing"}, {"state": "run_up", "armed": True, "running": True}]
)
def test_what_hil_operate_would_not_do_now_cannot_be_pressed(page, server, status):
    """A second start in a run does nothing, and says so to nobody; in other states it is refused later."""
    server.show(lease=MINE)
    page.wait_for_selector("#arm:enabled")
    server.show(lease=MINE, **status)
    page.wait_for_selector("#arm:disabled")
    assert page.is_disabled("#start")


CLICKS = """(name) => {
    const button = [...document.querySelectorAll("button.hold")].find((one) => one.textContent.startsWith(name));
    for (let i = 0; i < 2; i++) {
        for (const type of ["pointerdown", "pointerup", "click"]) {
            button.dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0 }));
        }
    }
    button.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    for (const type of ["keydown", "keyup", "keydown", "keyup"]) {
        button.dispatchEvent(new KeyboardEvent(type, { key: "Enter", bubbles: true }));
    }
    button.click();
}"""


def test_a_double_click_does_nothing(page, server):
    server.show(lease=MINE, question={"key": "ready", "text": "Set it", "choices": ["start"], "trial": 1})
    for name in ("Arm", "Start", "Begin or resume", "End", "Everybody is clear: go"):
        page.evaluate(CLICKS, name)
    wait_on(page, HELD_MS)
    page.keyboard.press("Escape")
    until(lambda: stops(server))
    assert [command["type"] for command in server.commands()] == ["stop"]


def test_a_stop_ends_a_hold_before_it_acts(page, server):
    server.show(lease=MINE)
    page.evaluate(
        "const arm = document.getElementById('arm'); arm.dispatchEvent(new PointerEvent('pointerdown', { button: 0 }));"
        "arm.dispatchEvent(new KeyboardEvent('keydown', { key: ' ', bubbles: true, cancelable: true }))"
    )
    wait_on(page, HELD_MS)
    page.keyboard.press("Escape")  # and before it all that the hold sent
    until(lambda: "Escape" in stops(server))
    assert [command["type"] for command in server.commands()] == ["stop", "stop"]


def test_signs_of_life_are_sent_while_the_page_is_in_view(page, server):
    until(lambda: server.alive > 3)
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    until(lambda: not server.speaking)
    before = server.alive
    wait_on(page, 800)  # its worker would have begun again after 500 ms
    assert (server.alive, server.speaking) == (before, 0)
    page.evaluate("delete document.hidden")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    until(lambda: server.alive > before)


# Keeps the page's own thread busy for two times [ms], and counts the signs of life that the server has got in the last.
BUSY = """([first, second]) => {
  const signs = () => {
    const asked = new XMLHttpRequest();
    asked.open("GET", "/api/signs", false);
    asked.send();
    return Number(asked.responseText);
  };
  const wait = (ms) => { for (const until = performance.now() + ms; performance.now() < until;); };
  wait(first);
  const before = signs();
  wait(second);
  return signs() - before;
}"""


def test_a_page_that_draws_for_a_second_shows_that_it_lives_all_the_while(page, server):
    until(lambda: server.alive > 3)
    until(lambda: page.evaluate(BUSY, [200, 900]) > 3)  # a busy machine may keep all of the browser from it


def test_a_page_that_hangs_is_not_said_to_live(page, server):
    until(lambda: server.alive > 3)
    until(lambda: page.evaluate(BUSY, [2300, 500]) == 0)  # what was sent before may come late
    before = server.alive
    until(lambda: server.alive > before)


def test_a_page_without_a_place_among_the_viewers_stops_all_the_same(server, shown):
    server.full = True
    page = shown()
    page.click("#stop")
    page.locator("#cut").filter(has_text="stop accepted").wait_for()
    page.keyboard.press("Escape")
    until(lambda: [stop["reason"] for stop in server.posted] == ["button", "Escape"])
    assert {stop["type"] for stop in server.posted} == {"stop"}
    assert server.received == []


def test_a_stop_whose_connection_closes_before_it_is_answered_is_sent_again(server, shown):
    page = shown()
    until(lambda: server.alive > 0)
    server.mute = server.full = True
    page.click("#stop")
    until(lambda: any(message.get("command", {}).get("type") == "stop" for message in server.received))
    server.settle()
    assert server.posted == []
    server.disconnect()
    until(lambda: server.posted)
    page.keyboard.press("Escape")
    until(lambda: len(server.posted) > 1)
    assert [stop["reason"] for stop in server.posted] == ["button", "Escape"]


def test_a_motion_lasts_as_long_as_its_button_is_held(page, server):
    server.show(lease=MINE)
    button = page.get_by_text("Hold: left retract")
    button.dispatch_event("pointerdown", {"pointerId": 1})
    until(lambda: server.commands() == [{"type": "valve", "cylinder": "left", "way": "retract", "seconds": 10}])
    button.dispatch_event("pointerup", {"pointerId": 1})
    until(lambda: stops(server) == ["button released"])


def test_old_data_and_a_lost_server_are_shown_as_such_and_the_page_comes_back(page, server):
    page.wait_for_selector("body:not(.stale)")
    server.show(status_age_s=1.5)
    page.wait_for_selector("body.stale")
    server.show(status_age_s=0.1, state="armed", armed=True)
    page.wait_for_selector("body:not(.stale)")
    server.disconnect()
    page.get_by_text("no connection to the page server").wait_for()
    until(lambda: page.inner_text("#armed") == "ARMED")


def test_a_server_that_hangs_is_shown_as_silent_and_the_page_connects_again(page, server):
    server.hangs = True
    page.wait_for_selector("body.stale")
    page.get_by_text("no connection to the page server").wait_for()
    server.hangs = False
    page.wait_for_selector("body:not(.stale)")
    until(lambda: page.inner_text("#armed") == "NOT ARMED")


def test_without_a_server_no_lease_can_be_taken_and_nothing_armed(page, server):
    server.show(lease=MINE)
    buttons = [page.locator(f"#{name}") for name in ("lease", "arm")]
    until(lambda: all(button.is_enabled() for button in buttons))
    server.hangs = True
    page.get_by_text("no connection to the page server").wait_for()
    until(lambda: all(button.is_disabled() for button in buttons))
    server.hangs = False
    until(lambda: all(button.is_enabled() for button in buttons))


def test_a_fault_says_what_to_do_and_is_cleared_by_its_number(page, server):
    fault = {"number": 18, "name": "stop by operator", "detail": "E-stop <b>pressed</b>"}
    server.show(lease=MINE, safe=True, faults=[fault])
    page.get_by_text("Release the emergency stop, then clear the fault.").wait_for()
    assert "<b>pressed</b>" in page.text_content("#faults")  # text, not HTML
    until(lambda: page.inner_text(".state").split() == ["SAFE:", "fault", "18"])
    page.click("text=Clear fault 18")
    until(lambda: server.commands() == [{"type": "clear", "fault": 18}])


def test_an_arming_check_that_fails_says_what_to_do(page):
    page.get_by_text("What to do: mend the disk").wait_for()
    rows = page.locator("#checks tr").all_text_contents()
    assert ["What to do" in row for row in rows] == ["FAILS" in row for row in rows] == [True, False]
    assert page.inner_text("#passed") == "1 FAILS, 1 pass"


def test_a_campaign_is_led_by_clicks(page, server):
    asked = {"key": "ready", "text": "Set: obstacle 70 degrees", "choices": ["start"], "trial": 2}
    server.show(lease=MINE, question=asked)
    page.get_by_text("Set: obstacle 70 degrees").wait_for()
    assert page.inner_text("#message") == "The campaign asks: read and answer it under Campaign."
    page.get_by_role("img", name="Set: angle 70 deg; sensors 115 mm over the ground, feet 0.763 m apart").wait_for()
    drawn = page.locator("#set-next text").all_text_contents()
    assert drawn == ["70\u00b0", "feet 0.763 m apart", "sensors 115 mm"]
    assert page.text_content("[aria-current=step]") == "angle 70 deg"
    page.get_by_text("trial 2 of 2").wait_for()
    hold(page, page.get_by_role("button", name="Everybody is clear: go"), server.commands)
    server.show(question={"key": "verdict", "text": "The trial is accepted", "choices": ["verdict keep"]})
    page.fill("#word", "good")
    page.click("text=Keep the trial")
    until(lambda: server.commands() == [{"type": "start"}, {"type": "verdict", "verdict": "keep", "word": "good"}])


def test_traces_have_cursors_and_statistics_and_loads_follow_the_telemetry(page, server):
    page.set_viewport_size(TALL)
    names = ["speed_mps", "force_sum_N", "time_to_impact_s", *(f"normal_force_N/{name}" for name in WHEELS)]
    t = [1e9 + 0.1 * i for i in range(100)]
    columns = [[0.01 * i for i in range(100)], [5.0] * 100, [2.5] * 100, *([150.0 + i] * 100 for i in range(6))]
    server.show(running=True, state="approach")
    server.send({"type": "ticks", "names": names, "t": t, "values": columns})
    assert page.inner_text("#left") == "2.5 s"
    assert page.locator("#loads tbody tr").first.inner_text().split() == ["front", "left", "150", "16"]  # of 915 N
    page.evaluate("a = document.getElementById('mark-a'); a.value = -5; a.dispatchEvent(new Event('input'))")
    wanted = ["speed", "1", "0.49", "0.99", "0.5", "0", "0.495", "0.99"]
    until(lambda: page.locator("#statistics tr").first.locator("td").all_inner_texts() == wanted)


@pytest.mark.ci_cases("light-360", "dark-1280")
@pytest.mark.parametrize("width", [360, 1280, 2560])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_its_screen_and_the_stop_button_is_large_and_in_view(still, width, scheme):
    page, server = still
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    server.settle()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.getElementById('log').scrollIntoView()")
    box = page.locator("#stop").bounding_box()
    assert box["width"] >= 0.15 * width
    assert 0 <= box["y"] < 400


def test_nothing_leaves_this_machine_and_the_policy_is_kept(page, server):
    page.locator("#checks tr").first.wait_for()
    until(lambda: any(url.endswith("/api/runs") for url in page.asked))
    server.settle()
    assert all(url.startswith(server.url) for url in page.asked)
    assert page.problems == []


def test_each_control_has_a_name_and_each_part_a_heading(still):
    page, _ = still
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, select, meter, [role=img]')].filter((one) => "
        "!one.textContent.trim() && !one.labels?.length && !one.getAttribute('aria-label')).map((one) => one.outerHTML)"
    )
    assert unnamed == []
    assert page.evaluate("[...document.querySelectorAll('section')].every((one) => one.querySelector('h2'))")


def test_each_line_of_the_log_has_date_and_time_and_an_event_in_virtual_time_says_so(page, server):
    t = datetime(2026, 3, 1, 9, 5, 7, 48_000).astimezone().timestamp()
    server.send({"type": "log", "t": t, "who": "Ada-1", "text": "arm"})
    event = {"type": "event", "name": "impact", "t": t, "id": 0, "value": 2.0, "limit": None, "detail": ""}
    server.send(event | {"virtual_s": None})
    server.send(event | {"virtual_s": 4.731})
    server.send(event | {"name": "operator start", "value": 0.0, "limit": 0.0, "virtual_s": None})
    when = "2026-03-01 09:05:07.048"
    wanted = [
        [when, "event", "operator start"],
        [when, "event", "impact, value 2, at 4.731 s of simulated time"], [when, "event", "impact, value 2"],
        [when, "Ada-1", "arm"],
    ]  # fmt: skip
    assert [row.locator("td").all_text_contents() for row in page.locator("#lines tr").all()] == wanted
