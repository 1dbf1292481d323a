"""Climbs in time, of the page of the climb study: its tables are of its file, and climbs of the file come out again."""

from __future__ import annotations

import re
import sys

import pytest

from .page_commands import lines_of

PAGE = "docs/reproduce/climb_study.md"
# An obstacle's row of the file that is simulated again.
AGAIN = (("step_0.1_fast", 3), ("step_0.25", 5), ("plate_30", 2))


@pytest.fixture
def study(reproducing):
    import dynamic_climb_study

    return dynamic_climb_study


@pytest.fixture
def table(study, root):
    return study.read(root / study.FILE)


@pytest.mark.slow
def test_the_tables_and_the_picture_of_climbs_in_time_are_those_of_the_file(study, pages, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["dynamic_climb_study.py", "--quick", "--out", str(tmp_path)])
    study.main()
    made = (tmp_path / PAGE).read_text(encoding="utf-8")
    intervals = re.compile(r"(?<=\d) \([^)]*\)")  # --quick resamples less often
    for name in ("dynamic_friction", "dynamic_answer", "dynamic_agreement"):
        then, now = ([intervals.sub("", line) for line in lines_of(text, name)] for text in (pages[PAGE], made))
        assert now == then
    assert (tmp_path / "docs" / "images" / "reproduce_dynamic_climb_study.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.parametrize(("block", "place"), AGAIN)
def test_a_climb_simulated_again_is_that_of_the_file(study, table, block, place):
    row = {name: column[place] for name, column in study.some(table, block).items()}
    posture = study.Posture(*(float(row[name]) for name in study.Posture._fields))
    from dynamic_climb import Climber  # in the folder of the study

    climber = Climber(posture, study.BLOCKS[block].obstacle)
    found = climber.climb(study.REFERENCE)
    assert found.climbed == bool(row["climbed"])
    # processors round differently, and a hit is over in a few steps
    assert found.energy_J == pytest.approx(row["energy_J"], rel=0.02)
    assert found.hit_N == pytest.approx(row["hit_N"], rel=0.05)
    assert climber.climb(1.03 * row["friction"]).climbed
    assert not climber.climb(row["too_little"] / 1.03).climbed


def test_over_a_thousand_climbs_were_simulated_and_need_what_slow_ones_need(study, table):
    assert table["climbs"].sum() >= 1000
    for block in ("step_0.1", "step_0.25"):
        here = study.some(table, block)
        assert study.correlation(here["slow_friction"], here["friction"]) > 0.8


def test_least_energy_at_first_contact_is_no_choice_for_a_climb_in_time_either(study, table):
    for block in ("step_0.1", "step_0.25"):
        here = study.some(table, block)
        _, low, high = study.with_interval(study.correlation, 100, here["T_c_J"], here["friction"])
        assert low < high < 0.2
        assert study.regret(here["T_c_J"], here["friction"]) > 0.1
