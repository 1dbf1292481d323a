"""`hil bench models` from the command line to its JSON."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from hil.bench import bench_models, conditions
from hil.cli import run

pytestmark = pytest.mark.slow

OURS = {"substep", "millisecond", "tick_10", "call_overhead", "soil_update", "substep_arm", "substep_arm_rigid"}
OURS |= {"wheel_exact", "wheel_flexible", "wheel_crowned", "wheel_xu", "wheel_split_quadrature"}
# Contacts of wheels, and bodies that move, of each vehicle.
COUNTS = {
    "plant_millisecond": (6, 10),
    "plant_millisecond_legs": (6, 10),
    "plant_millisecond_obstacle": (8, 10),
    "plant_millisecond_flexible": (6, 10),
    "plant_millisecond_mixed_wheels": (6, 10),
    "plant_millisecond_juno": (4, 7),
    "plant_millisecond_juno_exact": (4, 12),
    "plant_millisecond_scan": (4, 7),
    "plant_millisecond_xu": (6, 17),
    "plant_millisecond_firm": (6, 10),
    "plant_millisecond_profile": (6, 10),
    "plant_millisecond_rocker_bogie": (6, 10),
    "plant_millisecond_nonsmooth": (6, 10),
}
# Kinds that other tests compile too; the soak has them all.
FEW = ("plant_millisecond", "plant_millisecond_obstacle", "plant_millisecond_juno")
MUJOCO = {"mujoco_millisecond", "mujoco_millisecond_juno", "mujoco_millisecond_xu", "mujoco_millisecond_exomars"}
PEERS = MUJOCO | {"mujoco_step_free", "pinocchio_aba"}


def quick(patched, names=FEW):
    patched.setattr(bench_models, "BURST_S", 1e-5)
    patched.setattr(bench_models, "VEHICLES", {name: bench_models.VEHICLES[name] for name in names})


@pytest.fixture(scope="module", params=[FEW, pytest.param(tuple(COUNTS), marks=pytest.mark.soak)], ids=["few", "all"])
def names(request):
    """Vehicles of the bench."""
    return request.param


@pytest.fixture(scope="module")
def measured(names, tmp_path_factory):
    """Content of the JSON, and what the terminal shows."""
    assert bench_models.VEHICLES.keys() == COUNTS.keys()
    file = tmp_path_factory.mktemp("bench") / "models.json"
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(io.StringIO()) as shown:
        quick(patched, names)
        assert run(["bench", "models", "--rounds", "3", "--starts", "0", "--json", str(file)]) == 0
    return json.loads(file.read_text()), shown.getvalue()


@pytest.fixture(scope="module")
def rows(measured):
    return {row["name"]: row for row in measured[0]["rows"]}


def test_the_json_has_the_contracts_shape_and_names(measured, rows, names):
    result, shown = measured
    assert set(result) == {"machine", "peers", "rows"}
    assert set(rows) == OURS | {*names} | {f"{name}_fixed" for name in names} | PEERS
    for row in rows.values():
        assert row["unit"] == "us"
        assert 0.0 < row["min"] <= row["p50"] <= row["p99"]
    ours, theirs = rows["millisecond"], rows["mujoco_millisecond"]
    assert ours["ratio_to"] == "mujoco_millisecond"
    assert ours["ratio"] == pytest.approx(ours["p50"] / theirs["p50"])
    assert rows["wheel_exact"]["ratio_to"] == "wheel_split_quadrature"
    assert rows["wheel_flexible"]["ratio_to"] == "wheel_exact"
    assert rows["wheel_crowned"]["ratio_to"] == "wheel_exact"
    assert rows["substep_arm"]["ratio_to"] == "substep_arm_rigid"
    assert rows["call_overhead"]["ratio"] is None
    assert "mujoco_millisecond" in shown


def test_each_vehicle_has_its_contacts_and_bodies_and_stands_beside_fixed_steps(rows, names):
    for name in names:
        row, fixed = rows[name], rows[f"{name}_fixed"]
        assert (row["contacts"], row["bodies"]) == (fixed["contacts"], fixed["bodies"]) == COUNTS[name], name
        assert fixed["ratio_to"] == name
        assert row["peer_contacts"] == rows[row["ratio_to"]]["contacts"]


@pytest.mark.skipif(sys.platform == "win32", reason="no MuJoCo there")
def test_each_vehicle_is_compared_with_its_own_rover_on_as_many_wheels(rows, names):
    """The wheels at the obstacle are in our row alone; the loops of Juno's rods are compared with rockers."""
    for name in set(names) - {"plant_millisecond_juno_exact", "plant_millisecond_obstacle"}:
        row = rows[name]
        assert row["ratio_to"] in MUJOCO
        peer = rows[row["ratio_to"]]
        assert (row["contacts"], row["bodies"]) == (peer["contacts"], peer["bodies"])


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
    quick(monkeypatch)
    monkeypatch.setattr(bench_models, "_version", lambda _: None)
    assert run(["bench", "models", "--rounds", "1", "--starts", "0"]) == 0
    said = capsys.readouterr().out
    assert "pip install mujoco" in said
    assert "pip install pin" in said
    assert "pinocchio_aba" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="no MuJoCo there")
@pytest.mark.parametrize("config", bench_models.MUJOCO.values())
def test_the_rover_in_mujoco_weighs_what_ours_does_and_stands_on_its_wheels(config):
    import mujoco

    rover = bench_models.peer_rover(config)
    model, data = bench_models.mujoco_rover(config, on_plane=True)
    mujoco.mj_step(model, data, nstep=3000)
    assert model.body_subtreemass[0] == pytest.approx(sum(body.mass for body in rover.tree.bodies))
    assert model.nv - model.neq == rover.nv
    assert abs(data.qpos[2]) < 0.01
    # one contact a wheel, with four rows of friction; only what moves is a body
    assert data.ncon == len(rover.wheel_names)
    assert data.nefc == 4 * data.ncon + model.neq
    assert model.nbody - 1 == model.nv - 5


@pytest.mark.skipif(sys.platform == "win32", reason="no MuJoCo there")
def test_the_rover_in_mujoco_accelerates_as_ours_does():
    """The eigenvalues of the mass matrix do not depend on the order of coordinates."""
    import mujoco

    rover = bench_models.peer_rover(bench_models.CONFIG)
    model, data = bench_models.mujoco_rover(bench_models.CONFIG, on_plane=True)
    mujoco.mj_forward(model, data)
    theirs = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, theirs)
    ours = rover.mass_matrix(rover.neutral())
    assert np.linalg.eigvalsh(theirs) == pytest.approx(np.linalg.eigvalsh(ours), rel=1e-6)
