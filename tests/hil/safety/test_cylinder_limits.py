"""Pressure and torque of the cylinders, before arming."""

import math

import pytest

from hil.config import load_config
from hil.config.cylinder_parameters import cylinder, largest_arm_m
from hil.config.rig import Rig
from hil.safety.arming import cylinder_checks


def refused(config, *overrides):
    return {check.item: check for check in cylinder_checks(Rig(load_config(config, overrides))) if not check.ok}


@pytest.mark.parametrize(
    "config", ["sim_impact", "sim_wire", "sim_normal_force", "sim_normal_force_wire", "sim_drawbar", "sim_slope",
               "mars_dome", "bumper"]
)  # fmt: skip
def test_the_cylinders_of_the_shipped_configs_are_within_the_limits(config):
    assert cylinder_checks(Rig(load_config(config)))
    assert not refused(config)


def test_a_rover_without_cylinders_has_no_such_checks():
    assert cylinder_checks(Rig(load_config("sim_juno"))) == []


def test_more_than_30_psi_is_refused_unless_the_limit_is_raised_towards_the_rated_pressure():
    check = refused("mars_dome", "cylinders.supply_kPa=300", "cylinders.lever_m=0.1")["cylinder supply"]
    assert check.found == "300 kPa"
    assert check.allowed == "at most 207 kPa (limits.cylinder_kPa)"
    assert "lower cylinders.supply_kPa" in check.to_do
    raised = ("cylinders.supply_kPa=300", "cylinders.lever_m=0.1", "limits.cylinder_kPa=689")
    assert not refused("mars_dome", *raised)


@pytest.mark.parametrize("wider", ["cylinders.bore_mm=50", "cylinders.lever_m=0.3", "limits.bogie_torque_Nm=50"])
def test_a_cylinder_that_can_push_with_more_than_the_limit_is_refused(wider):
    (check,) = refused("sim_impact", wider).values()
    assert check.item == "cylinder torque, at full pressure"
    assert "(limits.bogie_torque_Nm)" in check.allowed
    assert "lower cylinders.supply_kPa" in check.to_do


def test_a_controller_that_may_ask_for_more_than_the_limit_is_refused():
    (check,) = refused("sim_normal_force", "normal_force.torque_limit_Nm=61").values()
    assert (check.item, check.found) == ("cylinder torque, controlled", "61 N m")


def checks(config, *overrides):
    return {check.item: check.ok for check in cylinder_checks(Rig(load_config(config, overrides)))}


def test_the_supply_may_be_at_its_limit_and_no_higher():
    wide = ("limits.cylinder_kPa=150",)
    assert checks("sim_impact", *wide, "cylinders.supply_kPa=150")["cylinder supply"]
    assert not checks("sim_impact", *wide, "cylinders.supply_kPa=150.1")["cylinder supply"]


def test_the_torque_at_full_pressure_is_that_of_bore_supply_and_arm_and_may_be_at_its_limit():
    given = load_config("sim_impact").cylinders
    torque_Nm = cylinder(given).area * given.supply_kPa * 1e3 * largest_arm_m(given)
    assert torque_Nm == pytest.approx(math.pi * (0.5e-3 * given.bore_mm) ** 2 * 207e3 * largest_arm_m(given))
    for limit_Nm, ok in ((torque_Nm, True), (0.999 * torque_Nm, False)):
        assert checks("sim_impact", f"limits.bogie_torque_Nm={limit_Nm!r}")["cylinder torque, at full pressure"] is ok


def test_the_torque_that_is_controlled_may_be_at_its_limit_and_no_higher():
    item, key = "cylinder torque, controlled", "normal_force.torque_limit_Nm"
    assert checks("sim_normal_force", "limits.bogie_torque_Nm=45", f"{key}=45")[item]
    assert not checks("sim_normal_force", "limits.bogie_torque_Nm=45", f"{key}=45.1")[item]


def test_the_largest_arm_of_a_linkage_is_where_post_and_clevis_are_at_right_angles_to_the_cylinder():
    pins = "cylinders.linkage={post_along_m: 0.15, post_up_m: 0.33}"
    given = load_config("sim_impact", [pins]).cylinders
    joint_to_clevis = math.hypot(given.linkage.clevis_along_m, given.linkage.clevis_up_m)
    assert largest_arm_m(given) == pytest.approx(joint_to_clevis, rel=1e-3)
    assert largest_arm_m(given) <= joint_to_clevis
