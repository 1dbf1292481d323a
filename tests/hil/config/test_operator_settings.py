"""Which keys an operator may change between two runs, and that they are checked as the command line checks."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from hil.config import Config, ConfigError, load_config, shipped_configs
from hil.config.loading import shipped_files
from hil.config.operator_settings import MOST_CHANGED, ChangeableKeys, Settings, unit_of
from hil.config.schema.experiment_section import ExperimentSection


def settings(name="sim_impact", *overrides, seed=None):
    return Settings(
        lambda more, other: load_config(name, [*overrides, *more], seed if other is None else other),
    )


def refused(one, values):
    """The lines with which a change is refused, after which everything is as it was."""
    before = one.config, dict(one.changed)
    with pytest.raises(ConfigError) as error:
        one.with_values(values)
    assert (one.config, one.changed) == before
    return [str(problem) for problem in error.value.problems]


def taken(one, values):
    one.config, one.changed = one.with_values(values)
    return one


@pytest.mark.parametrize(
    ("key", "value"),
    [("trial.angle_deg", 70.0), ("ground.kind", "firm"), ("wheel.grousers", 24), ("ground.rolling", False)],
)
def test_a_change_makes_the_config_that_the_command_line_makes(key, value):
    text = str(value).lower()
    assert taken(settings(), {key: value}).config == load_config("sim_impact", [f"{key}={text}"])


def test_a_seed_is_that_of_the_option_and_comes_before_the_one_of_the_command_line():
    assert taken(settings(seed=3), {"seed": 9}).config == load_config("sim_impact", seed=9)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("trial.angle_deg", 100), ("trial.angle_deg", "steep"), ("trial.angle_deg", None), ("trial.colour", 1),
        ("ground.kind", "mud"), ("ground.rolling", 1), ("wheel.grousers", 23), ("trial.start_distance_m", 5),
        ("trial.speed_mps", 1e-05), ("seed", None),
    ],
)  # fmt: skip
def test_a_refusal_has_the_words_of_the_command_line(key, value):
    text = "null" if value is None else str(value)
    with pytest.raises(ConfigError) as error:
        load_config("sim_impact", [f"{key}={text}"])
    assert refused(settings(), {key: value}) == [str(problem) for problem in error.value.problems]


def test_a_seed_is_refused_on_a_real_rig_as_the_command_line_refuses_it():
    with pytest.raises(ConfigError) as error:
        load_config("mars_dome", seed=5)
    assert refused(settings("mars_dome"), {"seed": 5}) == [str(problem) for problem in error.value.problems]
    assert "seed" not in ChangeableKeys(load_config("mars_dome")).values()


def test_values_that_fit_only_together_are_changed_together_and_none_of_them_alone():
    one = settings()
    assert "trial.timeout_s" in refused(one, {"trial.start_distance_m": 5})[0]
    far = taken(one, {"trial.start_distance_m": 5, "trial.timeout_s": 100}).config.trial
    assert (far.start_distance_m, far.timeout_s) == (5.0, 100.0)
    assert len(refused(one, {"trial.angle_deg": 5, "trial.speed_mps": "fast", "ground.kind": "firm"})) == 2


def test_what_is_changed_is_what_differs_from_the_start():
    one = taken(taken(settings("sim_impact", "trial.angle_deg=50"), {"trial.angle_deg": 70}), {"seed": 4})
    assert one.changed == {"trial.angle_deg": 70.0, "seed": 4}
    assert taken(one, {"trial.angle_deg": 50}).changed == {"seed": 4}


def test_a_jog_is_of_the_config_as_it_is_now():
    one = taken(settings(), {"trial.angle_deg": 70, "seed": 4})
    jog = one.vary(["experiment=jog"])
    assert (jog.experiment, jog.trial.angle_deg, jog.seed) == ("jog", 70.0, 4)


FORBIDDEN = (
    "operator.endpoint", "operator.console_lost", "operator.page.address", "devices.drives.port",
    "limits.tilt_deg", "limits.impact_speed_mps", "detector.threshold_N", "drives.on_cut", "rig", "clock",
    "name", "experiment", "rover.type", "telemetry.endpoint", "daq.layout", "cylinders.joints",
    "cylinders.ways", "cylinders.calibration", "trial.release", "record.sensors", "loop.rate_hz",
    "realtime.spin_share", "plant.substep_us", "trial", "obstacle.plate", "", "trial.angle_deg=5 #",
    "trial..angle_deg", "drive.steps", "extensions.other.key", "normal_force.torque_limit_Nm",
    "trial.__class__", "trial.model_config", "wheel_height_m", "ground.wheel_height_m",
    "ground.wheel_height_m.0",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("key", FORBIDDEN)
def test_a_key_that_decides_about_devices_limits_or_access_is_refused(key):
    assert len(refused(settings(), {key: 1})) == 1
    assert len(refused(settings("mars_dome"), {key: "x"})) == 1


def test_a_file_is_not_read_for_a_key_that_is_refused(monkeypatch):
    one = settings()
    monkeypatch.setattr("hil.config.loading.read_yaml", lambda *_: pytest.fail("read"))
    refused(one, {"devices.daq.calibration": "/etc/passwd"})


def test_a_value_with_which_the_record_has_another_shape_is_refused():
    one = settings("sim_drawbar")
    assert one.config.layout.open_loop
    assert "start hil operate again" in refused(one, {"drawbar.duty": None})[0]


def test_so_many_settings_may_differ_and_no_more():
    one = settings()
    rows = ChangeableKeys(one.config).rows(ChangeableKeys(one.given).values())
    numbers = [
        row for row in rows if row["kind"] == "number" and row["key"].startswith(("soil", "quality", "obstacle"))
    ]
    values = {row["key"]: row["now"] * 1.001 for row in numbers if row["now"] and not row["nullable"]}
    most = dict([*values.items()][: MOST_CHANGED - 1])
    taken(one, {**most, "seed": 7})
    assert len(one.changed) == MOST_CHANGED
    assert str(MOST_CHANGED) in refused(one, {"trial.angle_deg": 70})[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_configs())
def test_each_setting_of_each_shipped_config_has_all_that_a_form_needs_and_its_own_value_passes(name):
    one = settings(name)
    rows = ChangeableKeys(one.config).rows(ChangeableKeys(one.given).values())
    assert [row["key"] for row in rows] == [*ChangeableKeys(one.config).values()]
    assert {row["kind"] for row in rows} <= {"number", "integer", "choice", "text", "flag"}
    for row in rows:
        assert row["words"], row
        assert row["name"], row
        assert row["allowed"], row
        assert row["unit"] or row["kind"] not in ("number", "integer"), row
        assert bool(row["choices"]) == (row["kind"] == "choice")
        assert row["now"] == row["given"]
    values = {row["key"]: row["now"] for row in rows}
    config, changed = one.with_values(values)
    assert (config.sha256(), changed) == (one.config.sha256(), {})


def sections(kind, found=None):
    """All classes of sections that a model holds."""
    found = set() if found is None else found
    found.add(kind)
    for field in kind.model_fields.values():
        for inner in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(inner, type) and issubclass(inner, BaseModel) and inner not in found:
                sections(inner, found)
    return found


def test_a_key_that_may_be_changed_is_a_key_of_its_section_and_by_default_none_is():
    for section in sections(Config):
        for name in section.between_runs:
            assert name == "*" or name in section.model_fields, (section, name)
    assert ExperimentSection.between_runs == ()


@pytest.mark.parametrize(
    ("key", "words", "unit"),
    [
        ("speed_mps", "fast", "m/s"),
        ("stiffness", "k [N/m^2]", "N/m^2"),
        ("share", "of it", "1"),
        ("damping_spm", "", "s/m"),
    ],
)
def test_a_unit_stands_in_brackets_or_at_the_end_of_the_key(key, words, unit):
    assert unit_of(key, words) == unit


FILES = {
    "config": (
        "sim_follow.yaml",
        "torque_limit_Nm: 400",
        "torque_limit_Nm: 390",
        "torque_limit_Nm is 390.0 there",
    ),
    "named file": ("profiles/petersen_run_1.csv", "22,0.08", "22,0.06", "follow.profile is "),
}


@pytest.mark.parametrize("kind", FILES)
def test_what_was_opened_is_what_runs_and_what_stands_on_disk_is_shown(tmp_path, kind):
    """Of the config and of every file that it names: all are read by the same function."""
    (tmp_path / "profiles").mkdir()
    for path, text in shipped_files("sim_follow").items():
        (tmp_path / path).write_text(text)
    one = settings(tmp_path / "sim_follow.yaml")
    assert one.differences() == ""
    name, opened, written, shown = FILES[kind]
    file = tmp_path / name
    text = file.read_text()
    file.write_text(text.replace(opened, written))
    values = {"follow.slip": 0.5}
    assert taken(one, values).config == one.given.replace(values)
    assert one.vary(["follow.slip=0.5"]) == one.config
    assert shown in one.differences()
    assert f"changed on disk after it was opened: {file} (" in one.differences()
    file.unlink()
    assert taken(one, {"follow.slip": 0.4}).config == one.given.replace({"follow.slip": 0.4})
    assert str(file) in one.differences()
    file.write_text(text)
    assert one.differences() == ""
