"""`hil configs --keys`: each section as YAML, with its defaults and what each key takes."""

from __future__ import annotations

import pytest
import yaml

from hil.config import Config
from hil.config.error_messages import resolved, whole_schema
from hil.config.operator_settings import kinds_of, section_yaml

SECTIONS = [key for key, value in whole_schema()["properties"].items() if list(kinds_of(resolved(value)))]
DEFAULT = Config(name="default", rig="simulated")


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_is_printed_as_yaml_that_can_be_pasted(section):
    printed = section_yaml(section)
    assert all(
        " # " in line or line.lstrip(" -")[0] == "#" or line.endswith(":") for line in printed.splitlines() if line
    )
    content = yaml.safe_load(printed)[section]
    default = getattr(DEFAULT, section)
    if default is not None and not {"needed", "see below", "none"} & set(map(str, content.values())):
        assert type(default).model_validate(content) == default


def test_a_section_inside_another_and_the_sections_of_drivers_are_printed():
    assert yaml.safe_load(section_yaml("trial.hold_line"))["hold_line"]["length_m"] == 0.1
    assert section_yaml("devices.drives").count("driver: ") == 3
    assert yaml.safe_load(section_yaml("daq.channels"))["channels"][0]["bias_V"] == 0


def test_a_key_that_holds_sections_is_printed_with_where_their_keys_are():
    devices, drives = section_yaml("devices").splitlines(), section_yaml("devices.drives").splitlines()
    shown = next(line for line in devices if line.startswith("  drives:"))
    drivers = "cia402 or roboclaw or roboteq"
    assert f"a section with driver: {drivers} or null; its keys: hil configs --keys devices.drives" in shown
    (*_, controllers) = [line for line in drives if line.startswith("  controllers:")]
    printed = section_yaml(controllers.partition("hil configs --keys ")[2])
    assert "channel_1: needed" in printed


def test_a_section_that_is_not_there_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"trial\.colour: no section; those of trial: hold_line"):
        section_yaml("trial.colour")
