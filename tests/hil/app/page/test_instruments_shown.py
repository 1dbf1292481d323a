"""What the page gets to know of the instruments of motion, and that its subscription has room for their series."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest
from scipy.stats import chi2

from hil.app.page.content import page_content, series
from hil.config import load_config
from hil.config.rig import Rig
from hil.operator.page.app import STATIC
from hil.operator.page.messages import MOST_BYTES, MOST_SERIES

ALL = ["motion={}", "imu={}", "joints={}"]


def test_the_bound_of_an_innovation_is_that_which_one_good_reading_in_ten_thousand_exceeds():
    shown = {one["role"]: one for one in page_content(Rig(load_config("sim_impact", ALL)), None)["instruments"]}
    values = {"motion": 6, "imu": 6, "joints": 3}
    assert {role: len(one["channels"]) for role, one in shown.items()} == {"motion": 7, "imu": 6, "joints": 3}
    for role, number in values.items():
        assert shown[role]["bound"] == pytest.approx(chi2.ppf(0.9999, number) / number)


def test_axes_are_matrices_that_turn_a_reading_into_the_rig():
    (motion,) = page_content(Rig(load_config("sim_impact", ["motion={turn_deg: [0, 0, 90]}"])), None)["instruments"]
    np.testing.assert_allclose(np.array(motion["axes"]) @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-12)
    msgspec.json.encode(motion)


def test_a_rig_without_instruments_has_none():
    assert page_content(Rig(load_config("sim_impact")), None)["instruments"] == []


def test_every_channel_of_a_reading_has_its_unit():
    config = load_config("sim_impact", ALL)
    units = {one["name"]: one["unit"] for one in series(config.layout, config.section)}
    assert [units[f"motion_reading/{name}"] for name in ("x_m", "qw")] == ["m", "1"]
    assert [units[f"imu_reading/{name}"] for name in ("ax_mps2", "wz_radps")] == ["m/s^2", "rad/s"]
    assert units["joints_reading/left_bogie"] == "rad"
    assert [units[f"pose_sd/{name}"] for name in ("x", "yaw")] == ["m", "rad"]


@pytest.mark.parametrize("name", ["sim_impact", "sim_normal_force"])
def test_all_series_that_the_page_shows_fit_into_one_subscription(name):
    config = load_config(name, ALL)
    names = [one["name"] for one in series(config.layout, config.section)]
    assert len(names) <= MOST_SERIES
    assert len(msgspec.json.encode({"type": "subscribe", "series": names})) < MOST_BYTES


def test_the_page_takes_as_many_series_as_its_server():
    (said,) = re.findall(r"MOST_SUBSCRIBED = (\d+)", (STATIC / "page" / "traces.js").read_text())
    assert int(said) == MOST_SERIES
