"""The config that the import writes: its rover's joints are held, and its numbers follow from the rover's size."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.analysis.own_rover.files import RoverFiles
from hil.config import load_config
from hil.config.rig import Rig
from hil.config.schema.rover import tree_on_rig
from hil.experiments.impact.experiment import impact_checks
from hil.safety.arming import cylinder_checks
from models.rover.from_links import rover_of
from models.rover.locks import hanging
from models.rover.urdf_reader import read_urdf
from tests.rover_files import CORPUS, SIX, rover


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPUS)
def test_the_config_of_an_import_is_taken_and_holds_every_joint(name: str, tmp_path: Path) -> None:
    found = rover_of(read_urdf(CORPUS[name]))
    free = hanging(found.tree)
    files = RoverFiles(tmp_path, "mine")
    notes = files.write(found, "some.urdf")
    config = load_config(files.config)
    assert not hanging(tree_on_rig(config.rover_parameters()))
    assert [
        joint for joint in free if joint.endswith("_steering") or any(f"joint {joint} " in one for one in notes)
    ] == [*free]
    assert any("assumed by the size" in one and f"trial.speed_mps {config.trial.speed_mps:g}" in one for one in notes)
    radius_m = config.least_wheel_radius_m
    assert config.trial.speed_mps <= 0.41 * radius_m  # as fast as the RCP's wheels turn
    assert config.trial.speed_mps <= config.limits.impact_speed_mps


def test_joints_that_follow_one_that_nothing_holds_are_fixed_with_it(tmp_path: Path) -> None:
    files = RoverFiles(tmp_path, "mine")
    (notes, _) = files.write(rover_of(read_urdf(CORPUS["arms without stops"])), "x.urdf")[-2:]
    assert "fixed in the URDF, with those that follow it" in notes
    assert load_config(files.config).layout.turning == ()


@pytest.mark.parametrize("body_kg", [1.0, 10.0, 600.0])
def test_the_force_of_an_impact_fits_the_sensors_whatever_the_rover_weighs(body_kg: float, tmp_path: Path) -> None:
    files, size = RoverFiles(tmp_path, "mine"), (body_kg / 90.0) ** (1 / 3)
    rows = tuple(size * x for x in SIX)
    text = rover(rows, 0.7 * size, 0.175 * size, body_kg, "bogie", tie="mimic").replace("_second", "_bogie")
    files.write(rover_of(read_urdf(text)), "x.urdf")
    config = load_config(files.config, ["cylinders.joints=[left_bogie, right_bogie]"])
    assert config.layout.cylinders
    for check in (*impact_checks(Rig(config)), *cylinder_checks(Rig(config))):
        assert check.ok, check
    (highest,) = {one.sensitivity_mVpN * config.limits.sensor_force_N / 1e3 for one in config.daq.channels}
    assert highest <= 1.01 * config.daq.range_V


def test_a_rover_of_the_size_of_the_rcp_gets_its_numbers(tmp_path: Path) -> None:
    files = RoverFiles(tmp_path, "mine")
    files.write(rover_of(read_urdf(rover(SIX, 0.7, 0.175, 120.0 / 1.3))), "x.urdf")
    config, usual = load_config(files.config), load_config("sim_imported")
    for section in ("trial", "limits", "detector", "obstacle", "drives", "daq"):
        assert getattr(config, section) == getattr(usual, section)
