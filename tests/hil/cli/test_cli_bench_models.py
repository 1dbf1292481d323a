"""`hil bench models` from the command line to its JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from hil.bench import bench_models, conditions
from hil.cli import run

pytestmark = pytest.mark.slow

OURS = {"substep", "millisecond", "substep_juno", "substep_juno_exact", "substep_scan", "call_overhead"}
OURS |= {"wheel_exact", "wheel_flexible", "wheel_crowned", "wheel_xu", "wheel_split_quadrature", "substep_xu"}
OURS |= {"substep_mixed_wheels", "substep_firm", "substep_profile", "soil_update", "substep_arm", "substep_arm_rigid"}
OURS |= {"substep_nonsmooth", "substep_rocker_bogie", "plant_millisecond", "tick_10"}
PEERS = {"mujoco_millisecond", "mujoco_step_free", "pinocchio_aba"}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(bench_models, "BURST_S", 1e-5)


def test_the_json_has_the_contracts_shape_and_names(tmp_path, capsys):
    file = tmp_path / "models.json"
    assert run(["bench", "models", "--rounds", "3", "--starts", "0", "--json", str(file)]) == 0
    result = json.loads(file.read_text())
    assert set(result) == {"machine", "peers", "rows"}
    rows = {row["name"]: row for row in result["rows"]}
    assert set(rows) == OURS | PEERS
    for row in rows.values():
        assert row["unit"] == "us"
        assert 0.0 < row["min"] <= row["p50"] <= row["p99"]
    ours, theirs = rows["millisecond"], rows["mujoco_millisecond"]
    assert ours["ratio_to"] == "mujoco_millisecond"
    assert ours["ratio"] == pytest.approx(ours["p50"] / theirs["p50"])
    assert rows["wheel_exact"]["ratio_to"] == "wheel_split_quadrature"
    assert rows["wheel_flexible"]["ratio_to"] == "wheel_exact"
    assert rows["wheel_crowned"]["ratio_to"] == "wheel_exact"
    assert rows["substep_scan"]["ratio_to"] == "substep_juno"
    assert rows["substep_juno_exact"]["ratio_to"] == "substep_juno"
    assert rows["substep_xu"]["ratio_to"] == "substep_scan"
    assert rows["substep_profile"]["ratio_to"] == "substep_firm"
    assert rows["substep_arm"]["ratio_to"] == "substep_arm_rigid"
    assert rows["substep_nonsmooth"]["ratio_to"] == "substep_rocker_bogie"
    assert rows["call_overhead"]["ratio"] is None
    assert "mujoco_millisecond" in capsys.readouterr().out


def test_the_first_start_finds_an_empty_cache_and_the_others_what_it_left(monkeypatch, tmp_path):
    found = tmp_path / "found"
    program = f"""
import os, pathlib
cache = pathlib.Path(os.environ["ROVER_HIL_CACHE"])
with open({str(found)!r}, "a") as file:
    print(len(list(cache.iterdir())), cache, file=file)
(cache / "kernel").touch()
"""
    monkeypatch.setattr(conditions, "PROGRAM", program)
    first, cached = bench_models._starts(3)
    counts, folders = zip(*(line.split() for line in found.read_text().splitlines()), strict=True)
    assert counts == ("0", "1", "1", "1")
    assert len(set(folders)) == 1
    assert not os.path.exists(folders[0])
    assert (first["name"], cached["name"]) == ("start_first", "start_cached")
    assert first["unit"] == cached["unit"] == "s"
    assert 0.0 < cached["min"] <= cached["p50"] <= cached["p99"]


def test_the_program_that_is_timed_runs():
    assert "warm_up" in conditions.PROGRAM
    subprocess.run([sys.executable, "-c", conditions.PROGRAM], check=True)


def test_a_start_that_fails_is_no_time(monkeypatch):
    monkeypatch.setattr(conditions, "PROGRAM", "raise SystemExit(3)")
    with pytest.raises(subprocess.CalledProcessError):
        conditions.start_times_s(1)


def test_without_the_peers_it_measures_our_own_and_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(bench_models, "_version", lambda _: None)
    assert run(["bench", "models", "--rounds", "1", "--starts", "0"]) == 0
    said = capsys.readouterr().out
    assert "pip install mujoco" in said
    assert "pip install pin" in said
    assert "pinocchio_aba" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="no Pinocchio there")
def test_the_rover_in_mujoco_weighs_what_ours_does_and_stands_on_its_wheels():
    import mujoco

    rover = bench_models._peer_rover()
    model, data = bench_models.mujoco_rover(on_plane=True)
    mujoco.mj_step(model, data, nstep=3000)
    assert model.body_subtreemass[0] == pytest.approx(sum(body.mass for body in rover.tree.bodies))
    assert model.nv == rover.nv
    assert abs(data.qpos[2]) < 0.005
    # one contact a wheel, with four rows of friction; only what moves is a body
    assert (data.ncon, data.nefc, model.nbody - 1) == (6, 24, rover.nv - 5)


@pytest.mark.skipif(sys.platform == "win32", reason="no MuJoCo there")
def test_the_rover_in_mujoco_accelerates_as_ours_does():
    """The eigenvalues of the mass matrix do not depend on the order of coordinates."""
    import mujoco

    rover = bench_models._peer_rover()
    model, data = bench_models.mujoco_rover(on_plane=True)
    mujoco.mj_forward(model, data)
    theirs = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, theirs)
    ours = rover.mass_matrix(rover.neutral())
    assert np.linalg.eigvalsh(theirs) == pytest.approx(np.linalg.eigvalsh(ours), rel=1e-6)
