"""Plans: the shipped one is the thesis's, a wrong one is refused with all its problems, expansion is a function."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hil.campaign.plan import OFFSET, expand, load_plan, shipped_plans
from hil.config import ConfigError


def problems(text: str, plan_file) -> dict[str, str]:
    with pytest.raises(ConfigError) as error:
        load_plan(plan_file(text))
    return {problem.key: problem.allowed for problem in error.value.problems}


def test_the_thesis_plan_has_its_51_trials_27_hard_and_24_soft_at_40_to_90_degrees() -> None:
    trials = expand(load_plan("thesis"), "sim_impact")
    assert Counter(trial.settings["ground"] for trial in trials) == {"hard": 27, "soft": 24}
    by_angle = Counter(trial.settings["angle_deg"] for trial in trials)
    assert sorted(by_angle) == [40, 50, 60, 70, 80, 90]
    assert min(by_angle.values()) >= 8
    assert {trial.config.ground.kind for trial in trials} == {"firm", "soil"}
    assert {trial.config.wheel.grousers for trial in trials} == {22}
    assert {trial.config.rover.added_mass_kg for trial in trials} == {22.7}


def test_the_laboratory_plan_has_the_trials_of_the_thesis_and_adds_what_goes_wrong() -> None:
    thesis, laboratory = load_plan("thesis"), load_plan("laboratory")
    assert laboratory.model_copy(update={"name": thesis.name, "set": {}}) == thesis
    ideal, real = expand(thesis, "sim_impact"), expand(laboratory, "sim_impact")
    assert [trial.settings for trial in real] == [trial.settings for trial in ideal]
    assert {trial.config.trial.release for trial in ideal} == {"automatic"}
    assert {trial.config.trial.release for trial in real} == {"operator"}
    assert all(trial.config.obstacle.plate is not None for trial in real)
    assert all(trial.config.plant.spread.heading_deg > 0.0 for trial in real)
    page = (Path(__file__).parents[3] / "docs/explanation/trials-that-go-wrong.md").read_text(encoding="utf-8")
    assert all(key in page for key in laboratory.set), "the page names everything that goes wrong"


def test_every_shipped_plan_is_found_by_each_of_its_names_and_lists_every_key() -> None:
    for name, text in shipped_plans().items():
        plan = load_plan(name)
        assert plan == load_plan(f"rig_configs/plans/{name}.yaml") == load_plan(f"{name}.yaml")
        for key in type(plan).model_fields:
            assert f"\n{key}:" in f"\n{text}", f"{name} does not list {key}"


def test_all_problems_of_a_plan_are_reported_at_once(plan_file) -> None:
    found = problems(
        "name: x\nangles_deg: [30, 95]\nrepeats: 0\nfoo: 1\n"
        "soils: {a: {repeat: 1}}\nwheels: [{kind: square}]\norder: any",
        plan_file,
    )
    assert set(found) == {
        "angles_deg.0", "angles_deg.1", "repeats.0", "foo", "soils.a.repeat", "wheels.0.kind", "order"
    }  # fmt: skip
    assert found["angles_deg.0"].startswith("40 to 90; under 40 degrees")
    assert found["soils.a.repeat"] == "did you mean repeats?"


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_plan_is_refused(text: str, plan_file) -> None:
    with pytest.raises(ConfigError, match="found an empty plan"):
        load_plan(plan_file(text))


def test_a_plan_without_angles_or_with_one_twice_or_repeats_that_do_not_fit_is_refused(plan_file) -> None:
    assert "this key is needed" in problems("name: x", plan_file)["angles_deg"]
    assert set(problems("name: x\nangles_deg: [50, 50]\nrepeats: [1, 2, 3]", plan_file)) == {"angles_deg", "repeats"}
    assert set(problems("name: x\nangles_deg: [50]\nset: {seed: 3}\nvary: {soil.cohesion_Pa: []}", plan_file)) == {
        "set.seed",
        "vary.soil.cohesion_Pa",
    }


def test_a_plan_that_is_not_there_names_the_shipped_ones() -> None:
    with pytest.raises(ConfigError, match=r"plan nowhere: 1 problem\n.*thesis"):
        load_plan("nowhere")


def test_keys_and_values_that_the_config_refuses_are_reported_once_for_all_trials(plan_file) -> None:
    text = "name: x\nangles_deg: [50, 60]\nrepeats: 3\nset: {ground.knd: firm, trial.ramp_s: 100}"
    with pytest.raises(ConfigError) as error:
        expand(load_plan(plan_file(text)), "sim_impact")
    assert sorted(problem.key for problem in error.value.problems) == ["ground.knd", "trial.ramp_s"]


def test_added_mass_is_refused_with_a_rover_that_has_no_place_for_it(plan_file) -> None:
    text = "name: x\nangles_deg: [50]\nrovers: [{variant: exomars, added_mass_kg: 3}]"
    with pytest.raises(
        ConfigError, match=r"rover\.added_mass_kg: found 3\.0; allowed: 0\.0, .* use rover\.payload\.mass_kg"
    ):
        expand(load_plan(plan_file(text)), "sim_impact")


@pytest.mark.slow
def test_a_plan_is_the_product_of_all_it_lists(plan_file) -> None:
    text = """
name: x
angles_deg: [50, 60]
repeats: [2, 1]
soils: {hard: {set: {ground.kind: firm}}, soft: {repeats: 3}}
rovers: [{added_mass_kg: 0}, {added_mass_kg: 10}]
wheels: [{kind: smooth}, {kind: bumpers}, {kind: grousers, number: 20, offset_deg: 3}]
speeds_mps: [0.05, 0.07]
vary: {soil.damping_spm: [1.0, 2.0]}
"""
    trials = expand(load_plan(plan_file(text)), "sim_impact")
    assert len(trials) == (2 + 1 + 3 + 3) * 2 * 3 * 2 * 2
    assert [trial.number for trial in trials] == list(range(1, len(trials) + 1))
    for trial in trials:
        config, settings = trial.config, trial.settings
        assert config.ground.kind == {"hard": "firm", "soft": "soil"}[settings["ground"]]
        assert config.rover.added_mass_kg == settings["added_mass_kg"]
        assert config.daq.layout == ("bumper" if settings["wheels"] == "bumpers" else "triangle")
        assert config.wheel.grousers == (20 if settings["wheels"] == "grousers" else 0)
        assert config.trial.speed_mps == settings["trial.speed_mps"]
        assert config.soil.damping_spm == settings["soil.damping_spm"]


@pytest.mark.slow
def test_expansion_gives_the_same_trials_seeds_and_order_again_and_others_with_another_seed() -> None:
    def shown(seed: int) -> list[object]:
        trials = expand(load_plan("thesis"), "sim_impact", (), seed)
        return [(trial.number, trial.attempt(attempt)[0]) for trial in trials for attempt in (1, 2)]

    first, again, other = shown(1), shown(1), shown(2)
    assert first == again
    seeds = [settings["seed"] for _, settings in first]
    assert len(set(seeds)) == len(seeds) == 102
    assert not set(seeds) & {settings["seed"] for _, settings in other}
    assert [one["angle_deg"] for _, one in first] != [one["angle_deg"] for _, one in other]


@pytest.mark.slow
def test_a_random_offset_of_the_grousers_is_within_a_pitch_another_in_each_attempt_and_in_the_config() -> None:
    offsets = []
    for trial in expand(load_plan("thesis"), "sim_impact"):
        for attempt in (1, 2):
            settings, config = trial.attempt(attempt)
            assert config.wheel.grouser_offset_deg == settings[OFFSET]
            assert config.seed == settings["seed"]
            offsets.append(settings[OFFSET])
    assert len(set(offsets)) > 95
    assert -360 / 44 <= min(offsets) < -6
    assert 6 < max(offsets) <= 360 / 44


def test_grounds_are_kept_together_where_the_plan_says_so_and_listed_order_is_that_of_the_plan(plan_file) -> None:
    grounds = [trial.settings["ground"] for trial in expand(load_plan("thesis"), "sim_impact")]
    assert grounds == ["hard"] * 27 + ["soft"] * 24
    text = "name: x\nangles_deg: [90, 50]\nrepeats: 2\norder: listed"
    angles = [trial.settings["angle_deg"] for trial in expand(load_plan(plan_file(text)), "sim_impact")]
    assert angles == [90, 90, 50, 50]


def test_a_real_rig_has_no_seeds_and_its_layout_cannot_be_changed_by_a_plan(plan_file) -> None:
    trial = expand(load_plan("thesis"), "mars_dome")[0]
    settings, config = trial.attempt(1)
    assert settings["seed"] is None
    assert settings[OFFSET] is None
    assert config == trial.config
    with pytest.raises(ConfigError, match=r"devices\.daq\.inputs"):
        expand(load_plan(plan_file("name: x\nangles_deg: [50]\nwheels: [{kind: bumpers}]")), "mars_dome")


BUMPERS = "name: x\nangles_deg: [50]\nwheels: [{kind: bumpers}]\n"
SENSITIVITY = "daq.channels.{}.sensitivity_mVpN={}"


def test_bumpers_keep_what_the_config_states_of_its_sensors(plan_file) -> None:
    stated = [SENSITIVITY.format(number, 7.5) for number in range(3)]
    (trial,) = expand(load_plan(plan_file(BUMPERS)), "sim_impact", stated)
    assert [one.sensitivity_mVpN for one in trial.config.daq.channels] == [7.5, 7.5]


def test_bumpers_have_the_sensors_that_their_plan_states(plan_file) -> None:
    channels = "[{name: front_left, sensitivity_mVpN: 9.0}, {name: front_right, sensitivity_mVpN: 8.0}]"
    (trial,) = expand(load_plan(plan_file(BUMPERS + f"set: {{daq.channels: {channels}}}")), "sim_impact")
    assert [one.sensitivity_mVpN for one in trial.config.daq.channels] == [9.0, 8.0]


def test_bumpers_ask_for_their_sensors_where_those_of_the_config_differ(plan_file) -> None:
    with pytest.raises(ConfigError, match=r"daq\.channels of the bumpers in set of the plan"):
        expand(load_plan(plan_file(BUMPERS)), "sim_impact", [SENSITIVITY.format(1, 7.5)])
