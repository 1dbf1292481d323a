"""The sheet of `hil calibrate cylinder`: force follows from pressure by it, in the controller and in the twin."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hil.config import ConfigError, load_config
from hil.config.calibration_sheets import update_sheets
from hil.config.cylinder_parameters import cylinder_forces
from hil.config.model_parameters import nominal_rig
from models.actuators.linkage import reachable

BORE_M2 = math.pi / 4.0 * 0.0381**2
ARM_M = 0.25


def config_with(tmp_path: Path, sheets: dict[str, dict[str, float]]):
    """sim_normal_force with a sheet as the command writes it, named by a path beside the config."""
    update_sheets(tmp_path / "cylinders.yaml", sheets, "cylinders")
    file = tmp_path / "mine.yaml"
    text = load_config("sim_normal_force").to_yaml().replace("calibration: null", "calibration: cylinders.yaml", 1)
    assert "calibration: cylinders.yaml" in text
    file.write_text(text, encoding="utf-8")
    return load_config(file)


def test_the_sheet_that_the_command_writes_gives_the_area_of_its_cylinder(tmp_path: Path) -> None:
    torque_NmpkPa, force_NpkPa = 0.9 * BORE_M2 * ARM_M * 1e3, 1.1 * BORE_M2 * 1e3
    sheets = {
        "left": {"torque_NmpkPa": torque_NmpkPa, "force_NpkPa": 9.0, "offset_Nm": 1.2, "u95": 0.02},
        "rear": {"force_NpkPa": force_NpkPa, "offset_N": -8.0, "u95": 0.03},
    }
    config = config_with(tmp_path, sheets)
    wanted = pytest.approx([0.9 * BORE_M2, BORE_M2, 1.1 * BORE_M2])
    forces = cylinder_forces(config.cylinders, config.layout)
    assert forces.extend_area.tolist() == wanted
    assert forces.retract_area.tolist() == wanted
    assert reachable(forces, 0, 0.0)[1] == pytest.approx(torque_NmpkPa * config.cylinders.supply_kPa)
    _, vehicle, _ = nominal_rig(config).assemble()
    assert vehicle.cylinders is not None
    assert vehicle.cylinders.area.tolist() == wanted


def test_without_a_sheet_the_area_is_that_of_the_bore() -> None:
    config = load_config("sim_normal_force")
    assert cylinder_forces(config.cylinders, config.layout).extend_area.tolist() == pytest.approx([BORE_M2] * 3)


@pytest.mark.parametrize(
    ("sheet", "key", "found", "allowed"),
    [
        ("{tail: {force_NpkPa: 1.1, u95: 0.1}}", "tail", "a calibration", "left, right, rear"),
        ("{left: {u95: 0.1}}", "left", "neither", "one of them"),
        ("{left: {force_NpkPa: -1.1, u95: 0.1}}", "left", "-1100 mm", "570 to 1710, for a bore of 38.1 mm"),
        ("{rear: {torque_NmpkPa: 1.1, u95: 0.1}}", "rear", "4400 mm", "570 to 1710"),
    ],
)
def test_a_sheet_that_does_not_fit_the_rig_is_refused_with_its_numbers(sheet, key, found, allowed) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("sim_normal_force", [f"cylinders.calibration={sheet}"])
    (problem,) = caught.value.problems
    assert problem.key == f"cylinders.calibration.{key}"
    assert found in problem.found
    assert allowed in problem.allowed
