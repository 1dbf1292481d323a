"""tools/compare_records.py: which numbers count as equal, and which are ignored."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "compare_records.py"
ROW = np.dtype([("tick", "i8"), ("speed_mps", "f8"), ("state", "S8")])


def record(folder: Path, *, speed: float = 0.07, wall: float = 1.0, extra: bool = False, channels: int = 3) -> Path:
    """A run folder with a record of three ticks."""
    folder.mkdir(parents=True)
    with h5py.File(folder / "trial.h5", "w", libver="latest") as file:
        rows = np.array([(k, np.nan if k == 0 else speed, b"driving") for k in range(3)], ROW)
        file["tick"], file["daq/raw"] = rows, np.ones((4, channels))
        file["timing"], file["meta/wall_time"] = np.full(3, wall), wall
        if extra:
            file["daq/valves"] = np.zeros(3)
    return folder


def compared(before: Path, after: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(before), str(after)], capture_output=True, text=True, check=False
    )


def test_records_that_differ_in_time_and_digests_alone_are_the_same(tmp_path):
    done = compared(record(tmp_path / "a"), record(tmp_path / "b", wall=2.0, extra=True))
    assert done.returncode == 0
    assert "4 of 4 columns equal" in done.stdout
    assert "daq/valves: only in AFTER" in done.stdout


def test_one_last_digit_is_a_difference_and_says_where(tmp_path):
    done = compared(record(tmp_path / "a"), record(tmp_path / "b", speed=np.nextafter(0.07, 1.0)))
    assert done.returncode == 1
    assert "tick.speed_mps: 2 of 3 entries differ, first in row 1" in done.stdout


def test_elements_that_only_one_of_them_has_are_named_and_no_difference(tmp_path):
    done = compared(record(tmp_path / "a"), record(tmp_path / "b", channels=2))
    assert done.returncode == 0
    assert "4 of 4 columns equal\n  daq/raw: 2 of 3 and 2 elements equal" in done.stdout


def test_folders_of_runs_are_matched_by_name(tmp_path):
    for name in ("rcp", "juno"):
        record(tmp_path / "before" / name)
        record(tmp_path / "after" / name, speed=0.07 if name == "rcp" else 0.08)
    done = compared(tmp_path / "before", tmp_path / "after")
    assert done.returncode == 1
    assert done.stdout.startswith("juno:")
    assert "rcp:\n  4 of 4 columns equal" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: record(path / "other")])
def test_nothing_to_compare_is_no_success(tmp_path, make):
    make(tmp_path / "after")
    record(tmp_path / "before" / "rcp")
    assert compared(tmp_path / "before", tmp_path / "after").returncode == 1
