"""The page of the ladder of soil experiments: simulated rigs give the rows that it states."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.usefixtures("reproducing")

PAGE = "docs/reproduce/soil_ladder.md"


@pytest.mark.soak
def test_a_wheel_that_is_pressed_in_tells_what_the_page_says(pages, tmp_path):
    from soil_ladder import row, sinkage_test

    made = row("1: sinkage test", sinkage_test(tmp_path))
    assert made in pages[PAGE].splitlines()


@pytest.mark.soak
def test_the_rolling_wheel_adds_the_slip_modulus_to_it(pages, tmp_path):
    from soil_ladder import TRUTH, found_of, single_wheel, sinkage_test

    rolled = single_wheel(tmp_path, ((0.0, 0.1), (15.0, 0.4)))
    alone, both = found_of(rolled), found_of([*rolled, *sinkage_test(tmp_path, (0.0, 40.0))])
    determined = [{one.name for one in found.parameters if one.determined} for found in (alone, both)]
    assert "slip_modulus" in determined[0]
    assert determined[0] < determined[1]
    for one in both.parameters:
        assert one.low <= TRUTH[one.name] <= one.high


def test_every_interval_of_the_page_holds_the_truth_and_all_three_rungs_tell_all(pages):
    rows = [line for line in pages[PAGE].splitlines() if re.search(r"\d of 4", line)]
    assert len(rows) == 6
    assert not any("not inside" in line for line in rows)
    assert rows[-1].startswith("| 1, 2 and 3 | 24 | 4 of 4 |")
    assert [int(re.search(r"(\d) of 4", line)[1]) for line in rows[:3]] == [1, 3, 4]
