"""The page of the climb study: its tables are of its file, and rows of the file come out again."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from .page_commands import lines_of

PAGE = "docs/reproduce/climb_study.md"


@pytest.fixture
def study(reproducing):
    import climb_study

    return climb_study


@pytest.fixture
def table(study, root):
    return study.read(root / study.FILE)


@pytest.mark.slow
def test_the_tables_and_the_picture_are_those_of_the_file(study, pages, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["climb_study.py", "--quick", "--out", str(tmp_path)])
    study.main()
    made = (tmp_path / PAGE).read_text(encoding="utf-8")
    for name in ("friction", "success"):
        assert lines_of(made, name) == lines_of(pages[PAGE], name)
    intervals = re.compile(r" \([^)]*\)")  # --quick resamples less often
    then, now = ([intervals.sub("", line) for line in lines_of(text, "answer")] for text in (pages[PAGE], made))
    assert now == then
    assert (tmp_path / "docs" / "images" / "reproduce_climb_study.png").stat().st_size > 10_000


@pytest.mark.parametrize("place", [100, 760, 1240])
def test_a_climb_computed_again_is_that_of_the_file(study, table, place):
    posture = study.Posture(*(float(table[name][place]) for name in study.Posture._fields))
    found = study.quasi_static_climb.climb(posture, float(table["height_m"][place]))
    for name, value in found._asdict().items():
        assert table[name][place] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-4))


def test_over_a_thousand_climbs_say_that_least_energy_is_no_choice_for_a_climb(study, table):
    assert len(table["friction"]) >= 1000
    for height in study.HEIGHTS_M:
        here = (table["height_m"] == height) & (table["group"] == "drawn")
        energy, friction = table["T_c_J"][here], np.minimum(table["friction"][here], study.NONE)
        _, low, high = study.with_interval(study.correlation, 100, energy, friction)
        assert -0.3 < low < high < 0.0
        assert study.regret(energy, friction) > 0.1
