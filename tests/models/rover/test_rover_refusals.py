"""A rover refuses invalid parameters and queries, with the value found and the values allowed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.rover import (
    exomars,
    exomars_like,
    parametric,
    rcp,
    rocker_bogie,
)

ROVER = rcp()


BUILDERS = (rcp, parametric, exomars_like, exomars, rocker_bogie)
POSITIVE = [
    pytest.param(build, name, id=f"{build.__self__.rover} {name}")
    for build in BUILDERS
    for name in build.__self__.quantities()
    if name not in ("added_mass", "walking_angle")
]


@pytest.mark.parametrize(("build", "name"), POSITIVE)
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_parameter_out_of_range_is_refused_by_name_value_and_range(build, name, value):
    with pytest.raises(ValueError, match=f"{build.__self__.rover}: {name} is {value}, allowed: above 0"):
        build(**{name: value})


@pytest.mark.parametrize("value", [math.pi / 2, -2.0, math.nan, math.inf])
def test_a_walking_angle_of_a_quarter_turn_is_refused(value):
    with pytest.raises(ValueError, match=f"parametric: walking_angle is {value} rad, allowed: within pi/2 of 0"):
        parametric(walking_angle=value)


@pytest.mark.parametrize(
    ("build", "change", "said"),
    [
        (rcp, {"wheel_width": 0.95}, "wheel_width is 0.95 m, allowed: below 0.9104 m"),
        (parametric, {"wheelbase": 0.7}, "wheelbase is 0.7 m, allowed: above 0.7 m, or wheels of one side meet"),
        (parametric, {"walking_angle": -0.4}, r"wheelbase is 1.073 m, allowed: above 1.1612\d m"),
        (parametric, {"track": 0.2}, "track is 0.2 m, allowed: above 0.24 m, or wheels of both sides meet"),
        (parametric, {"walking_angle": 1.5, "bogie_height": 0.27}, "bogie_height is 0.27 m, allowed: above 0.275155 m"),
        (parametric, {"track": 0.7, "bogie_height": 0.34}, "body_width is 0.5 m, allowed: below 0.46 m"),
        (exomars_like, {"wheelbase": 0.5}, "wheelbase is 0.5 m, allowed: above 0.57 m"),
        (exomars_like, {"track": 0.24}, "track is 0.24 m, allowed: above 0.24 m"),
        (exomars_like, {"walking_height": 0.14}, "walking_height is 0.14 m, allowed: above 0.1425 m"),
        (exomars, {"bogie_height": 0.1}, "bogie_height is 0.1 m, allowed: above 0.1425 m"),
        (exomars, {"wheel_width": 0.7}, "track is 1.31 m, allowed: above 1.4 m"),
        (rocker_bogie, {"wheel_radius": 0.36}, "wheelbase is 1.4 m, allowed: above 1.44 m"),
        (rocker_bogie, {"rocker_height": 0.1}, "rocker_height is 0.1 m, allowed: above 0.15 m"),
    ],
)
def test_a_geometry_that_cannot_be_is_refused(build, change, said):
    build()
    with pytest.raises(ValueError, match=f"{build.__self__.rover}: .*{said}"):
        build(**change)


@pytest.mark.parametrize("build", BUILDERS)
def test_a_lock_of_no_joint_is_refused_with_the_kinds_there_are(build):
    with pytest.raises(ValueError, match=r"locks of steer, allowed: names of joints or one of \['bogie', 'drive'"):
        build(locks={"steer": 0.0})


@pytest.mark.parametrize("angle", [math.nan, math.inf])
def test_a_lock_at_an_angle_that_is_none_is_refused(angle):
    with pytest.raises(ValueError, match=f"locked_at is {angle} rad, allowed: finite"):
        rcp(locks={"steering": angle})


@pytest.mark.parametrize("value", [-1e-9, math.nan, math.inf])
def test_added_mass_may_be_zero_and_no_less(value):
    rcp(added_mass=0.0)
    with pytest.raises(ValueError, match=f"added_mass is {value}, allowed: 0 or more"):
        rcp(added_mass=value)


def test_all_wrong_parameters_are_named_at_once():
    with pytest.raises(ValueError, match=r"wheel_mass is 0.0.*body_width is -1.0"):
        rcp(wheel_mass=0.0, body_width=-1.0)


def test_an_unknown_parameter_is_refused():
    with pytest.raises(TypeError, match="wheel_weight"):
        rcp(wheel_weight=1.0)


def asked(**change):
    """Forward dynamics with one argument changed."""
    arguments = {
        "q": ROVER.neutral(),
        "v": np.zeros(15),
        "tau": np.zeros(15),
        "wrenches": np.zeros((6, 6)),
        "gravity": (0.0, 0.0, -9.81),
    }
    return ROVER.forward_dynamics(**{**arguments, **change})


@pytest.mark.parametrize(
    ("name", "shape", "needed"),
    [
        ("q", (15,), r"\(16,\)"),
        ("v", (16,), r"\(15,\)"),
        ("tau", (15, 1), r"\(15,\)"),
        ("wrenches", (6, 3), r"\(6, 6\)"),
        ("wrenches", (5, 6), r"\(6, 6\)"),
        ("gravity", (2,), r"\(3,\)"),
    ],
)
def test_a_wrong_shape_is_refused_with_the_one_needed(name, shape, needed):
    with pytest.raises(ValueError, match=f"{name} has shape .* needed: {needed}"):
        asked(**{name: np.zeros(shape)})


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("name", ["q", "v", "tau", "wrenches", "gravity"])
def test_a_value_that_is_not_finite_is_refused(name, bad):
    value = {"q": ROVER.neutral(), "wrenches": np.zeros((6, 6)), "gravity": np.zeros(3)}.get(name, np.zeros(15))
    value.flat[-1] = bad
    with pytest.raises(ValueError, match=f"{name} holds values that are not finite"):
        asked(**{name: value})


@pytest.mark.parametrize("length", [0.0, 0.999, 1.01, 2.0])
@pytest.mark.parametrize("call", ["mass_matrix", "wheel_positions"])
def test_a_quaternion_that_is_not_normal_is_refused_with_its_norm(call, length):
    q = ROVER.neutral()
    q[3:7] = 0.0, length, 0.0, 0.0
    with pytest.raises(ValueError, match=f"quaternion of norm {length:g}, allowed: 1"):
        getattr(ROVER, call)(q)


def test_bias_refuses_what_forward_dynamics_refuses():
    with pytest.raises(ValueError, match="v has shape"):
        ROVER.bias(ROVER.neutral(), np.zeros(14))
    with pytest.raises(ValueError, match="gravity has shape"):
        ROVER.bias(ROVER.neutral(), np.zeros(15), gravity=(9.81,))


def test_an_unknown_wheel_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match=r"wheels \['front'\] .* has \['front_left', 'front_right'"):
        ROVER.impact_jacobian(ROVER.neutral(), 1.0, ("front_left", "front"))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_an_angle_that_is_not_finite_is_refused(bad):
    with pytest.raises(ValueError, match=f"angle is {bad} rad, allowed: finite"):
        ROVER.impact_jacobian(ROVER.neutral(), bad)


def test_a_refused_call_leaves_the_next_answer_as_it_was():
    before = ROVER.mass_matrix(ROVER.neutral())
    with pytest.raises(ValueError, match="v has shape"):
        asked(v=np.zeros(3))
    assert np.array_equal(ROVER.mass_matrix(ROVER.neutral()), before)
