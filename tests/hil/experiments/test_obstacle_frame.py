"""The obstacle's frame against MacMahon 2016, Table C-1; arming on a real rig."""

from __future__ import annotations

import math

import pytest

from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.impact.approach import frame_settings
from hil.experiments.impact.experiment import ImpactExperiment
from models.sensors.rear_frame import FRONT_LINK_M, REAR_LINK_M

# beta, alpha, theta [deg], L_3, d [m], as printed.
TABLE_C_1 = (
    (40, 32, 107, 0.91, 0.041),
    (50, 39, 90, 0.79, 0.062),
    (60, 46, 74, 0.67, 0.086),
    (70, 51, 59, 0.55, 0.115),
    (80, 55, 45, 0.44, 0.144),
    (90, 56, 34, 0.34, 0.175),
)


@pytest.mark.parametrize(("beta", "alpha", "theta", "bottom_m", "height_m"), TABLE_C_1)
def test_the_frame_is_that_of_table_c_1(beta, alpha, theta, bottom_m, height_m) -> None:
    found = frame_settings(beta, 0.175)
    assert found.rear_angle_deg == pytest.approx(alpha, abs=1.0)
    assert 180 - beta - found.rear_angle_deg == pytest.approx(theta, abs=1.5)
    assert found.bottom_link_m == pytest.approx(bottom_m, abs=0.02)
    assert found.contact_height_m == pytest.approx(height_m, abs=0.002)


@pytest.mark.parametrize("beta", [40.0, 57.0, 90.0])
def test_the_links_close_and_the_wheel_touches_the_plate_where_it_is_said(beta: float) -> None:
    found, slope = frame_settings(beta, 0.2), math.radians(beta)
    top = (FRONT_LINK_M * math.cos(slope), FRONT_LINK_M * math.sin(slope))
    assert math.dist(top, (found.bottom_link_m, 0.0)) == pytest.approx(REAR_LINK_M)
    foot_to_touch = 0.2 * math.tan(slope / 2)  # tangents from the foot to the wheel, along ground and plate
    assert found.along_plate_m == pytest.approx(foot_to_touch)
    assert found.contact_height_m == pytest.approx(foot_to_touch * math.sin(slope))


@pytest.mark.parametrize(
    ("config", "angle", "ok"), [("mars_dome", 39.9, False), ("mars_dome", 40, True), ("sim_impact", 10, None)]
)
def test_arming_a_real_rig_refuses_an_obstacle_below_40_degrees_and_a_simulated_one_does_not(config, angle, ok) -> None:
    experiment = ImpactExperiment(Rig(load_config(config, [f"trial.angle_deg={angle}"])), lambda *_: ())
    found = [check.ok for check in experiment.fixed_checks if check.item == "obstacle angle"]
    assert found == ([] if ok is None else [ok])
