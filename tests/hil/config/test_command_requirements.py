"""What commands need of a config: met by the shipped configs that have it, refused by all others in one form."""

from __future__ import annotations

import pytest

from hil.config import ConfigError, load_config, shipped_configs
from hil.config.command_requirements import (
    FRONT_PAIR,
    NO_RAILS,
    OPEN_GROUND,
    SIMULATED,
    TRACTION,
    WHEELS,
    ground_of,
    refuse_unfit,
)
from hil.config.rig import Rig


@pytest.fixture(scope="module")
def configs():
    return [load_config(name) for name in shipped_configs()]


def test_a_rover_of_every_shipped_config_has_the_wheels_that_its_model_has(configs):
    for config in configs:
        names = config.rover_parameters().build().wheel_names
        assert WHEELS.met(config) == bool(names)
        assert FRONT_PAIR.met(config) == ({"front_left", "front_right"} <= set(names))
        assert NO_RAILS.met(config) != config.rover_parameters().tree().guided
    assert {WHEELS.met(config) for config in configs} == {FRONT_PAIR.met(config) for config in configs} == {True, False}


def test_open_ground_and_traction_are_what_the_models_make_of_a_config(configs):
    for config in configs:
        nominal = Rig(config).nominal
        assert OPEN_GROUND.met(config) == (nominal.obstacle is None)
        if not config.section.captures:
            assert TRACTION.met(config) == (nominal.launch_speed == 0.0)


def test_all_that_is_missing_is_said_at_once_with_what_to_do():
    with pytest.raises(ConfigError) as refused:
        refuse_unfit(
            load_config("sim_capture"), "activities", WHEELS, SIMULATED, OPEN_GROUND, TRACTION, ground_of("soil")
        )
    assert str(refused.value).splitlines() == [
        "activities of config sim_capture: 3 problems",
        "  rover.type: found space_arm; allowed: a rover with wheels; set it, or choose another config (hil configs)",
        "  ground.kind: found none; allowed: soil, scan, firm or nonsmooth with ground.friction above 0, or rigid with "
        "ground.rolling; set it, or choose another config (hil configs)",
        "  ground.kind: found none; allowed: soil; set it, or choose another config (hil configs)",
    ]


def test_a_config_that_has_all_is_let_through():
    refuse_unfit(load_config("sim_juno"), "energy", WHEELS, FRONT_PAIR, NO_RAILS, OPEN_GROUND, TRACTION, SIMULATED)
