"""`hil calibrate` of load channels and cylinders."""

from __future__ import annotations

import inspect
import json
import re
import sys
from typing import NamedTuple

import numpy as np
import pytest

from hil.cli import run
from hil.cli.calibrate import zero
from hil.config import load_config
from hil.config.rig_setup import offsets
from hil.config.text_io import read_yaml
from hil.messages.signals import block_dtype, tick_dtype
from hil.recording.content import SampleSet


class Recorded(NamedTuple):
    """What these calibrations read of a record."""

    tick: np.ndarray
    loads: SampleSet
    meta: dict[str, str]


@pytest.fixture
def legs(monkeypatch):
    """A run of an RCP with leg sensors, whose left cylinder stands at four pressures, made up here.

    A torque on the left bogie moves load between its wheels, 0.2678 and 0.2671 m from the pivot (MacMahon 2016,
    Table 4-1).
    """
    config = load_config("sim_impact", ["loads={leg_sensors: {axes: [fx, fz]}}"])
    tick = np.zeros(4000, tick_dtype(config.layout))
    tick["pressure_Pa"][:, 0, 0] = np.repeat([0.0, 60e3, 120e3, 180e3], 1000)
    torque_Nm = tick["pressure_Pa"][:, 0, 0] * np.pi / 4.0 * 0.0381**2 * 0.25
    tick["wheel_load_N"], tick["cut"] = 230.0, 1
    tick["wheel_load_N"][:, 0] += torque_Nm / 2.0 / 0.2678
    tick["wheel_load_N"][:, 2] -= torque_Nm / 2.0 / 0.2671
    tick["wheel_load_N"] += np.random.default_rng(1).normal(size=tick["wheel_load_N"].shape)
    offsets = np.linspace(-0.5, 0.5, 12)
    raw = offsets + 0.002 * np.random.default_rng(2).normal(size=(1000, 12))
    samples = SampleSet(np.zeros(0, block_dtype(config.layout, "loads")), raw, np.arange(1000) * 1_000_000)
    recorded = Recorded(tick, samples, {"wall_time": "2026-03-04T05:06:07Z"})
    monkeypatch.setattr(sys.modules["hil.cli.calibrate"], "record_of", lambda _: (recorded, config))
    return recorded


def test_offsets_of_all_load_channels_go_into_a_sheet_that_zeroes_them(legs, tmp_path, capsys):
    sheet = tmp_path / "legs.yaml"
    assert run(["calibrate", "zero", str(tmp_path), "--sensor", "loads", "--sheet", str(sheet), "--json"]) == 0
    found = [json.loads(line)["offset_V"] for line in capsys.readouterr().out.splitlines()]
    np.testing.assert_allclose(found, np.linspace(-0.5, 0.5, 12), atol=3e-4)
    content, _ = read_yaml(sheet.read_text(encoding="utf-8"), "(file)")
    config = load_config("sim_impact", ["loads={leg_sensors: {axes: [fx, fz]}}", f"loads.calibration={content}"])
    np.testing.assert_allclose(offsets(config), found)


def test_a_rover_whose_legs_sway_is_not_zeroed(legs, tmp_path, capsys):
    legs.loads.raw[:, 3] += 0.2 * np.sin(np.arange(1000) / 100.0)
    assert run(["calibrate", "zero", str(tmp_path), "--sensor", "loads"]) == 2
    assert "front_right_fz: the reading moves" in capsys.readouterr().err


def test_offsets_of_a_driver_that_reads_loads_are_newtons(legs, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("hil.config.unchecked_config.UncheckedConfig.load_reading", property(lambda _: "N"))
    assert run(["calibrate", "zero", str(tmp_path), "--sensor", "front_left_fz", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"sensor", "offset_N"}


def test_torque_of_a_cylinder_is_that_of_its_bore_and_lever(legs, tmp_path, capsys):
    sheet = tmp_path / "cylinders.yaml"
    assert run(["calibrate", "cylinder", str(tmp_path), "--cylinder", "left", "--sheet", str(sheet), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = 1e3 * np.pi / 4.0 * 0.0381**2 * 0.25  # N m/kPa
    assert found["torque_NmpkPa"] == pytest.approx(expected, rel=0.01)
    assert 0.0 < found["u95"] < 0.02
    content, _ = read_yaml(sheet.read_text(encoding="utf-8"), "(file)")
    assert content["left"]["torque_NmpkPa"] == found["torque_NmpkPa"]
    assert content["left"]["date"] == "2026-03-04"  # of the run


def test_force_of_a_cylinder_is_fitted_to_known_forces_one_a_step(legs, tmp_path, capsys):
    words = ["calibrate", "cylinder", str(tmp_path), "--cylinder", "left", "--json"]
    forces = [word for force in ("0", "68.4", "136.8", "205.2") for word in ("--force", force)]
    assert run([*words, *forces]) == 0
    assert json.loads(capsys.readouterr().out)["force_NpkPa"] == pytest.approx(1.14, rel=1e-3)
    assert run([*words, *forces[2:]]) == 2
    assert "3 forces for 4 steps" in capsys.readouterr().err


def test_a_run_that_gives_no_torque_is_refused(legs, tmp_path, capsys):
    words = ["calibrate", "cylinder", str(tmp_path), "--cylinder"]
    assert run([*words, "tail"]) == 2
    assert "no such cylinder, allowed: left, right" in capsys.readouterr().err
    assert run([*words, "right"]) == 2
    assert "allowed: 3 or more" in capsys.readouterr().err
    legs.tick["cut"] = 0
    assert run([*words, "left"]) == 2
    assert "the drives were not cut" in capsys.readouterr().err


def test_the_run_that_the_help_names_for_zeroing_is_one_that_a_config_allows():
    named = re.search(r"`hil run CONFIG --set (\S+) --set \"(.*?)\"`", inspect.getdoc(zero) or "")
    assert named is not None
    config = load_config("sim_juno", ["loads={leg_sensors: {axes: [fz]}}", *named.groups()])
    assert config.experiment == "drive"
    assert [step.speed_mps for step in config.drive.steps] == [0.0]
