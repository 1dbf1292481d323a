"""A rover refuses what it cannot be or be asked, and says which value it was and what is allowed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from models.rover import RcpParameters, Rover, rcp
from models.rover.rcp import rcp_tree
from models.rover.tree import Body, Joint, Tree, WheelMount

ORIGIN = (0.0, 0.0, 0.0)
ROVER = rcp()
GOOD_TREE = rcp_tree(RcpParameters())


@pytest.mark.parametrize("name", [name for name in RcpParameters.__dataclass_fields__ if name != "added_mass"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_parameter_out_of_range_is_refused_by_name_value_and_range(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}, allowed: above 0"):
        rcp(**{name: value})


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


@pytest.mark.parametrize("mass", [0.0, -2.0])
def test_a_body_without_mass_is_refused(mass):
    with pytest.raises(ValueError, match=f"body b: mass is {mass} kg, allowed: above 0"):
        Body("b", mass, ORIGIN, (1.0, 1.0, 1.0))


@pytest.mark.parametrize("inertia", [(1.0, 1.0, 2.1), (3.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, -1.0)])
def test_inertias_that_no_body_has_are_refused(inertia):
    with pytest.raises(ValueError, match=r"body b: principal inertias .* triangle inequality"):
        Body("b", 1.0, ORIGIN, inertia)


def test_a_flat_plate_just_keeps_the_triangle_inequality():
    Body("plate", 1.0, ORIGIN, (0.1, 0.2, 0.1 + 0.2))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_body_with_a_number_that_is_none_is_refused(bad):
    for arguments in ((bad, ORIGIN, (1.0, 1.0, 1.0)), (1.0, (0.0, bad, 0.0), (1.0, 1.0, 1.0))):
        with pytest.raises(ValueError, match=r"body b: .* must be finite, found"):
            Body("b", *arguments)


@pytest.mark.parametrize("key", ["radius", "width"])
@pytest.mark.parametrize("value", [0.0, -0.1, math.nan, math.inf])
def test_a_wheel_without_size_is_refused(key, value):
    with pytest.raises(ValueError, match=f"wheel w: {key} is {value} m, allowed: above 0"):
        WheelMount("w", "b", **{"radius": 0.1, "width": 0.1, key: value})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"origin": (0.0, math.nan, 0.0)}, "origin is .* allowed: finite"),
        ({"axis": (0.0, 2.0, 0.0)}, "axis .* has length 2, allowed: 1"),
        ({"axis": (0.0, math.nan, 0.0)}, "axis .* has length nan, allowed: 1"),
        ({"locked_at": math.inf}, "locked_at is inf rad, allowed: finite"),
        ({"locked_at": 0.1, "axis": (0.6, 0.8, 0.0)}, "axis of a lock is .* allowed: along x, y or z"),
    ],
)
def test_a_joint_that_cannot_be_is_refused(change, said):
    with pytest.raises(ValueError, match=f"joint j: {said}"):
        Joint(**{"name": "j", "parent": "a", "child": "b", "origin": ORIGIN, "axis": (0.0, 1.0, 0.0), **change})


@pytest.mark.parametrize("kind", ["body", "joint", "wheel"])
def test_a_name_used_twice_is_refused(kind):
    key = {"body": "bodies", "joint": "joints", "wheel": "wheels"}[kind]
    items = getattr(GOOD_TREE, key)
    twice = (*items[:-1], replace(items[-1], name=items[0].name))
    with pytest.raises(ValueError, match=f"rover rcp: {kind} named twice: {items[0].name}"):
        replace(GOOD_TREE, **{key: twice})


def test_a_body_that_nothing_carries_is_refused():
    with pytest.raises(ValueError, match=r"bodies without a joint \['rear_right_wheel'\]"):
        replace(GOOD_TREE, joints=GOOD_TREE.joints[:-1])


def test_a_joint_to_nowhere_is_refused():
    stray = Joint("stray", "main_body", "spare", ORIGIN, (0.0, 1.0, 0.0))
    with pytest.raises(ValueError, match=r"unknown bodies \['spare'\]"):
        replace(GOOD_TREE, joints=(*GOOD_TREE.joints, stray))


def bodies(*names: str) -> tuple[Body, ...]:
    return tuple(Body(name, 1.0, ORIGIN, (1.0, 1.0, 1.0)) for name in names)


def link(parent: str, child: str) -> Joint:
    return Joint(f"{parent}_{child}", parent, child, ORIGIN, (0.0, 1.0, 0.0))


@pytest.mark.parametrize(
    "joints",
    [
        (link("b", "c"), link("c", "b")),  # an island: its mass would be lost
        (link("a", "b"), link("b", "c"), link("a", "c")),  # carried twice: its mass would count twice
        (link("a", "b"), link("b", "c"), link("c", "a")),  # the base is carried
    ],
)
def test_a_closed_loop_is_refused(joints):
    with pytest.raises(ValueError, match="rover r: joints make a loop, allowed: each body but a carried once"):
        Tree("r", bodies("a", "b", "c"), joints, ())


def test_a_wheel_that_is_the_base_is_refused():
    with pytest.raises(ValueError, match="rover r: a wheel is the base a"):
        Tree("r", bodies("a", "b"), (link("a", "b"),), (WheelMount("w", "a", 0.1, 0.1),))


def test_a_wheel_on_a_locked_axle_is_refused():
    locked = replace(GOOD_TREE.joints[-1], locked_at=0.0)
    with pytest.raises(ValueError, match="wheel rear_right hangs on a locked joint"):
        Rover(replace(GOOD_TREE, joints=(*GOOD_TREE.joints[:-1], locked)))


def test_a_wheel_with_another_body_fixed_to_it_is_refused():
    fixed = Joint("hub", "rear_right_wheel", "hub", ORIGIN, (0.0, 1.0, 0.0), locked_at=0.0)
    tree = replace(GOOD_TREE, bodies=(*GOOD_TREE.bodies, *bodies("hub")), joints=(*GOOD_TREE.joints, fixed))
    with pytest.raises(ValueError, match="wheel rear_right carries other bodies"):
        Rover(tree)


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
