"""The script that measures what residuals notice: its bound, its ladder, and a short series."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SCRIPT = runpy.run_path(str(HERE / "residual_runs.py"), run_name="imported")


def test_none_of_a_thousand_runs_marked_leaves_less_than_three_in_a_thousand():
    assert SCRIPT["most"](0, 1000) == pytest.approx(3.0e-3, rel=0.01)  # 1 - 0.05**(1/1000)
    assert SCRIPT["most"](1, 1000) > SCRIPT["most"](0, 1000)
    assert SCRIPT["most"](3, 3) == 1.0


def test_the_smallest_wrong_value_is_the_one_that_95_of_100_runs_notice():
    def result(seed, size):
        return SCRIPT["Result"](seed, [], {}, [], {"gain": (size, "age daq")})

    results = [result(seed, 0.1 if seed < 95 else 0.5) for seed in range(100)]
    assert SCRIPT["report"]("impact", {"runs": 5}, results)["wrong"]["gain"] == {"smallest": 0.1, "by": "age daq"}
    results[0] = result(0, None)
    assert SCRIPT["report"]("impact", {"runs": 5}, results)["wrong"]["gain"]["smallest"] == 0.5
    unnoticed = [result(seed, None) for seed in range(100)]
    assert SCRIPT["report"]("impact", {"runs": 5}, unnoticed)["wrong"]["gain"]["smallest"] is None


@pytest.mark.soak
def test_a_short_series_marks_no_good_run_and_notices_wrong_values(tmp_path):
    figures = tmp_path / "figures.json"
    command = [sys.executable, str(HERE / "residual_runs.py"), "--quick", "--workers", "1", "--json", str(figures)]
    assert subprocess.run(command, check=False).returncode == 0
    (found,) = json.loads(figures.read_text())
    assert (found["good"], found["marked"], found["wrong_in"]) == (4, 0, 2)
    wrong = found["wrong"]
    assert wrong["wheel speed, all: gain"]["smallest"] <= 0.01
    assert wrong["force, all: gain"]["smallest"] <= 0.7
    assert wrong["force: lower left and right swapped"]["smallest"] is None
