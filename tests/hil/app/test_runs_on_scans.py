"""Runs over scans of several kinds: each ends with a summary, and all that is done with a record can be done."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from hil.cli import run
from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from hil.recording import read_trial
from tests.hil.config.scan.corpus import SCANS, written
from tests.hil.config.scan.meshes import CAVE, CEILING_X, CEILING_Z, FALL, ON_MESH, hollow, write_mesh

# Juno, and soil and drives of sim_scan, over so short a distance that each run is a moment.
SHORT = ["drive.steps=[{for_s: 0.4, speed_mps: 0.2}]", "telemetry.endpoint=", "operator.endpoint=tcp://127.0.0.1:*"]
ON_STIFFNESS = 1e6  # [N/m], ground.stiffness of the shipped config


@pytest.mark.ci_cases("an ESRI grid")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["decimal commas", "an OBJ that counts back", "an ESRI grid"])
def test_a_run_over_a_scan_is_verified_reported_exported_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    scan = {
        "file": str(tmp_path / written(kind, tmp_path)),
        "units": "m",
        "up": "z",
        "start_m": [0, 0],
        "spacing_m": 0.2,
    }
    changes = [f"ground.scan={json.dumps({**scan, **SCANS[kind].settings})}", *SHORT]
    assert run(["run", "sim_scan", "--out", "over", *(part for one in changes for part in ("--set", one))]) == 0
    assert json.loads((tmp_path / "over" / "summary.json").read_text())["accepted"] is True
    (tmp_path / scan["file"]).unlink()  # the record has the ground
    for command in (["verify"], ["replay"], ["report"], ["export", "--to", "mat"], ["render", "--to", "png"]):
        assert run([command[0], "over", *command[1:]]) == 0, command


@pytest.mark.soak
def test_wheels_below_an_overhang_touch_both_and_all_can_be_done_with_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    values = {**ON_MESH, "ground.scan.file": str(write_mesh(tmp_path / "cave.obj", *CAVE))}
    changes = [f"{key}={json.dumps(value)}" for key, value in values.items()]
    # the wheels are held there, so that the run is not accepted
    assert run(["run", "sim_scan", "--out", "over", *(part for one in changes for part in ("--set", one))]) in (0, 1)
    (tmp_path / "cave.obj").unlink()
    for command in (["verify"], ["replay"], ["report"], ["export", "--to", "mat"], ["render", "--to", "png"],
                    ["render", "--to", "png", "--view", "top", "--out", "top.png"]):  # fmt: skip
        assert run([command[0], "over", *command[1:]]) == 0, command
    tick = read_trial(tmp_path / "over", trusted=True).tick
    rover = nominal_rig(load_config("sim_scan", [*SHORT])).make_rover()
    radius, front = float(rover.chain.wheel_radius[0]), float(rover.wheel_positions(rover.neutral())[0, 0])
    # where a circle on the floor touches the ceiling; from there on the wheels are pressed into both
    below = CEILING_X + (CEILING_Z - radius - radius * math.hypot(1.0, FALL)) / FALL
    before = tick["pose"][:, 0] + front < below - 0.02
    depth_N = ON_STIFFNESS * tick["sinkage_m"]
    still = before & (tick["t_ns"] > 1.5e9)
    assert tick["normal_force_N"][still] == pytest.approx(depth_N[still], rel=0.01)
    assert 0.0 < tick["pose"][-1, 0] + front - below < 0.02
    assert (tick["normal_force_N"][-1, :2] > 1.2 * depth_N[-1, :2]).all()


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.02, 0.1])
def test_a_wheel_in_a_hollow_of_triangles_is_as_deep_as_its_load_asks(tmp_path: Path, size: float) -> None:
    path = write_mesh(tmp_path / "hollow.obj", *hollow(2.0, size))
    still = {"ground.scan.file": str(path), "drive.steps": [{"for_s": 0.1, "speed_mps": 0.0}]}
    rover, _, state = nominal_rig(load_config("sim_scan", {**ON_MESH, **still})).build()
    assert state.ground.vertical == pytest.approx(ON_STIFFNESS * state.ground.sinkage, rel=0.01)
    lean = math.asin(rover.wheel_positions(rover.neutral())[0, 0] / (2.0 - float(rover.chain.wheel_radius[0])))
    assert state.ground.vertical.sum() * math.cos(lean) == pytest.approx(rover.mass * 9.81, rel=0.02)
