"""No damaged record is taken for a good one; the soak damages two hundred."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SOAK = runpy.run_path(str(Path(__file__).parents[2] / "soak" / "damage_records.py"), run_name="imported")
EACH = 2  # of each kind


@pytest.fixture(scope="module")
def runs(recorded, tmp_path_factory) -> list[Path]:
    """Two runs, with figures."""
    folders = []
    for name in ("good", "delayed"):
        folders.append(tmp_path_factory.mktemp(name) / "run")
        shutil.copytree(recorded(name), folders[-1])
        (folders[-1] / "trial.png").write_bytes(SOAK["FIGURE"])
    return folders


@pytest.mark.ci_cases("0", "1", "2", "3", "4", "5")
@pytest.mark.parametrize("number", range(EACH * len(SOAK["KINDS"])))
def test_no_damaged_record_is_taken_for_good(runs, number):
    done, wrong = SOAK["damage_and_ask"](*runs, number, seed=7)
    assert not wrong, done


def test_a_record_that_is_not_damaged_is_taken_for_good(runs, tmp_path):
    """What the soak asks does pass what is good."""
    shutil.copytree(runs[0], tmp_path / "run")
    assert "verify ends with status 0" in SOAK["taken_for_good"](tmp_path / "run")
