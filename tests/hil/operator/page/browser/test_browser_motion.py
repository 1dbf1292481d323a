"""The drawings show the rover as a tick has it, live or replayed: the plate stands, and is touched at gap 0."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from models.terrain import make_height_map, surface, uneven_ground

from .scripted_rig import WHEELS
from .scripted_server import cells, until

pytestmark = pytest.mark.slow
MOTION = (
    "gap_m",
    "way_m",
    "joint_angle_rad/left_bogie",
    *(f"pose/{one}" for one in ("x", "y", "z", "qx", "qy", "qz", "qw")),
)
RADIUS_M = 0.14


def tick(x_m=0.0, gap_m=0.3, pitch_rad=0.0, bogie_rad=0.0, **more):
    """A tick of a rover that has come so far."""
    pose = {
        "x": x_m,
        "y": 0.0,
        "z": 0.0,
        "qx": 0.0,
        "qy": math.sin(pitch_rad / 2),
        "qz": 0.0,
        "qw": math.cos(pitch_rad / 2),
    }
    values = {"gap_m": gap_m, "way_m": x_m, "joint_angle_rad__left_bogie": bogie_rad}
    values |= {f"pose__{key}": value for key, value in pose.items()}
    return {name: [value] for name, value in (values | more).items()}


def side_view(page):
    """Ends of the plate and centres of the wheels as the side view has them: x and z [m], and its shift."""
    return page.evaluate("""() => {
        const numbers = (text) => (text?.match(/-?[0-9.]+(e-?[0-9]+)?/g) ?? [NaN, NaN]).map(Number);
        const rotation = document.querySelector("#side svg > g > g").transform.baseVal[0].angle;
        const [plate, group] = [document.querySelector("#side .plate"), document.querySelector("#side svg > g")];
        const wheels = [...document.querySelectorAll("#side g:has(> .wheel)")];
        const placed = wheels.map((one) => numbers(one.getAttribute("transform")));
        return {
            plate: ["x1", "y1", "x2", "y2"].map((name) => Number(plate?.getAttribute(name))), rotation,
            wheels: placed.map(([x, y]) => [x, -y]), turned: placed.map((one) => one[2]),
            shift: -numbers(group.getAttribute("transform"))[0],
        };
    }""")


def apart(view):
    """From the rim of the front wheel to the drawn plate [m]."""
    (x1, y1, x2, y2), (x, z) = view["plate"], view["wheels"][0]
    along = math.hypot(x2 - x1, y2 - y1)
    return ((x1 - x) * -(y2 - y1) - (-y1 - z) * (x2 - x1)) / along - RADIUS_M


def plate_deg(view):
    (x1, y1, x2, y2) = view["plate"]
    return math.degrees(math.atan2(y1 - y2, x2 - x1))


@pytest.fixture
def moving(server, shown):
    """The page of a rover whose ticks tell its motion; called with a tick, it answers how the side view shows it."""
    server.add_series("m", *MOTION)
    page = shown()
    until(lambda: any("gap_m" in message.get("series", ()) for message in server.received))

    def show(**values):
        server.show_ticks(**tick(**values))
        view = side_view(page)
        assert view["shift"] == pytest.approx(values.get("x_m", 0.0), abs=1e-4)
        return view

    return show


@pytest.mark.parametrize("angle_deg", [40.0, 60.0, 90.0])
def test_at_gap_zero_the_drawn_wheel_touches_the_inclined_plate(server, request, angle_deg):
    server.answers["config"]["obstacle"] = {"angle_deg": angle_deg, "distance_m": 0.5}
    show = request.getfixturevalue("moving")
    assert apart(show(x_m=0.1, gap_m=0.1)) == pytest.approx(0.1, abs=2e-3)
    assert apart(show(x_m=0.2, gap_m=0.0)) == pytest.approx(0.0, abs=2e-3)


def test_the_plate_stays_where_it_is_while_the_rover_brakes_and_after_the_impact(moving):
    first = moving(x_m=0.1, gap_m=0.05, time_to_impact_s=0.5, speed_mps=0.1)
    braked = moving(x_m=0.11, gap_m=0.05 - 0.01 * math.sin(math.radians(60)), time_to_impact_s=5000.0, speed_mps=0.05)
    struck = moving(x_m=0.12, gap_m=0.05 - 0.02 * math.sin(math.radians(60)), time_to_impact_s=1e9, speed_mps=-0.02)
    assert braked["plate"] == pytest.approx(first["plate"], abs=2e-3)
    assert struck["plate"] == pytest.approx(first["plate"], abs=2e-3)


def test_the_ground_passes_and_legs_and_body_turn_as_the_tick_says(moving):
    still, bent = moving(), moving(x_m=0.3, bogie_rad=0.2)
    x, z = bent["wheels"][0]
    assert (x - 0.3, z) == pytest.approx(
        (0.2 + 0.2 * math.cos(0.2) - 0.16 * math.sin(0.2), 0.3 - 0.2 * math.sin(0.2) - 0.16 * math.cos(0.2)), abs=2e-3
    )
    assert bent["wheels"][1][0] - still["wheels"][1][0] == pytest.approx(0.3, abs=1e-3)
    pitched = moving(x_m=0.3, pitch_rad=0.1)
    assert pitched["wheels"][1][1] == pytest.approx(0.14 * math.cos(0.1) - 0.4 * math.sin(0.1), abs=2e-3)


def test_on_a_slope_the_wheels_stand_on_the_drawn_ground(server, request):
    server.answers["config"] |= {"obstacle": None, "ground": {"pitch_deg": 10.0, "roll_deg": 0.0}}
    pitch = math.radians(10.0)
    show = request.getfixturevalue("moving")
    x, z = 0.3 * math.cos(pitch), 0.3 * math.sin(pitch)
    view = show(x_m=x, pitch_rad=-pitch, pose__z=z)
    over = [z * math.cos(pitch) - x * math.sin(pitch) for x, z in view["wheels"]]
    assert over == pytest.approx([RADIUS_M] * 6, abs=2e-3)
    assert view["rotation"] == pytest.approx(-10.0)


def test_on_a_slope_the_plate_is_inclined_to_the_slope_and_touched_at_gap_zero(server, request):
    pitch = math.radians(10.0)
    c, s = math.cos(pitch), math.sin(pitch)
    stand = {"at_m": [0.0, 0.0, 0.0], "axes": [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]}
    server.answers["config"] |= {
        "obstacle": {"angle_deg": 60.0, "distance_m": 0.5, "stands": [stand, stand]},
        "ground": {"pitch_deg": 10.0, "roll_deg": 0.0},
    }
    show = request.getfixturevalue("moving")
    view = show(x_m=0.3 * c, pitch_rad=-pitch, pose__z=0.3 * s, gap_m=0.0)
    assert apart(view) == pytest.approx(0.0, abs=2e-3)
    assert plate_deg(view) == pytest.approx(70.0, abs=0.2)
    assert apart(show(x_m=0.2 * c, pitch_rad=-pitch, pose__z=0.2 * s, gap_m=0.1)) == pytest.approx(0.1, abs=2e-3)


def test_on_a_scan_the_profile_of_both_tracks_is_that_of_the_models(server, request):
    relief = make_height_map(0.1 * np.random.default_rng(3).standard_normal((12, 9)), -1.1, -0.8, 0.2)
    shown = {
        "x_m": relief.x,
        "y_m": relief.y,
        "spacing_m": relief.spacing,
        "steepest": relief.steepest,
        "height_m": relief.height.tolist(),
    }
    server.answers["config"] |= {"obstacle": None, "ground": {"kind": "scan", "map": shown}}
    show = request.getfixturevalue("moving")
    show(x_m=0.05, pose__y=0.02, pose__z=0.1)
    page = request.getfixturevalue("shown").pages[-1]
    tracks = {
        which: [
            tuple(map(float, point.split(",")))
            for point in page.locator(f"#side .{which}").get_attribute("points").split()
        ]
        for which in ("ground", "far-ground")
    }
    wheels = [wheel["y_m"] for wheel in server.answers["config"]["rover"]["wheels"]]
    for which, y in (("ground", min(wheels)), ("far-ground", max(wheels))):
        inside = [(x, -z) for x, z in tracks[which] if relief.extent[0] < x < relief.extent[1]]
        assert len(inside) > 20
        assert [z for _, z in inside] == pytest.approx(
            [surface(uneven_ground(relief), x, y + 0.02)[0] for x, _ in inside], abs=5e-4
        )
    heights = page.locator("#top path.mark").get_attribute("d")
    assert heights.count("M") > 20


def test_a_profile_is_drawn_as_its_line_with_marks_on_it_and_its_edges_from_above(server, request):
    line = [[-100.0, 0.0], [0.6, 0.0], [0.6, 0.1], [1.0, 0.1], [1.25, 0.0]]
    server.answers["config"] |= {"obstacle": None, "ground": {"kind": "firm", "profile_m": line}}
    show = request.getfixturevalue("moving")
    show(x_m=0.5, pose__z=0.05)
    page = request.getfixturevalue("shown").pages[-1]
    points = page.locator("#side .ground").get_attribute("points").split()
    assert [[float(x), -float(z)] for x, z in (point.split(",") for point in points)] == line
    marks = page.evaluate("""() => [...document.querySelectorAll("#side .mark")].map((one) => (
        ["x1", "y1", "y2"].map((name) => Number(one.getAttribute(name)))))""")
    x, top, low = np.array(marks).T
    assert x.min() < 0.5
    assert x.max() > 1.25
    beside = np.abs(x - 0.6) > 1e-3  # at an upright face either end is right
    assert -top[beside] == pytest.approx(np.interp(x[beside], *np.array(line).T), abs=1e-9)
    assert ((low - top > 0.02) == (x < 1.25)).all()  # behind the line there is no ground
    assert page.locator("#top path.ground").get_attribute("d").count("M") == 3


REPLAYED = {
    "t_s": [4.0, 4.01, 4.02, 4.03, 4.04], "impact_s": 4.02,
    "columns": {
        "force_sum_N": [0.0, 0.0, 40.0, 80.0, 20.0], "gap_m": [0.002, 0.001, 0.0, -0.001, 0.0],
        "speed_mps": [0.1, 0.1, 0.1, 0.0, -0.05], "joint_angle_rad/left_bogie": [0.0] * 5,
        **{f"pose/{one}": [0.0] * 5 for one in ("y", "z", "qx", "qy", "qz")}, "pose/qw": [1.0] * 5,
        "pose/x": [0.4, 0.401, 0.402, 0.403, 0.402],
        **{f"turned_rad/{name}": [0.0, 0.1, 0.2, 0.3, 0.4] for name in WHEELS},
        **{f"normal_force_N/{name}": [150.0] * 5 for name in WHEELS},
    },
}  # fmt: skip
DONE = {
    "name": "run_1", "state": "done", "experiment": "impact", "angle_deg": 40.0, "accepted": True, "reasons": [],
    "numbers": {}, "files": [], "time": "2026-11-25T09:00:00+00:00",
}  # fmt: skip


@pytest.fixture
def replayed(server, shown):
    """A page on which a run of another angle is being replayed."""
    config = server.answers["config"]
    server.answers["runs"] = [DONE]
    geometry = {"rover": config["rover"], "obstacle": {"angle_deg": 40.0, "distance_m": 0.5}, "ground": {}}
    server.answers["runs/run_1/record/replay"] = REPLAYED | geometry
    page = shown()
    page.locator("#run-list button").click()
    page.get_by_role("button", name="Replay", exact=True).click()
    page.locator("#replay-time").wait_for()
    return page


def scrub(page, t_s):
    page.evaluate(f"s = document.getElementById('replay-time'); s.value = {t_s}; s.dispatchEvent(new Event('input'))")


def test_a_replay_shows_the_rover_and_the_traces_at_one_cursor_and_says_that_it_is_none_live(replayed):
    assert "REPLAY of run_1: the drawings are not live." in replayed.locator("#replay").inner_text()
    scrub(replayed, 4.0301)
    until(
        lambda: replayed.locator("#replay output").inner_text() == "t = 4.0301 s, impact +10.1 ms; force_sum_N 80.0000"
    )
    until(lambda: side_view(replayed)["shift"] == pytest.approx(0.403, abs=1e-4))  # drawn after the words
    view = side_view(replayed)
    assert view["turned"][0] == pytest.approx(math.degrees(0.3), abs=0.1)
    assert plate_deg(view) == pytest.approx(40.0, abs=0.2)
    replayed.locator("#replay-time").press("ArrowLeft")
    until(lambda: "t = 4.0200 s, impact +0.0 ms" in replayed.locator("#replay output").inner_text())
    assert [one for one in replayed.problems if "/record/" not in one] == []  # it has no force samples


def test_a_replay_shows_the_loads_of_its_run_and_is_not_grey(server, replayed):
    server.show_ticks(**{f"normal_force_N__{name}": [234.0] for name in WHEELS})
    assert cells(replayed, "#loads tbody")[0][2:] == ["150", "17"]
    replayed.wait_for_selector("body.old")
    for place in ("#side", "#loads"):
        assert (
            replayed.evaluate(f"getComputedStyle(document.querySelector('{place}').closest('.views, #loads')).filter")
            == "none"
        )
    replayed.get_by_role("button", name="Back to live").click()
    until(lambda: cells(replayed, "#loads tbody")[0][2] == "234")


def test_a_replay_shows_the_newest_frame_of_the_camera_at_the_cursor(server, replayed):
    assert replayed.locator("figure.camera").is_hidden()  # nothing has filmed it
    replayed.get_by_role("button", name="Back to live").click()
    server.answers["runs/run_1/camera/frames"] = [[4.005, "000000.jpg"], [4.015, "000001.jpg"], [4.035, "000002.jpg"]]
    replayed.get_by_role("button", name="Replay", exact=True).click()
    shown = "document.querySelector('figure.camera')?.innerText"
    until(lambda: replayed.evaluate(shown) == "Camera, frame 1 of 3, taken at 4.005 s")
    scrub(replayed, 4.0301)
    until(lambda: replayed.evaluate(shown) == "Camera, frame 2 of 3, taken at 4.015 s")
    assert replayed.locator("figure.camera img").get_attribute("src") == "/api/runs/run_1/camera/000001.jpg"


# Has the page remember each time of the replay that it shows.
TIMES = """() => {
    window.times = [];
    const words = document.querySelector("#replay output");
    const look = () => times.push(Number(words.textContent.match(/^t = ([0-9.]+) s/)[1]));
    new MutationObserver(look).observe(words, { subtree: true, characterData: true, childList: true });
}"""
# A round counts 0.2 s of the operator's time at most, however late it comes.
LONGEST_ROUND_S = 0.2


def test_a_replay_plays_a_hundred_times_slower_and_stops_at_the_end(replayed):
    until(lambda: replayed.locator("#replay output").text_content().startswith("t = 4.0000"))
    replayed.evaluate(TIMES)
    replayed.select_option("#replay-speed", "0.01")
    replayed.get_by_role("button", name="Play", exact=True).click()
    until(lambda: replayed.evaluate("times.length") > 2)
    times = [4.0, *replayed.evaluate("times")]
    steps = [after - before for before, after in itertools.pairwise(times)]
    assert 0 < min(steps) <= max(steps) <= 0.01 * LONGEST_ROUND_S + 1e-4  # rounded as shown
    replayed.select_option("#replay-speed", "1")
    until(lambda: replayed.evaluate("times.at(-1)") == pytest.approx(4.04))
    replayed.get_by_role("button", name="Play", exact=True).wait_for()


def test_a_run_that_begins_ends_the_replay_and_so_does_the_operator(replayed, server):
    server.show(running=True)
    assert replayed.locator("#replay-time").count() == 0
    assert side_view(replayed)["shift"] == pytest.approx(0.0, abs=1e-4)
    server.show(running=False)
    replayed.get_by_role("button", name="Replay", exact=True).click()
    replayed.get_by_role("button", name="Back to live").click()
    until(lambda: replayed.locator("#replay").text_content() == "")
    until(lambda: plate_deg(side_view(replayed)) == pytest.approx(60.0, abs=0.2))


def test_a_run_without_motion_is_said_to_have_none(server, shown):
    server.answers["runs"] = [DONE]
    page = shown()
    page.locator("#run-list button").click()
    page.get_by_role("button", name="Replay", exact=True).click()
    page.get_by_text("run_1 cannot be replayed: its record has no motion of the rover.").wait_for()
