"""What the page says of the rig: one state, of this moment and of this run."""

from __future__ import annotations

import pytest

from .scripted_rig import STATUS
from .scripted_server import TALL, cells, until

pytestmark = pytest.mark.slow
MINE = {"holder": "page-1", "yours": True, "asked_by": ""}
FAULT = {"number": 19, "name": "console lost", "detail": "no heartbeat of Ada"}
RUN = {"running": True, "armed": True, "telemetry_age_s": 0.05}
ACCEPTED = "stop accepted, the cut is not confirmed yet"
UNKNOWN = "NO CONNECTION: state not known, use the emergency stop"


def line(page):
    return " ".join(page.inner_text(".state").split())


def grey(page, place):
    """Whether a place is drawn grey: its own filter, or that of what it is in."""
    return page.evaluate(
        "(place) => { for (let one = document.querySelector(place); one; one = one.parentElement)"
        " if (getComputedStyle(one).filter.includes('grayscale')) return true; return false; }",
        place,
    )


def drive(server, run="runs/run_1"):
    server.show(state="run_up", run=run, **RUN)


# ---- a stop is of its run ----
def test_what_a_stop_did_is_cleared_when_another_run_begins_to_arm(page, server):
    drive(server)
    until(lambda: line(page) == "RUNNING: run up")
    page.click("#stop")
    until(lambda: page.inner_text("#cut") == ACCEPTED)
    server.send({"type": "reply", "id": 1, "ok": True, "error": "", "cut_ms": 9.886})
    until(lambda: page.inner_text("#cut") == "drives cut, confirmed 9.9 ms after the stop arrived")
    server.show(state="idle", running=False, armed=False)
    until(lambda: line(page) == "NOT ARMED: idle")
    assert "drives cut" in page.inner_text("#cut")  # it is of the newest run
    server.show(state="preparing")
    until(lambda: not page.inner_text("#cut"))
    server.show(state="armed", run="runs/run_2", running=True, armed=True)
    until(lambda: line(page).startswith("ARMED:"))
    assert not page.inner_text("#cut")


def test_a_stop_that_was_pressed_while_a_run_is_prepared_is_of_that_run(page, server):
    drive(server)
    until(lambda: line(page) == "RUNNING: run up")
    server.show(state="preparing", running=False, armed=False)
    until(lambda: line(page) == "NOT ARMED: preparing")
    page.click("#stop")
    until(lambda: page.inner_text("#cut") == ACCEPTED)
    drive(server, "runs/run_2")
    until(lambda: page.inner_text("#run") == "run_2")
    assert page.inner_text("#cut") == ACCEPTED
    drive(server, "runs/run_3")  # of which nobody saw that it was prepared
    until(lambda: page.inner_text("#run") == "run_3")
    assert not page.inner_text("#cut")


def test_a_stop_that_failed_is_red_over_the_full_width_and_says_what_to_do(page, server):
    server.refuses = "stop: no answer in 2 s"
    page.click("#stop")
    failed = page.locator("#cut.failed")
    failed.wait_for()
    assert failed.inner_text().startswith("STOP FAILED: stop: no answer in 2 s. Use the emergency stop")
    box = failed.bounding_box()
    assert (box["x"], box["width"]) == (0, page.viewport_size["width"])
    size, colour = failed.evaluate("(one) => [getComputedStyle(one).fontSize, getComputedStyle(one).backgroundColor]")
    assert (float(size[:-2]) >= 24, colour) == (True, "rgb(194, 24, 7)")
    server.refuses = ""
    page.click("#stop")  # and a stop that is accepted ends it
    until(lambda: page.inner_text("#cut").startswith("stop received"))
    assert not page.locator("#cut.failed").count()


def test_a_stop_while_no_run_is_on_is_said_to_have_stopped_nothing(page, server):
    page.click("#stop")
    until(lambda: page.inner_text("#cut") == "stop received: no run is on, nothing was stopped")


# ---- what was refused ----
def test_an_arming_that_is_refused_is_red_and_says_why_and_what_to_do_where_the_state_is(page, server):
    green = page.evaluate("getComputedStyle(document.querySelector('.state')).backgroundColor")
    checks = [{"item": "disk", "ok": False, "found": "1 MB", "allowed": "from 2 GB", "to_do": "remove old runs"}]
    server.show(refused=["disk is 1 MB, allowed: from 2 GB; remove old runs", "fault latch is 19"], checks=checks)
    until(lambda: line(page) == "NOT ARMED: arming refused")
    message = page.locator("#message")
    assert message.inner_text().startswith(
        "disk is 1 MB, allowed: from 2 GB; remove old runs, and 1 more. Correct this,"
    )
    assert 0 < message.bounding_box()["y"] < page.viewport_size["height"]
    assert page.evaluate("getComputedStyle(document.querySelector('.state')).backgroundColor") != green
    drive(server)
    until(lambda: line(page) == "RUNNING: run up")


def test_a_refused_setting_is_no_refused_arming(page, server):
    problem = "trial.angle_deg: found 120; allowed: a number 10 to 90"
    settings = STATUS["settings"] | {"answered": 1, "refused": [problem]}
    server.show(refused=[f"config sim_impact: 1 problem\n  {problem}"], settings=settings)
    assert line(page) == "NOT ARMED: idle"
    assert "arm again" not in page.inner_text("#message")
    server.show(refused=["disk is 1 MB, allowed: from 2 GB; remove old runs"], settings=settings)
    until(lambda: line(page).endswith("refused"))


# ---- unknown is not safe ----
def test_a_server_that_is_lost_in_the_run_up_leaves_no_word_of_a_state(page, server):
    drive(server)
    until(lambda: line(page) == "RUNNING: run up")
    server.hangs = True
    server.disconnect()
    until(lambda: line(page) == UNKNOWN)
    assert "not armed" not in page.inner_text("#bar").lower()
    server.hangs = False
    until(lambda: line(page) == "RUNNING: run up")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"command_server": False}, "hil operate does not answer"),
        ({"state": None, "armed": None, "message": None}, "hil operate has not told its state yet"),
        ({"status_age_s": 7.0}, "hil operate has told no state for 7 s"),
    ],
)
def test_a_state_that_is_not_known_is_never_called_not_armed(still, changed, why):
    page, server = still
    server.show(**changed)
    until(lambda: line(page) == UNKNOWN)
    until(lambda: why in page.inner_text("#bar"))
    bar = page.inner_text("#bar")
    assert "undefined" not in bar
    assert "not armed" not in bar.lower()
    assert page.is_disabled("#lease")


def test_a_page_server_that_knows_nothing_of_the_rig_yet_is_no_state(page, server):
    known, server.status = server.status, {"type": "status", "command_server": True, "lease": server.status["lease"]}
    until(lambda: line(page) == UNKNOWN)
    assert "undefined" not in page.inner_text("body")
    server.status = known
    until(lambda: line(page) == "NOT ARMED: idle")


# ---- what is old ----
def test_values_that_are_old_are_grey_with_their_age_and_are_not_called_fresh(page, server):
    drive(server)
    server.show_ticks(speed_mps=[0.07073])
    assert page.inner_text("#speed") == "0.071"
    server.show(state="idle", running=False, armed=False, telemetry_age_s=None)  # it was offline, and the run is over
    until(lambda: "s ago" in page.inner_text("#live-age"))
    assert grey(page, "#speed")
    assert page.inner_text("#age") == "no run is on"


def test_after_a_run_nothing_has_an_age_and_all_that_was_measured_is_grey(server, shown):
    server.answers["config"]["limits"] = {"drives_age_ms": 200.0}
    server.answers["config"]["servos"] = [
        {"name": "lift", "unit": "mm", "lowest": 0.0, "highest": 300.0, "limit": 900.0, "limit_unit": "N"}
    ]
    server.add_series("ns", "t_ns", "drives_t_ns")
    page = shown(viewport=TALL)
    server.show_ticks(t_ns=[5e9], drives_t_ns=[5e9], normal_force_N__front_left=[150.0])
    assert cells(page, "#links")[0][1:4] == ["0.0 ms", "at most 200 ms", "good"]
    until(lambda: cells(page, "#links")[0][1:4] == ["-", "at most 200 ms", "no data"])
    for place in ("#speed", "#side", "#loads", "#joints", "#links", "#values"):
        assert grey(page, place), place


def test_values_of_a_run_are_gone_when_another_one_begins(page, server):
    drive(server)
    until(lambda: page.inner_text("#run") == "run_1")
    server.show_ticks(speed_mps=[0.07])
    assert page.inner_text("#speed") == "0.070"
    drive(server, "runs/run_2")
    assert page.inner_text("#speed") == "-"
    assert not page.inner_text("#live-age")


def test_telemetry_that_is_old_in_a_run_is_said_and_the_state_stays_known(page, server):
    drive(server)
    until(lambda: page.inner_text("#age") == "fresh")
    server.show(telemetry_age_s=3.2)
    until(lambda: page.inner_text("#age") == "3 s OLD")
    assert line(page) == "RUNNING: run up"


@pytest.mark.parametrize("state", [{"state": "concluding", "running": False}, {"state": "aborted", "running": True}])
def test_while_results_are_written_the_page_says_so_and_a_fault_stays_red(still, state):
    page, server = still
    server.show(**state, armed=False, safe=True, faults=[FAULT], status_age_s=5.0)
    until(lambda: line(page) == "SAFE: fault 19")
    assert page.inner_text("#message") == "The results are being written. 5 s so far."
    assert not grey(page, "#faults")
    assert "OLD" not in page.inner_text("#bar")


# ---- arming checks and faults ----
def test_the_fault_latch_of_the_checks_is_that_of_this_moment_and_the_others_have_their_time(page, server):
    passed = {"ok": True, "found": "none", "allowed": "none", "to_do": ""}
    made = [{"item": item, **passed} for item in ("fault latch", "disk")]
    server.answers["check"] = {"source": "arming", "checks": made, "t": 1e9}
    server.show(state="aborted")
    until(lambda: page.inner_text("#passed") == "2 pass")
    assert not page.is_visible("#checks")  # folded
    server.show(state="idle", safe=True, faults=[FAULT])
    until(lambda: page.inner_text("#passed") == "1 FAILS, 1 pass")
    first = page.locator("#checks tr").first
    first.wait_for()
    assert first.locator("td").all_inner_texts()[:3] == ["fault latch", "FAILS", "19 console lost, now"]
    clock = page.evaluate("new Date(1e12).toLocaleTimeString()")
    assert page.inner_text("#checked") == f"of the arming at {clock}"
    server.show(safe=False, faults=[])
    until(lambda: page.inner_text("#passed") == "2 pass")


def test_a_fault_is_an_alarm_with_its_time_and_why_it_cannot_be_cleared(page, server):
    server.show(safe=True, faults=[FAULT], fault_times={"19": 1e9})
    row = page.locator("#faults tr")
    row.wait_for()
    clock = page.evaluate("new Date(1e12).toLocaleTimeString()")
    assert row.locator("td").all_inner_texts()[:2] == [clock, "Fault 19"]
    clear = page.get_by_role("button", name="Clear fault 19")
    assert clear.is_disabled()
    assert "take the lease first" in row.inner_text()
    server.show(lease=MINE)
    until(clear.is_enabled)
    server.disconnect()
    until(lambda: line(page) == UNKNOWN and clear.is_disabled())


# ---- numbers ----
def test_numbers_have_the_decimals_of_their_unit_and_no_zero_has_a_sign(still):
    page, _ = still
    shown = page.evaluate(
        "async () => { const { digits, quantity } = await import('/static/page/dom.js');"
        "return [quantity(1.34e-27, 'J'), quantity(-1.256e-15, 'm/s'), quantity(0.2312, 'J'), quantity(151.71, 'N'),"
        "quantity(null, 'J'), digits(-1.256e-15), quantity(-0.0004, 'm/s'), quantity(-0.0006, 'm/s')]; }"
    )
    assert shown == ["0.000", "0.000", "0.231", "151.7", "-", "0", "0.000", "-0.001"]


def test_the_time_to_an_impact_is_a_time_only_while_there_will_be_one(page, server):
    drive(server)
    shown = []
    for left in (2.5, None, 1.5, 368900.0):
        server.show_ticks(time_to_impact_s=[left], speed_mps=[1e-15])
        shown.append(page.inner_text("#left"))
        assert page.inner_text("#speed") == "0.000"
    assert shown == ["2.5 s", "not approaching", "1.5 s", "not approaching"]
    server.show_ticks(time_to_impact_s=[251.2], speed_mps=[0.02])
    server.show(state="idle", armed=False, running=False)  # stopped in the run-up, with this tick as its last
    until(lambda: page.inner_text("#left") == "-")
    server.show_ticks(time_to_impact_s=[261.0], speed_mps=[0.001], impact=[1])
    assert page.inner_text("#left") == "over"


# ---- for everybody ----
def test_each_series_is_ticked_by_the_keyboard(page, server):
    boxes = page.locator("#series input")
    for i in range(boxes.count()):
        box = boxes.nth(i)
        before = box.is_checked()
        box.focus()
        page.keyboard.press("Enter")
        assert box.is_checked() is not before
    page.keyboard.press("Escape")  # the space bar is the stop, too
    until(server.commands)
    assert [command["reason"] for command in server.commands()] == ["Escape"]


def test_state_and_message_are_in_live_regions(still):
    page, _ = still
    for place in ("#armed", "#state", "#message", "#cut"):
        assert page.evaluate(f"document.querySelector('{place}').closest('[role=status]') !== null")


def test_in_forced_colours_stop_and_state_keep_their_outline(server, shown):
    page = shown(forced_colors="active")
    for place in ("#stop", ".state"):
        width, colour, back = page.evaluate(
            f"one = getComputedStyle(document.querySelector('{place}')), "
            "[one.borderTopWidth, one.borderTopColor, one.backgroundColor]"
        )
        assert float(width[:-2]) >= 2
        assert colour not in (back, "rgba(0, 0, 0, 0)")
    page.focus("#stop")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("parseFloat(getComputedStyle(document.getElementById('stop')).outlineWidth)") >= 3
