"""What the page draws of a rig: views, loads of the wheels, links, pneumatics; and what a rig does not have."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from PIL import Image

from hil.app.page.content import page_content
from hil.config import load_config
from hil.config.rig import Rig

from .scripted_rig import WHEELS
from .scripted_server import TALL, cells, hold, until

pytestmark = pytest.mark.slow
NO_WEBGL = "HTMLCanvasElement.prototype.getContext = () => null"


@pytest.fixture
def rig_page(server, shown):
    """Opens the page of the rig that the test has described."""

    def open_page():
        page = shown()
        until(lambda: any(message["type"] == "subscribe" and message["series"] for message in server.received))
        return page

    return open_page


def test_the_view_in_three_dimensions_is_loaded_when_asked_for_and_turns_by_the_keys(page, server):
    assert not [url for url in page.asked if "/three/" in url]
    page.click("#solid")
    canvas = page.locator("#scene canvas")
    canvas.wait_for()
    assert [url for url in page.asked if "/three/" in url]
    server.settle()
    before = canvas.screenshot()
    assert canvas.screenshot() == before
    canvas.press("ArrowLeft")
    server.settle()
    assert canvas.screenshot() != before
    assert page.problems == []
    assert all(url.startswith(server.url) for url in page.asked)


@pytest.mark.parametrize("name", ["sim_capture", "sim_juno"])
def test_a_rig_is_drawn_and_what_it_does_not_have_is_not_shown(server, shown, name):
    server.answers["config"] = page_content(Rig(load_config(name)), None)
    page = shown(viewport=TALL)
    server.show_ticks(t_ns=[0], speed_mps=[0.0])
    absent = ["time to impact", "until impact", "force sensors", "bogie valves", "Sum of the force sensors"]
    absent += ["gap to the obstacle", "wheel drives"] if name == "sim_capture" else ["gap to the obstacle", "payload"]
    for words in absent:
        assert not page.get_by_text(words).filter(visible=True).count(), words
    assert page.get_by_text("payload before the seat").is_visible() == (name == "sim_capture")
    page.click("#solid")
    page.locator("#scene canvas").wait_for()
    server.settle()
    for place in ("#side", "#top", "#scene canvas"):
        drawn = np.asarray(Image.open(io.BytesIO(page.locator(place).screenshot())).convert("RGB"))
        assert (drawn != drawn[0, 0]).any(axis=2).mean() > 0.02, place
    assert page.problems == []


BODIES_IN_VIEW = """() => [...document.querySelectorAll("#side svg, #top svg")].map((svg) => {
    const box = svg.getBoundingClientRect();
    return [...svg.querySelectorAll(".body")].map((body) => body.getBoundingClientRect()).every((one) => (
        one.left >= box.left && one.right <= box.right && one.top >= box.top && one.bottom <= box.bottom));
})"""


def test_an_arm_that_is_bent_is_in_both_views_with_all_its_bodies(server, shown):
    server.answers["config"] = page_content(Rig(load_config("sim_capture")), None)
    page = shown(viewport=TALL)
    until(lambda: any(message["type"] == "subscribe" and message["series"] for message in server.received))
    joints = {"arm_1_shoulder": 69.0, "arm_2_elbow": -86.0, "arm_3_wrist": 34.0}
    angles = {f"joint_angle_rad__{name}": [math.radians(deg)] for name, deg in joints.items()}
    pose = {f"pose__{part}": [0.0] for part in ("x", "y", "z", "qx", "qy", "qz")}
    server.show_ticks(t_ns=[0], pose__qw=[1.0], **pose, **angles)
    page.wait_for_function(
        "document.querySelectorAll('#top .body').length > 2 && document.querySelector('#top .link[x1]')"
    )
    assert page.evaluate(BODIES_IN_VIEW) == [True, True]


def test_a_chart_tells_the_ticks_of_its_axis_apart(page):
    words = page.evaluate(
        "async () => { const { tickWords: words } = await import('/static/page/chart.js');"
        "return [words([-0.0094, -0.0092, -0.009], 0.0002), words([0, 0.25, null], 0.25), words([-20, 0], 20)]; }"
    )
    assert words == [["-0.0094", "-0.0092", "-0.0090"], ["0.00", "0.25", ""], ["-20", "0"]]


def test_without_webgl_the_page_says_so_and_keeps_its_drawings(page):
    page.evaluate(NO_WEBGL)
    page.click("#solid")
    page.get_by_text("this browser has no WebGL").wait_for()
    assert page.locator("#scene canvas").count() == 0
    page.locator("#side svg").wait_for()


def test_loads_are_shown_as_wanted_estimated_and_measured(server, rig_page):
    server.add_series("N", "load_wanted_N/front_left", "wheel_load_N/front_left", "slip/front_left")
    page = rig_page()
    server.show_ticks(
        normal_force_N__front_left=[150.0], load_wanted_N__front_left=[160.0], wheel_load_N__front_left=[140.0],
        slip__front_left=[0.12],
    )  # fmt: skip
    wanted = ["front left", "", "150", "160", "140", "-", "12"]
    assert cells(page, "#loads tbody")[0] == wanted
    places = [("estimated", "width"), ("wanted", "x1"), ("measured", "cx")]
    ends = [float(page.locator(f"#loads .{mark}").first.get_attribute(place)) for mark, place in places]
    assert ends == pytest.approx([75.0, 80.0, 70.0])  # of 200 N


def test_the_share_of_the_weight_is_that_of_the_estimated_loads_and_left_open_while_one_is_not_known(server, rig_page):
    page = rig_page()
    loads = {f"normal_force_N__{wheel}": [100.0] for wheel in WHEELS}
    server.show_ticks(**loads | {"normal_force_N__front_left": [-20.0]})
    shares = [f"{100.0 / (100.0 * (len(WHEELS) - 1) - 20.0):.0%}"[:-1]] * (len(WHEELS) - 1)
    assert [row[3] for row in cells(page, "#loads tbody")][1:] == shares
    assert cells(page, "#loads tbody")[0][2:4] == ["-20", f"{-2000.0 / (100.0 * (len(WHEELS) - 1) - 20.0):.0f}"]
    server.show_ticks(**loads | {"normal_force_N__front_left": [None]})
    assert {row[3] for row in cells(page, "#loads tbody")} == {"-"}


def test_the_pneumatics_show_which_valve_is_powered_and_the_pressures(server, rig_page):
    server.add_series("Pa", "pressure_Pa/left_extend", "pressure_Pa/left_retract")
    server.add_series("1", "valves/left_extend", "valves/left_retract")
    page = rig_page()
    server.show_ticks(
        pressure_Pa__left_extend=[80e3],
        pressure_Pa__left_retract=[2e3],
        valves__left_extend=[1],
        valves__left_retract=[0],
    )
    wanted = "Cylinder left, extend: supply, 80 kPa; retract: vented, 2 kPa"
    assert page.locator(".cylinder").get_attribute("aria-label") == wanted
    assert page.locator(".cylinder .powered").count() == 1


def test_driven_joints_show_angles_set_and_measured_and_a_torque_at_its_limit(server, rig_page):
    about = {"unit": "deg", "lowest": -45.0, "highest": 45.0, "limit": 60.0, "limit_unit": "N m"}
    slide = {"name": "lift", "unit": "mm", "lowest": 0.0, "highest": 300.0, "limit": 900.0, "limit_unit": "N"}
    turning = [{"name": name, **about} for name in ("front_left_walking", "rear_left_walking")]
    server.answers["config"]["servos"] = [*turning, slide]
    names = ("set_servo_angle_rad", "servo_angle_rad", "servo_torque_Nm")
    server.add_series("rad", *(f"{name}/{joint}" for name in names for joint in ("front_left_walking", "lift")))
    page = rig_page()
    server.show_ticks(
        set_servo_angle_rad__front_left_walking=[math.radians(15.0)],
        servo_angle_rad__front_left_walking=[math.radians(14.5)],
        servo_torque_Nm__front_left_walking=[-61.0],
        set_servo_angle_rad__lift=[0.1],
        servo_angle_rad__lift=[0.0985],
        servo_torque_Nm__lift=[812.0],
    )
    assert cells(page, "#joints") == [
        ["front left walking", "15.0", "14.5", "-45.0 to 45.0", "0.5", "-61.0", "60.0", "deg, N m"],
        ["rear left walking", "-", "-", "-45.0 to 45.0", "-", "-", "60.0", "deg, N m"],
        ["lift", "100.0", "98.5", "0.0 to 300.0", "1.5", "812.0", "900.0", "mm, N"],
    ]
    assert page.locator("#joints .bad").all_inner_texts() == ["-61.0"]
    assert page.locator("#driven-joints").is_visible()


def test_a_link_whose_newest_data_is_too_old_is_marked_with_a_word(server, rig_page):
    server.answers["config"]["limits"] = {"daq_age_ms": 10.0, "drives_age_ms": 200.0}
    server.answers["config"]["line_loads"] = [{"item": "bus load of A", "found": "7%", "allowed": "80%", "ok": True}]
    server.add_series("ns", "t_ns", "daq_age_ns", "drives_t_ns")
    page = rig_page()
    server.show_ticks(t_ns=[5e9], daq_age_ns=[25e6], drives_t_ns=[4.9e9])
    wanted = [
        ["force sensors", "25.0 ms", "at most 10 ms", "TOO OLD", "-", "-"],
        ["wheel drives", "100.0 ms", "at most 200 ms", "good", "-", "-"],
    ]
    assert cells(page, "#links") == wanted
    assert cells(page, "#line-loads") == [["bus load of A", "7%", "80%", "good"]]


def test_a_link_shows_the_rate_errors_and_retries_that_its_process_counts(server, rig_page):
    server.add_series("ns", "t_ns", "daq_age_ns", "drives_t_ns")
    page = rig_page()
    server.show(links={"daq": {"errors": 0, "retries": 0}, "drives": {"errors": 1, "retries": 3, "rate_hz": 49.96}})
    wanted = [["-", "0, 0 sent again"], ["49.96 Hz", "1, 3 sent again"]]
    assert [row[-2:] for row in cells(page, "#links")] == wanted


def test_a_rig_without_loads_cylinders_obstacle_or_series_is_shown_all_the_same(server, shown):
    config = server.answers["config"]
    config |= {"series": [], "cylinders": [], "obstacle": None, "set_points": [], "plan": None, "faults": {}}
    config["rover"]["wheels"] = config["rover"]["wheels"][:4]
    page = shown()
    page.get_by_text("This rig has no wheel loads.").wait_for()
    page.click("#solid")
    page.locator("#scene canvas").wait_for()
    assert page.locator("#side .wheel").count() == 4 < len(WHEELS)
    assert page.problems == []


def test_a_load_distribution_is_set_with_the_wheel_or_the_shares_that_it_needs(server, rig_page):
    server.answers["config"]["modes"] = [{"name": "uniform"}, {"name": "unload"}, {"name": "share"}]
    server.show(lease={"holder": "page-1", "yours": True, "asked_by": ""})
    page = rig_page()
    for mode in ("uniform", "unload", "share"):
        page.select_option("#mode", mode)
        if mode == "unload":
            page.select_option("#unload", "rear_left")
        sent = len(server.commands())
        button = page.get_by_role("button", name="Set the mode")
        hold(page, button, lambda sent=sent: len(server.commands()) > sent)
    assert server.commands() == [
        {"type": "set_loads", "mode": "uniform"},
        {"type": "set_loads", "mode": "unload", "wheel": "rear_left"},
        {"type": "set_loads", "mode": "share", "share": [0.167] * 6},
    ]


def test_the_camera_of_the_view_in_three_dimensions_has_places_of_its_own(page, server):
    page.click("#solid")
    canvas = page.locator("#scene canvas")
    canvas.wait_for()
    seen = []
    for name in ("Oblique", "Side", "Front", "Top", "Plate"):
        page.get_by_role("group", name="Camera").get_by_role("button", name=name).click()
        server.settle()
        seen.append(canvas.screenshot())
    assert len(set(seen)) == 5
    assert page.problems == []


def test_the_plate_is_drawn_at_the_angle_of_the_trial_that_is_on(server, rig_page):
    page = rig_page()
    page.click("#solid")
    page.locator("#scene canvas").wait_for()

    def angle_deg():
        """Of the plate in the side view."""
        x1, x2, y1, y2 = (float(page.locator("#side .plate").get_attribute(end)) for end in ("x1", "x2", "y1", "y2"))
        return math.degrees(math.atan2(y1 - y2, x2 - x1))

    assert angle_deg() == pytest.approx(60.0, abs=0.1)  # of the config
    for trial_deg in (40.0, 80.0):
        server.show(obstacle={"angle_deg": trial_deg, "distance_m": 0.3})
        assert angle_deg() == pytest.approx(trial_deg, abs=0.1)
    server.show(obstacle=None)  # a jog: nobody has moved it
    server.show_ticks(speed_mps=[0.01])
    assert page.inner_text("#speed") == "0.010"
    assert angle_deg() == pytest.approx(80.0, abs=0.1)
    assert page.problems == []
