"""The same config and seed give the same record, byte for byte, in any process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import pytest

import hil
from hil.app.run import run_experiment
from hil.config import load_config

ROOT = Path(hil.__path__[0]).parent
CHOSEN = (
    "trial.start_distance_m=0.03",
    "trial.ramp_s=0.1",
    "trial.settle_s=0.5",
    "record.after_s=0.5",
    "telemetry.endpoint=''",
)
MACHINE_MADE = {"timing", "meta/wall_time"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """Seed 7 twice and seed 8, in this process."""
    folders = {}
    for name, seed in {"first": 7, "again": 7, "other": 8}.items():
        folders[name] = tmp_path_factory.mktemp(name)
        config = load_config("sim_impact", CHOSEN, seed)
        run_experiment(config, folders[name], progress=lambda _: None, figure=False)  # saves half the time
    return folders


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory) -> Path:
    """Seed 7 in another process."""
    folder = tmp_path_factory.mktemp("elsewhere")
    sets = [part for override in CHOSEN for part in ("--set", override)]
    subprocess.run(
        [sys.executable, "-m", "hil.cli", "trial", "sim_impact", *sets, "--seed", "7", "--out", folder],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "12345"},
        cwd=folder.parent,
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(params=["again", pytest.param("elsewhere", marks=pytest.mark.slow)])
def second(request, runs) -> Path:
    """Seed 7 once more."""
    return runs["again"] if request.param == "again" else request.getfixturevalue("elsewhere")


def datasets(folder: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Type, shape and bytes of every dataset."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = (str(item.dtype), item.shape, item[()].tobytes() if item.shape else repr(item[()]).encode())

    with h5py.File(folder / "trial.h5", "r") as file:
        file.visititems(visit)
    return found


def test_the_same_seed_gives_the_same_bytes_in_every_dataset_but_timing_and_wall_time(runs, second):
    first, again = datasets(runs["first"]), datasets(second)
    assert first.keys() == again.keys()
    assert {"tick", "daq/raw", "daq/t_ns", "events", "meta/config", *MACHINE_MADE} <= first.keys()
    differing = {key for key in first if first[key] != again[key]}
    assert differing <= MACHINE_MADE


def test_another_seed_gives_another_trial(runs):
    first, other = datasets(runs["first"]), datasets(runs["other"])
    differing = {key for key in first if first[key] != other[key]}
    assert {"tick", "daq/raw", "meta/seed"} <= differing


def test_timing_is_of_the_same_ticks(runs):
    with h5py.File(runs["first"] / "trial.h5", "r") as one, h5py.File(runs["again"] / "trial.h5", "r") as two:
        assert (one["timing"]["tick"] == two["timing"]["tick"]).all()


def test_summaries_differ_only_in_what_the_machine_took(runs, second):
    def physics(folder: Path):
        summary = json.loads((folder / "summary.json").read_text())
        assert summary.pop("real_time_factor") > 0
        summary["digests"] = summary["digests"]["content"]  # the file's and the summary's own are of timing, too
        loop = summary["loop"]
        for times in (loop.pop("work_us"), loop.pop("plant_us"), *loop.pop("phases_us").values()):
            assert set(times) == {"p50", "p99", "p99_9", "max"}
        return summary

    assert physics(runs["first"]) == physics(second)
    assert physics(runs["first"]) != physics(runs["other"])
