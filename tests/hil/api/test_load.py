"""`hil.load` and `Config.replace`: values by key, checked as a file is; nothing else changes a config."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

import hil

CONFIG = hil.load("sim_impact")


def problems_of(values, source="sim_impact"):
    with pytest.raises(hil.ConfigError) as caught:
        hil.load(source, values)
    return [str(problem) for problem in caught.value.problems]


def test_without_values_it_is_the_config_of_the_file():
    assert hil.load("sim_impact").sha256() == CONFIG.sha256()


@pytest.mark.parametrize(
    ("value", "found"),
    [(70, 70.0), (np.float64(70.5), 70.5), (np.int64(70), 70.0), (np.float32(70.5), 70.5), (np.array(70.0), 70.0)],
)
def test_a_number_of_python_or_numpy_is_that_number(value, found):
    assert hil.load("sim_impact", {"trial.angle_deg": value}).trial.angle_deg == found


def test_a_section_keeps_the_keys_that_a_mapping_does_not_name():
    config = hil.load("sim_impact", {"trial.start_distance_m": 0.4, "trial": {"angle_deg": 70}})
    assert (config.trial.angle_deg, config.trial.start_distance_m) == (70.0, 0.4)
    assert config.replace({"trial": {"speed_mps": 0.05}}).trial == config.trial.model_copy(update={"speed_mps": 0.05})


def test_an_empty_mapping_turns_on_a_section_that_is_null():
    assert hil.load("sim_impact").trial.hold_line is None
    assert hil.load("sim_motion", {"trial.hold_line": {}}).trial.hold_line is not None


def test_a_list_may_be_a_tuple_a_range_or_an_array():
    wanted = {"rig": "simulated", "realtime.cpus": (0, 1)}
    assert tuple(hil.load("sim_impact", wanted).realtime.cpus) == (0, 1)
    assert tuple(hil.load("sim_impact", {"realtime.cpus": range(2)}).realtime.cpus) == (0, 1)
    assert tuple(hil.load("sim_impact", {"realtime.cpus": np.arange(2)}).realtime.cpus) == (0, 1)


def test_another_rover_leaves_out_what_the_file_says_of_its_own():
    config = hil.load("sim_impact", {"rover": {"type": "parametric", "parametric": {"wheelbase_m": 1.2}}})
    assert config.rover.type == "parametric"
    assert config.rover_model().mass > 100.0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"trial.angle_deg": 500}, "trial.angle_deg: found 500; allowed: a number 10 to 90"),
        (
            {"trial": {"angel_deg": 70}},
            "trial.angel_deg: found an unknown key with the value 70; did you mean angle_deg?",
        ),
        ({"trial.angle_deg.x": 1}, "trial.angle_deg.x: found trial.angle_deg is 60; allowed: a section before"),
        ({"daq.channels.9.up_m": 1}, "daq.channels.9.up_m: found '9' in daq.channels; allowed: a place in that list"),
        ({"trial.angle_deg": object}, "trial.angle_deg: found <class 'object'> of type type; allowed: a number, text"),
        ({3: 4}, "3: found no key; allowed: a dotted key"),
        ({"trial.angle_deg": float("nan")}, "trial.angle_deg: found nan; allowed: a number 10 to 90"),
    ],
)
def test_an_error_names_the_key_what_was_found_and_what_is_allowed(values, said):
    (problem,) = problems_of(values)
    assert problem.startswith(said)
    assert "--set" not in problem


def test_all_problems_are_told_at_once():
    assert len(problems_of({"trial.angle_deg": 500, "soil": {"rebound": 2.0}, "no_such_key": 1})) == 3


def test_a_seed_for_a_real_rig_is_refused_by_its_key():
    said = problems_of({"seed": 3}, "mars_dome")
    assert [line for line in said if line.startswith("seed: found 3; allowed: no seed")]


def test_replace_makes_another_config_and_leaves_this_one():
    other = CONFIG.replace({"trial.angle_deg": 50, "seed": 4})
    assert (other.trial.angle_deg, other.seed, CONFIG.trial.angle_deg, CONFIG.seed) == (50.0, 4, 60.0, 1)
    assert other.sha256() == hil.load("sim_impact", {"trial.angle_deg": 50, "seed": 4}).sha256()
    with pytest.raises(hil.ConfigError, match="allowed: a number 10 to 90"):
        CONFIG.replace({"trial.angle_deg": 500})


def test_no_copy_takes_a_value_that_is_not_allowed():
    with pytest.raises(ValidationError, match="less than or equal to 90"):
        CONFIG.trial.model_copy(update={"angle_deg": 500.0})
    with pytest.raises(ValueError, match="devices"):  # real, and no device
        CONFIG.model_copy(update={"rig": "real"})
    assert CONFIG.trial.model_copy(update={"angle_deg": 50.0}).angle_deg == 50.0
    assert copy.deepcopy(CONFIG) == CONFIG == pickle.loads(pickle.dumps(CONFIG))


@pytest.mark.parametrize("name", ["angle_deg", "speed_mps"])
def test_no_assignment_changes_a_config(name):
    with pytest.raises(AttributeError, match=r"config\.replace"):
        setattr(CONFIG.trial, name, 50.0)
    with pytest.raises(AttributeError, match=r"config\.replace"):
        CONFIG.seed = 3


def test_a_config_that_shares_sections_with_another_is_equal_to_itself():
    other = CONFIG.replace({"trial.angle_deg": 50})
    sharing = other.sharing(CONFIG)
    assert sharing == other
    assert sharing.rover is CONFIG.rover
    assert sharing.trial is other.trial


def test_a_config_is_shown_in_a_line_and_by_its_keys_in_a_notebook():
    assert repr(CONFIG) == str(CONFIG) == "<Config sim_impact: impact, rover rcp, rig simulated, lockstep, seed 1>"
    assert "angle_deg: 60" in CONFIG._repr_html_()


def test_a_file_of_the_user_comes_before_a_shipped_config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sim_impact").write_text(CONFIG.to_yaml().replace("name: sim_impact", "name: mine"), encoding="utf-8")
    assert hil.load("sim_impact").name == "mine"


@pytest.mark.parametrize("use", [hil.run, hil.operate, lambda name: hil.sweep(name, {"seed": [1]})])
def test_a_config_is_given_by_its_name_too_and_one_that_is_nearly_right_is_named(use):
    with pytest.raises(hil.ConfigError, match=r"did you mean sim_impact or"):
        use("sim_impac")
