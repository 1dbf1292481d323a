"""A table of set-points over time: read as it stands, embedded in the config, refused in words."""

from __future__ import annotations

import pytest

from hil.config import ConfigError, load_config
from hil.config.files import MOST_CHARACTERS, read_table
from hil.config.loading import parse_config, shipped_files

HEAD = "time_s,speed_mps\n"


@pytest.fixture
def config_with(tmp_path):
    text = shipped_files("sim_stimulus")["sim_stimulus.yaml"]

    def make(content, *overrides):
        (tmp_path / "mine.csv").write_text(content, encoding="utf-8")
        (tmp_path / "mine.yaml").write_text(text.replace("stimuli/sweep_and_steps.csv", "mine.csv"))
        return load_config(tmp_path / "mine.yaml", overrides)

    return make


def test_the_effective_config_holds_the_table_and_needs_no_file(config_with, tmp_path):
    config = config_with("\ufeff# steps\r\n time_s , front_left_mps,speed_mps\r\n0,0,0\r\n\r\n1,0.02,0.05\r\n2,0,0\r\n")
    (tmp_path / "mine.csv").unlink()
    again = parse_config(config.to_yaml(), "effective")
    assert again.sha256() == config.sha256()
    assert again.stimulus.content.times_s == (0.0, 1.0, 2.0)
    assert again.stimulus.speeds_mps(again.layout)[1] == (0.02, 0.05, 0.05, 0.05)


def test_a_table_is_also_given_as_text_in_the_config(config_with):
    given = config_with("", f'stimulus.table="{HEAD}0,0\\n1,0.02\\n2,0\\n"'.replace("\n", "\\n"))
    assert given.stimulus.length_s == 2.0


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", "no rows"),
        ("0,0\n1,0\n", "the header is '0,0'"),
        ("time_s\n0\n1\n", "one column or more"),
        ("time_s,speed_mps,speed_mps\n0,0,0\n1,0,0\n", "each named once"),
        (HEAD + "0,0\n", "1 rows of numbers"),
        (HEAD + "0,0\n1,\n2,0\n", "row 3: speed_mps is empty"),
        (HEAD + "0,0\n1\n2,0\n", "row 3 has 1 columns"),
        (HEAD + "0,0\n1,nan\n2,0\n", "row 3: speed_mps is 'nan'"),
        (HEAD + "0,0\n1,fast\n2,0\n", "row 3: speed_mps is 'fast'"),
        (HEAD + "1,0\n2,0\n", "the first time is 1 s"),
        ("# steps\n" + HEAD + "0,0\n2,0.01\n2,0\n", "row 5: time_s 2 follows 2"),
        (HEAD + "0,0\n4000,0\n", "it lasts 4000 s"),
        (HEAD + "0,0\n" * MOST_CHARACTERS, "allowed are 150000"),
        ("time_s,spede_mps\n0,0\n1,0\n", "a column spede_mps; allowed: time_s and speed_mps, front_left_mps"),
        ("time_s,left_extend\n0,0\n1,0\n", "a column left_extend"),
        (HEAD + "0,0.01\n1,0\n", "0.01 m/s first and 0 m/s last; allowed: 0 in both"),
        (HEAD + "0,0\n1,0.02\n", "0 m/s first and 0.02 m/s last"),
        (HEAD + "0,0\n9,9\n20,0\n", r"9 m/s; allowed: at most .* \(limits.wheel_speed_radps"),
        (HEAD + "0,0\n5,0\n5.001,0.02\n6,0\n", "20 m/s in a second from 5 s on; allowed: at most"),
    ],
)
def test_what_is_no_table_for_this_rig_is_refused_with_the_place_and_what_is_allowed(config_with, content, found):
    with pytest.raises(ConfigError, match=rf"stimulus\.table: found (mine\.csv: |speed_mps: )?.*{found}") as refused:
        config_with(content)
    assert "allowed: " in str(refused.value)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("0,0,0\n1,1,1\n2,0,0\n", "left: both ways powered at once"),
        ("0,0,0\n1,0.5,0\n2,0,0\n", "left_extend: 0.5; allowed: 0, off, or 1"),
        ("0,0,0\n1,0,1\n2,0,1\n", "left_retract: 1 in its last row"),
    ],
)
def test_valves_are_on_or_off_one_way_at_a_time_and_off_at_the_end(rows, found):
    table = f"time_s,left_extend,left_retract\n{rows}".replace("\n", "\\n")
    with pytest.raises(ConfigError, match=found):
        load_config("sim_impact", ["experiment=stimulus", f'stimulus.table="{table}"'])


def test_held_rows_may_step_and_a_missing_file_is_refused_with_its_place(config_with):
    config_with(HEAD + "0,0\n5,0.02\n5.001,0.06\n6,0\n", "stimulus.interpolation=held")
    with pytest.raises(ConfigError, match=r"stimulus\.table: .*No such file.*looked for .*nowhere\.csv"):
        load_config("sim_stimulus", ["stimulus.table=nowhere.csv"])


def test_a_copied_config_comes_with_its_table():
    text = shipped_files("sim_stimulus")["stimuli/sweep_and_steps.csv"]
    assert read_table(text).times_s[-1] == 24.0
