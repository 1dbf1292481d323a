"""The page from two metres: the state in a word and a colour, the next step, and a run without scrolling."""

from __future__ import annotations

import pytest

from .scripted_server import until
from .test_display import FAULT, MINE, RUN, UNKNOWN, drive, line

pytestmark = pytest.mark.slow
READY = {"key": "ready", "text": "Set it", "choices": ["start"], "trial": 1}


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({}, "NOT ARMED: idle"),
        ({"state": "armed", "armed": True, "running": True}, "ARMED: start moves the rover"),
        ({"state": "run_up", **RUN}, "RUNNING: run up"),
        ({"safe": True, "faults": [FAULT]}, "SAFE: fault 19"),
        ({"command_server": False}, UNKNOWN),
    ],
)
def test_the_state_line_is_as_wide_as_the_screen_and_48_pixels_high_or_more(still, changed, word):
    page, server = still
    server.show(**changed)
    until(lambda: line(page) == word)
    box = page.locator(".state").bounding_box()
    assert (box["x"], box["width"]) == (0, 1280)
    assert page.evaluate("parseFloat(getComputedStyle(document.getElementById('armed')).fontSize)") >= 48
    letters, back = page.evaluate(
        "one = getComputedStyle(document.querySelector('.state')), [one.color, one.backgroundColor]"
    )
    assert letters == "rgb(255, 255, 255)" != back


@pytest.mark.parametrize(
    ("changed", "primary"),
    [
        ({}, ["Take the lease"]), ({"lease": MINE}, ["Arm"]),
        ({"lease": MINE, "state": "armed", "armed": True, "running": True}, ["Start"]),
        ({"lease": MINE, "state": "run_up", **RUN}, []), ({"lease": MINE, "safe": True, "faults": [FAULT]}, []),
        ({"lease": MINE, "command_server": False}, []), ({"lease": MINE, "state": "preparing"}, []),
        ({"lease": MINE, "state": "campaign", "question": READY}, ["Everybody is clear: go"]),
    ],
)  # fmt: skip
def test_one_button_is_the_large_one_by_the_state(still, changed, primary):
    page, server = still
    server.show(**changed)
    until(
        lambda: (
            [one.removesuffix("hold").strip() for one in page.locator("button.primary:visible").all_inner_texts()]
            == primary
        )
    )


def test_in_a_run_force_energy_gap_speed_and_log_are_in_view_without_scrolling(server, shown):
    server.add_series("m", "gap_m")
    server.add_series("J", "effective_kinetic_energy_J")
    page = shown(viewport={"width": 1280, "height": 800})
    drive(server)
    server.show_ticks(speed_mps=[0.07], gap_m=[0.25], effective_kinetic_energy_J=[0.2312], force_sum_N=[1.0])
    assert page.inner_text("#gap") == "0.250"
    server.send({"type": "log", "t": 1e9, "who": "Ada", "text": "start"})
    page.get_by_role("cell", name="start", exact=True).wait_for()
    page.locator("#checks tr").first.wait_for()  # and above them what fails
    for place in ("#force", "#energy", "#gap", "#speed", "#left", "#lines tr"):
        box = page.locator(place).first.bounding_box()
        assert box["y"] + box["height"] <= 800, place


@pytest.mark.parametrize("width", [1280, 1920, 2560])
def test_no_column_is_empty(still, width):
    page, server = still
    page.set_viewport_size({"width": width, "height": 1080})
    server.settle()
    # in each row of the page, what stands in it reaches from one side to the other
    boxes = page.evaluate(
        "[...document.querySelectorAll('main > *')].map((one) => one.getBoundingClientRect())"
        ".map(({ left, right, top }) => [Math.round(top), left, right])"
    )
    for top in {box[0] for box in boxes}:
        row = [box for box in boxes if box[0] == top]
        assert min(box[1] for box in row) < 40
        assert max(box[2] for box in row) > width - 60


def test_a_number_that_a_rig_does_not_have_takes_no_place(still):
    page, _ = still
    assert page.get_by_text("gap to the obstacle").is_hidden()
    page.get_by_text("until impact").wait_for()
