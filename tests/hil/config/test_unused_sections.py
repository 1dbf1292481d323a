"""A config has the sections that its experiment uses: others are refused, and make no difference to a fingerprint."""

from __future__ import annotations

import pytest
import yaml
from pydantic import Field

from hil.config import Config, ConfigError, load_config, parse_config
from hil.config.schema import experiments
from hil.config.schema.capture import DriveConfig
from hil.config.schema.experiments import ExperimentSections, users_of

SECTIONS = frozenset(ExperimentSections.model_fields)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("sim_impact", {"trial", "quality"}),
        ("sim_step", {"crossing"}),
        ("sim_slope", {"slope", "normal_force"}),
        ("sim_capture", {"capture"}),
    ],
)
def test_an_effective_config_has_the_sections_of_its_experiment_alone(name, used):
    config = load_config(name)
    written = yaml.safe_load(config.to_yaml())
    assert written.keys() & SECTIONS == used
    assert parse_config(config.to_yaml(), name) == config


def test_every_section_is_used_by_the_experiment_that_has_its_name():
    for section in SECTIONS - {"trial", "quality"}:
        assert section in users_of(section)
    assert users_of("quality") == ("impact",)
    assert set(users_of("normal_force")) == {"normal_force", "drawbar", "slope"}


def test_sections_of_other_experiments_are_refused_with_the_experiments_that_use_them():
    with pytest.raises(ConfigError) as refused:
        load_config("sim_impact", ["drive.steps=[]", "normal_force.speed_mps=0.1"])
    assert {problem.key: "drawbar" in problem.allowed for problem in refused.value.problems} == {
        "drive": False,
        "normal_force": True,
    }


def test_another_experiment_brings_its_section_and_leaves_that_of_the_file_out():
    config = load_config("sim_impact", ["experiment=jog", "jog.seconds=0.3"])
    assert set(config.model_dump()) & SECTIONS == {"jog", "trial"}
    assert load_config("sim_step", ["experiment=drive"]).drive == DriveConfig()


def test_a_setting_of_the_experiment_before_goes_with_it_and_one_of_no_experiment_is_refused():
    """An operator jogs a rig whose drive was given on the command line."""
    config = load_config("sim_impact", ["experiment=drive", "drive.steps=[]", "experiment=jog", "jog.seconds=0.3"])
    assert set(config.model_dump()) & SECTIONS == {"jog", "trial"}
    with pytest.raises(ConfigError, match="walk: found a section of experiment walk"):
        load_config("sim_impact", ["walk.steps=[]", "experiment=jog"])


def test_an_experiment_that_is_added_changes_no_fingerprint(monkeypatch):
    class Sections(ExperimentSections):
        toy: DriveConfig = Field(default_factory=DriveConfig)

    class WithToy(Config, Sections):
        pass

    before = load_config("sim_impact")
    monkeypatch.setattr(experiments, "ExperimentSections", Sections)
    after = WithToy.model_validate(before.model_dump(mode="json"))
    assert after.toy == DriveConfig()
    assert after.sha256() == before.sha256()


def test_a_record_with_all_sections_and_retired_keys_is_read(monkeypatch):
    """Earlier records also have `extensions`, the sections of installed experiments that did not run."""
    for module in ("hil.config.checked_config", "hil.config.unchecked_config"):
        monkeypatch.setattr(f"{module}.installed_names", lambda _: ["spin"])
    config = load_config("sim_impact")
    old = yaml.safe_load(config.to_yaml()) | {"jog": {"seconds": 2.0}, "notify": {"command": [], "timeout_s": 30.0}}
    old["soil"]["raster"] = None
    old["extensions"] = {"spin": {"seconds": 0.5}}
    assert parse_config(yaml.safe_dump(old), "record") == config


def test_a_retired_key_that_does_something_is_refused_with_what_to_do():
    with pytest.raises(ConfigError) as refused:
        load_config("sim_impact", ["notify.command=[mail-me]", "soil.raster={file: a.png}"])
    assert {problem.key: problem.allowed for problem in refused.value.problems} == {
        "soil.raster": "no such key any more. Delete it, and outline its areas as soil.regions",
        "notify": "no such key any more. Delete it, and let the shell that starts `hil` start the program after it",
    }
