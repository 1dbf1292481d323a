"""Ground of a different height under each wheel, by a constant offset."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hil.config import load_config
from hil.config.loading import ConfigError
from hil.config.model_parameters import nominal_rig
from models.rover import rcp
from models.terrain import slope_of
from models.terrain.surface import clearance

HEIGHTS = (0.05, 0.0, 0.0, -0.02, 0.0, 0.0)


def test_heights_of_zero_are_even_ground():
    assert slope_of(0.0, 0.0, (0.0,) * 6) is None
    assert slope_of(0.1, 0.0, (0.0,) * 6).wheel_height is None


@pytest.mark.parametrize("pitch", [0.0, 0.2])
def test_a_raised_wheel_has_so_much_less_clearance(pitch):
    even, raised = slope_of(pitch, 1e-9), slope_of(pitch, 1e-9, HEIGHTS)
    for wheel, height in enumerate(HEIGHTS):
        place = (0.3, -0.2, 0.6)
        assert clearance(raised, place, wheel) == pytest.approx(clearance(even, place, wheel) - height, abs=1e-12)


def test_a_height_beyond_half_a_metre_is_refused():
    with pytest.raises(ValueError, match=r"wheel_height\[1\] is 0\.7"):
        slope_of(0.0, 0.0, (0.0, 0.7))


def test_heights_of_a_config_are_those_of_the_rig():
    given = ["experiment=drive", f"ground.wheel_height_m={list(HEIGHTS)}"]
    rig = nominal_rig(load_config("sim_impact", given))
    assert rig.ground.terrain.wheel_height.tolist() == list(HEIGHTS)
    assert nominal_rig(load_config("sim_impact")).ground.terrain is None


def test_heights_that_do_not_fit_the_rover_or_stand_before_an_obstacle_are_refused():
    with pytest.raises(ConfigError, match=r"found 2 heights; allowed: null, or 6: one for each"):
        load_config("sim_impact", ["experiment=drive", "ground.wheel_height_m=[0.05, 0]"])
    with pytest.raises(ConfigError, match=r"wheel_height_m: found 6 heights; allowed: null: an obstacle"):
        load_config("sim_impact", [f"ground.wheel_height_m={list(HEIGHTS)}"])
    ground = nominal_rig(load_config("sim_impact")).ground
    with pytest.raises(ValueError, match="2 wheel heights, allowed: none, or one for each of 6 wheels"):
        replace(ground, wheel_height=(0.1, 0.0)).under(rcp())
