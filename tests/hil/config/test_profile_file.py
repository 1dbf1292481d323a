"""Profiles as CSV files: with or without a header, and refused with what is wrong."""

from __future__ import annotations

import pytest

from hil.config import ConfigError, load_config
from hil.config.loading import shipped_files


@pytest.fixture
def config_with(tmp_path):
    text = shipped_files("sim_follow")["sim_follow.yaml"]

    def make(content):
        (tmp_path / "profile.csv").write_text(content, encoding="utf-8")
        (tmp_path / "mine.yaml").write_text(text.replace("profiles/petersen_run_1.csv", "profile.csv"))
        return tmp_path / "mine.yaml"

    return make


@pytest.mark.parametrize("header", ["", "time_s,speed_mps\n", "t,v\n"])
def test_a_profile_is_two_columns_with_or_without_a_header(config_with, header):
    config = load_config(config_with(f"{header}0,0\n2,0.05\n\n20,0.05\n"))
    assert config.follow.profile == ((0.0, 0.0), (2.0, 0.05), (20.0, 0.05))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("0,0\n1,0.1,3\n", "a row of 3 columns"),
        ("0,0\n1,fast\n", "could not convert"),
        ("0,0\n1,nan\n", "not finite"),
    ],
)
def test_what_is_no_profile_is_refused_with_its_row(config_with, content, found):
    with pytest.raises(ConfigError, match=rf"follow\.profile: .*{found}.*allowed: a readable CSV file of two columns"):
        load_config(config_with(content))


def test_a_missing_file_is_refused_with_the_place_where_it_was_looked_for():
    with pytest.raises(ConfigError, match=r"follow\.profile: .*No such file.*looked for .*nowhere\.csv"):
        load_config("sim_follow", ["follow.profile=nowhere.csv"])


def test_a_copied_config_comes_with_its_profile():
    assert shipped_files("sim_follow")["profiles/petersen_run_1.csv"].startswith("time_s,speed_mps")
