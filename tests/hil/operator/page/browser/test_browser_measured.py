"""The panel of measured motion: readings in the rig's axes beside the estimates, and the state of each instrument."""

from __future__ import annotations

import math

import pytest
from scipy.spatial.transform import Rotation

from hil.app.page.content import page_content
from hil.config import load_config
from hil.config.rig import Rig

from .scripted_server import TALL, until

pytestmark = pytest.mark.slow
MS = 1_000_000
TURN_DEG, BODY_DEG, ORIGIN_M, POINT_M = (1.0, -2.0, 30.0), (3.0, 5.0, -20.0), (1.0, 2.0, 0.1), (0.2, 0.1, 0.4)
SETTINGS = [
    f"motion={{turn_deg: {list(TURN_DEG)}, body_turn_deg: {list(BODY_DEG)}, origin_m: {list(ORIGIN_M)}, "
    f"point_m: {list(POINT_M)}}}",
    "imu={turn_deg: [0, 0, 90]}",
    "joints={encoders: [{joint: left_bogie, zero_deg: 10, reversed: true}]}",
]
# The rover as it truly is, in the rig's axes.
PLACE_M, TURNS_DEG, BOGIE_DEG = (0.31, -0.04, 0.02), (2.0, -3.0, 8.0), 6.0


def rotation(turns_deg):
    return Rotation.from_euler("xyz", turns_deg, degrees=True)


def reading(place_m=PLACE_M):
    """What the instrument outside reads of it: worked out the other way round than the page does."""
    base, own = rotation(TURNS_DEG), rotation(TURN_DEG).inv()
    point = own.apply(base.apply(POINT_M) + place_m - ORIGIN_M)
    quaternion = (own * base * rotation(BODY_DEG)).as_quat()
    names = ("x_m", "y_m", "z_m", "qx", "qy", "qz", "qw")
    return {f"motion_reading__{name}": float(one) for name, one in zip(names, (*point, *quaternion), strict=True)}


def tick(t_s=5.0, age_s=0.01, source=1, innovation=1.0, place_m=PLACE_M, **more):
    """One tick; all instruments are of that age."""
    t_ns = round(t_s * 1e9)
    base = rotation(TURNS_DEG)
    gravity = base.inv().apply([0.0, 0.0, -1.0])
    values = {"t_ns": t_ns, "speed_mps": 0.05, "speed_sd_mps": 0.002, "joints_reading__left_bogie": math.radians(4.0)}
    values |= {f"pose__{name}": one for name, one in zip("xyz", place_m, strict=True)}
    values |= {f"pose__q{name}": float(one) for name, one in zip("xyzw", base.as_quat(), strict=True)}
    values |= {f"pose_sd__{name}": 0.001 for name in "xyz"} | {
        f"gravity__{name}": one for name, one in zip("xyz", gravity, strict=True)
    }
    values |= {
        "joint_angle_rad__left_bogie": math.radians(BOGIE_DEG),
        "slip__front_left": 0.125,
        "slip_sd__front_left": 0.01,
    }
    for role in ("motion", "imu", "joints"):
        values |= {
            f"{role}_t_ns": t_ns - round(age_s * 1e9),
            f"source__{role}": source,
            f"innovation__{role}": innovation,
        }
    return values | reading(place_m) | more


def show(server, *ticks):
    server.show_ticks(**{name: [one[name] for one in ticks] for name in ticks[0]})


@pytest.fixture
def page(server, shown):
    server.answers["config"] = page_content(Rig(load_config("sim_impact", SETTINGS)), None) | {"now": {}}
    one = shown(viewport=TALL)
    until(lambda: any("innovation/motion" in message.get("series", ()) for message in server.received))
    return one


def row(page, name):
    """Measured, estimated and twice the standard deviation of a value, as shown."""
    return (
        page.locator("#compared tr")
        .filter(has=page.get_by_role("rowheader", name=name, exact=True))
        .locator("td")
        .all_inner_texts()
    )


def state(page, name):
    return page.locator("#sources tr").filter(has_text=name).locator("td").first.inner_text()


def test_readings_are_shown_in_the_rigs_axes_beside_the_estimates(server, page):
    show(server, tick())
    assert row(page, "x, ahead") == ["0.3100", "0.3100", "0.0020", "m"]
    assert row(page, "y, to port") == ["-0.0400", "-0.0400", "0.0020", "m"]
    assert row(page, "z, up")[:2] == ["0.0200", "0.0200"]
    assert row(page, "roll, from gravity")[:2] == ["2.00", "2.00"]
    assert row(page, "pitch, from gravity")[:2] == ["-3.00", "-3.00"]
    assert row(page, "yaw")[:2] == ["8.00", "8.00"]
    assert row(page, "left bogie")[:2] == ["6.00", "6.00"]
    assert row(page, "slip, front left") == ["-", "12.5", "2.0", "%"]
    assert not page.problems


def test_the_mark_in_the_side_view_is_where_the_measured_point_is(server, page):
    show(server, tick())
    mark = page.locator("#side .measured-mark")
    x, _, z = rotation(TURNS_DEG).apply(POINT_M) + PLACE_M
    assert float(mark.get_attribute("cx")) == pytest.approx(x, abs=1e-3)
    assert -float(mark.get_attribute("cy")) == pytest.approx(z, abs=1e-3)


def test_what_is_not_used_says_so_and_what_is_stale_looks_stale(server, page):
    line = page.locator("#sources tr").filter(has_text="outside")
    measured = page.locator("#compared tr").filter(has_text="x, ahead").locator("td").first
    for source, age_s, words, gone in (
        (1, 0.01, "used", False), (2, 0.01, "rejected", False), (3, 0.01, "LEFT OUT, since 0 s", True),
        (4, 0.01, "STALE", True), (1, 3.0, "STALE", True), (1, 0.01, "used", False),
    ):  # fmt: skip
        show(server, tick(source=source, age_s=age_s))
        assert state(page, "outside") == words
        assert ("gone" in (line.get_attribute("class") or "")) is gone
        stale = words == "STALE"
        assert ("gone" in (measured.get_attribute("class") or "")) is stale
        classes = page.locator("#side .measured-mark").get_attribute("class").split()
        assert classes == ["measured-mark", *(["stale"] if stale else [])]


def test_how_long_an_instrument_is_left_out_is_counted(server, page):
    show(server, tick(source=3, t_s=5.0))
    assert state(page, "outside").startswith("LEFT OUT")
    show(server, tick(source=3, t_s=9.0))
    assert state(page, "outside") == "LEFT OUT, since 4 s"


def test_the_measured_speed_is_the_change_of_the_measured_place(server, page):
    ticks = [tick(t_s=5.0 + 0.1 * i, place_m=(0.3 + 0.006 * i, 0.0, 0.0)) for i in range(40)]
    show(server, *ticks)
    assert row(page, "speed") == ["0.0600", "0.0500", "0.0040", "m/s"]


def test_a_rig_without_instruments_has_no_such_panel(server, shown):
    one = shown()
    assert one.locator("#motion").is_hidden()
    assert one.locator("#motion-link").is_hidden()
    assert one.locator(".measured-mark").count() == 0
