"""What a config must not contain, and the errors for it."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from hil.config import Config, ConfigError, load_config


def refused(*overrides: str) -> dict[str, tuple[str, str]]:
    """(found, allowed) by key of the refused values."""
    with pytest.raises(ConfigError) as caught:
        load_config("sim_impact", overrides)
    return {problem.key: (problem.found, problem.allowed) for problem in caught.value.problems}


def test_every_error_is_reported_at_once() -> None:
    problems = refused(
        "trial.angle_deg=100",
        "drives.on_cut=stop",
        "daq.channels.1.sensitivity_mVpN=abc",
        "soil.exponent=.nan",
        "nonsense=1",
        "no value",
        "record.after_s=9",
    )
    assert set(problems) == {
        "trial.angle_deg",
        "drives.on_cut",
        "daq.channels.1.sensitivity_mVpN",
        "soil.exponent",
        "nonsense",
        "--set no value",
        "trial.settle_s",  # does not fit record.after_s: reported although other keys are wrong
    }
    assert problems["trial.angle_deg"] == ("100", "a number 10 to 90")
    assert problems["drives.on_cut"] == ("'stop'", "coast or brake")


def test_every_problem_is_printed_with_key_found_and_allowed() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("sim_impact", ["trial.angle_deg=100", "loop.rate_hz=1.5"])
    assert str(caught.value).splitlines() == [
        "config sim_impact: 2 problems",
        "  trial.angle_deg: found 100; allowed: a number 10 to 90",
        "  loop.rate_hz: found 1.5; allowed: a whole number 100 to 4000",
    ]


def test_a_misspelt_key_is_answered_with_the_likely_one() -> None:
    assert refused("trial.angel_deg=60")["trial.angel_deg"][1] == "did you mean angle_deg?"
    assert refused("trial.speed=0.05")["trial.speed"][1] == "did you mean speed_mps?"


def test_a_key_that_is_like_none_is_answered_with_all() -> None:
    assert refused("drives.port=COM3")["drives.port"][1].startswith("one of gain, ")  # not: did you mean power?


def test_the_length_of_a_list_is_said_in_items() -> None:
    assert refused("drive.steps=5")["drive.steps"] == ("5", "a list of 0 to 1000 items")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "key", "words"),
    [
        (["daq.rate_hz=30001"], "daq.block_ms", "whole number of samples"),
        (["daq.block_ms=6"], "daq.block_ms", "limits.daq_age_ms"),
        (["record.after_s=2.5"], "trial.settle_s", "record.after_s"),
        (["trial.timeout_s=4"], "trial.timeout_s", "trial.start_distance_m"),
        (["trial.start_distance_m=0.01"], "trial.ramp_s", "before its full speed"),
        (["trial.speed_mps=0.2"], "trial.speed_mps", "limits.wheel_speed_radps"),
        (["drives.gear_friction_Nm=41"], "drives.gear_friction_Nm", "below drives.torque_limit_Nm, 40 Nm"),
        (["trial.ramp_s=0.05"], "trial.ramp_s", "limits.wheel_acceleration_radps2"),
        (["daq.channels.0.up_m=-0.0508"], "daq.channels", "triangle"),
        (["daq.channels.0.name=lower_left"], "daq.channels", "once"),
        (["daq=null"], "daq", "force sensors detect the impact"),
        (["detector.threshold_N=500"], "detector.threshold_N", "daq.range_V"),
        (["soil.exponent=1.75", "soil.rebound=0.9"], "soil.rebound", "soil.exponent"),
        (["soil.rut=remembered", "wheel.variant=tire_2"], "soil.rut", "wheel.variant"),
        (["soil.rut=remembered", "ground.kind=firm"], "soil.rut", "ground.kind"),
        (["wheel.variant=xu", "ground.kind=rigid"], "wheel.variant", "ground.kind"),
        (["wheel.grousers=21"], "wheel.grousers", "even"),
        (["wheel.grousers=2"], "wheel.grousers", "from 4 on"),
        (["ground.exponent=1.5"], "ground.exponent", "ground.law"),
        (["obstacle.law=kelvin_voigt", "obstacle.exponent=1.5"], "obstacle.exponent", "obstacle.law"),
        (["ground.kind=none", "trial.start_distance_m=0.03"], "trial.start_distance_m", "ground.kind none"),
        (
            ["ground.kind=firm", "ground.friction=0", "trial.start_distance_m=0.03"],
            "trial.start_distance_m",
            "ground.kind firm",
        ),
        (["rover.type=exomars", "trial.speed_mps=0.13"], "trial.speed_mps", "0.1425 m"),
        (["rover.type=exomars", "trial.ramp_s=0.1"], "trial.ramp_s", "limits.wheel_acceleration_radps2"),
        (["plant.ground_pitch_deg=5"], "plant.ground_pitch_deg", "0: an obstacle stands on the nominal ground"),
        (["ground.roll_deg=-5", "motion={}"], "ground.roll_deg", "level ground with an obstacle and instruments"),
        (
            ["soil.rut=remembered", "soil.regions=[{corners_m: [[0, 0], [1, 0], [1, 1]], stiffness: 1.0e6}]"],
            "soil.regions",
            "none with wheel.variant flexible or xu, soil.rut remembered",
        ),
        (
            ["soil.regions=[{corners_m: [[0, 0], [1, 0], [1, 1]], stiffness: 1.0e6, exponent: 1.5, rebound: 0.9}]"],
            "soil.regions.0.rebound",
            "at most 0.8",
        ),
        (["soil.regions=[{corners_m: [[0, 0], [1, 0]], stiffness: 1.0e6}]"], "soil.regions.0.corners_m", "3"),
        (["obstacle.plate={centre_up_m: 0, height_m: 0.2}"], "obstacle.plate.centre_up_m", "at least 0.1, half of"),
        (
            ["daq.rate_hz=10000", "daq.ring_hz=1000", "daq.ring_damping=0.8"],
            "daq.ring_damping",
            "at most 0.796 at 1000 Hz with 10000 samples a second",
        ),
        (
            ["daq.rate_hz=10000", "plant.vibration.structure_hz=1000", "plant.vibration.structure_damping=2"],
            "plant.vibration.structure_damping",
            "at most 0.796",
        ),
        (["rover.type=juno", "rover.juno.chassis_height_m=0.3"], "rover.juno", "chassis_height is 0.3 m"),
        (
            ["cylinders.joints=[left_bogie, front_left_drive]"],
            "cylinders.joints",
            "left_bogie, right_bogie, rear_bogie of",
        ),
        (
            ["cylinders.joints=[rear_bogie]", "rover.type=rocker_bogie"],
            "cylinders.joints",
            "of rover.type rocker_bogie",
        ),
        (["cylinders.joints=[left_bogie, left_bogie]"], "cylinders.joints", "each joint once"),
        (["cylinders.rod_mm=40"], "cylinders.rod_mm", "below 38.1, the bore"),
        (["cylinders.friction={coulomb_N: 16}"], "cylinders.friction.coulomb_N", "at most 15"),
        (["cylinders.bottle={}"], "cylinders.bottle", "a bottle with compressible"),
        (
            ["cylinders.linkage={}", "cylinders.stroke_mm=500"],
            "cylinders.linkage",
            "the arm is 0, but it is at 0.664 m",
        ),
        (["cylinders.linkage={retracted_m: 0.34}"], "cylinders.linkage.retracted_m", "its stroke is 0.34 to 0.4924 m"),
        (["cylinders.linkage={clevis_along_m: -0.25, post_along_m: -0.25}"], "cylinders.linkage", "ahead"),
        (["rover.wheel_width_m=0.95"], "rover", "wheel_width is 0.95 m, allowed: below"),
        (["rover.type=exomars_like", "rover.exomars_like.track_m=0.2"], "rover.exomars_like", "wheels of both sides"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(overrides: list[str], key: str, words: str) -> None:
    problems = refused(*overrides)
    assert set(problems) == {key}
    assert words in problems[key][1]


@pytest.mark.parametrize(
    "overrides",
    [
        ["soil.exponent=1.75", "soil.rebound=0.9", "wheel.variant=tire_1"],  # its compaction resistance stays above 0
        ["ground.kind=rigid", "trial.start_distance_m=0.03", "trial.ramp_s=0.2"],  # driven, not sliding
        ["soil.rut=remembered", "wheel.variant=tire_3"],
        ["rover.exomars.track_m=1.31", "rover.type=juno", "rover.body_mass_kg=60"],  # of other types, at their defaults
        ["cylinders.joints=[]", "cylinders.regulators=each"],  # no cylinders
        ["cylinders.joints=[rear_bogie]", "cylinders.linkage={}", "cylinders.friction={}", "cylinders.ways=extend"],
    ],
)
def test_values_that_do_fit_together_are_taken(overrides: list[str]) -> None:
    load_config("sim_impact", overrides)


@pytest.mark.parametrize(
    ("overrides", "key", "words"),
    [
        (["rover.type=juno", "rover.body_mass_kg=70"], "rover.body_mass_kg", "type juno .*rover.juno.chassis_mass_kg"),
        (["rover.body_mass_kg=70", "rover.type=exomars"], "rover.body_mass_kg", "use rover.exomars.body_mass_kg$"),
        (["rover.type=juno", "rover.added_mass_kg=5"], "rover.added_mass_kg", "use rover.payload.mass_kg$"),
        (["rover.juno.wheel_mass_kg=3"], "rover.juno.wheel_mass_kg", "type rcp .*use rover.wheel_mass_kg$"),
        (["rover.juno={chains: false}"], "rover.juno.chains", "use a key of rover$"),
        (["rover={type: exomars, leg_mass_kg: 3}"], "rover.leg_mass_kg", "rover.exomars.steer_mass_kg"),
    ],
)
def test_a_key_of_another_rover_is_refused_with_the_key_to_use(overrides: list[str], key: str, words: str) -> None:
    problems = refused(*overrides)
    assert set(problems) == {key}
    assert re.search(words, problems[key][1])


def test_a_file_with_a_key_of_another_rover_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mixed.yaml"
    file.write_text("name: mixed\nrig: simulated\nrover: {type: juno, added_mass_kg: 22.7}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"rover\.added_mass_kg: found 22\.7; allowed: 0\.0, its default"):
        load_config(file)


def test_a_fit_is_not_judged_by_a_key_that_is_wrong_itself() -> None:
    assert set(refused("trial.speed_mps=abc", "trial.timeout_s=1")) == {"trial.speed_mps"}


def test_a_duplicate_key_is_refused_with_its_path_and_line(tmp_path: Path) -> None:
    file = tmp_path / "twice.yaml"
    file.write_text("name: twice\nrig: simulated\ntrial:\n  angle_deg: 60\n  angle_deg: 70\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"trial\.angle_deg: found the key a second time, line 5"):
        load_config(file)


def test_name_and_rig_are_needed(tmp_path: Path) -> None:
    file = tmp_path / "empty.yaml"
    file.write_text("", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert [problem.key for problem in caught.value.problems] == ["name", "rig"]


def test_a_missing_file_is_answered_with_the_shipped_names() -> None:
    with pytest.raises(ConfigError, match=r"no such file.*sim_impact"):
        load_config("no_such_config")


@pytest.mark.parametrize("value", ["60", float("nan"), float("inf"), True, None, 91])
def test_a_config_built_in_python_is_as_strict(value: object) -> None:
    with pytest.raises(ValidationError, match="angle_deg"):
        Config.model_validate({"name": "x", "rig": "simulated", "trial": {"angle_deg": value}})


def test_a_config_cannot_be_changed() -> None:
    config = load_config("sim_impact")
    with pytest.raises(AttributeError, match=r"config\.replace"):
        config.trial.angle_deg = 70.0  # type: ignore[misc]


def test_regions_are_refused_under_wheels_whose_model_has_one_soil() -> None:
    corners = "soil.regions=[{corners_m: [[0, 0], [1, 0], [1, 1]], stiffness: 1.0e6}]"
    with pytest.raises(ConfigError, match=r"soil\.regions: found 1 regions; allowed: none with wheel\.variant .*xu"):
        load_config("sim_xu", [corners])
