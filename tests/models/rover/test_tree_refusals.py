"""Invalid parts and trees are refused, with the value found and the values allowed."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from models.rover import RcpParameters, rocker_bogie
from models.rover.rover import Rover
from models.rover.ties import Coupling
from models.rover.tree import Body, Joint, Tree, WheelMount

ORIGIN = (0.0, 0.0, 0.0)
GOOD_TREE = RcpParameters().tree()


@pytest.mark.parametrize("mass", [0.0, -2.0])
def test_a_body_without_mass_is_refused(mass):
    with pytest.raises(ValueError, match=f"body b: mass is {mass} kg, allowed: above 0"):
        Body("b", mass, ORIGIN, (1.0, 1.0, 1.0))


@pytest.mark.parametrize("inertia", [(1.0, 1.0, 2.1), (3.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, -1.0)])
def test_inertias_that_no_body_has_are_refused(inertia):
    with pytest.raises(ValueError, match=r"body b: inertia is .* triangle inequality"):
        Body("b", 1.0, ORIGIN, inertia)


def test_a_flat_plate_just_keeps_the_triangle_inequality():
    Body("plate", 1.0, ORIGIN, (0.1, 0.2, 0.1 + 0.2))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_body_with_a_number_that_is_none_is_refused(bad):
    for arguments in ((bad, ORIGIN, (1.0, 1.0, 1.0)), (1.0, (0.0, bad, 0.0), (1.0, 1.0, 1.0))):
        with pytest.raises(ValueError, match=r"body b: (mass|com) is .*, allowed: finite"):
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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a", ()), "sources is empty, allowed: one joint or more"),
        (("a", (("a", 1.0),)), "it is coupled to itself, allowed: other joints"),
        (("a", (("b", 1.0), ("b", 2.0))), "source named twice: b, allowed: once"),
        (("a", (("b", 0.0),)), "ratio to b is 0.0, allowed: finite and not 0"),
        (("a", (("b", math.nan),)), "ratio to b is nan, allowed: finite and not 0"),
        (("a", (("b", 1.0),), math.inf), "offset is inf rad, allowed: finite"),
    ],
)
def test_a_coupling_that_cannot_be_is_refused(arguments, said):
    with pytest.raises(ValueError, match=f"coupling of a: {said}"):
        Coupling(*arguments)


@pytest.mark.parametrize(
    ("couplings", "said"),
    [
        ((("left_bogie", "right_bogie"), ("left_bogie", "rear_bogie")), "coupled joint named twice: left_bogie"),
        ((("left_bogie", "nowhere"),), "coupling of left_bogie: nowhere is locked or no joint, allowed: a free joint"),
        ((("front_left_walking", "left_bogie"),), "front_left_walking is locked or no joint, allowed: a free joint"),
        ((("left_bogie", "front_left_walking"),), "front_left_walking is locked or no joint, allowed: a free joint"),
        (
            (("left_bogie", "right_bogie"), ("right_bogie", "rear_bogie")),
            "coupling of left_bogie: source right_bogie is coupled itself, allowed: independent joints",
        ),
    ],
)
def test_couplings_that_do_not_fit_the_rover_are_refused(couplings, said):
    with pytest.raises(ValueError, match=f"rover rcp: .*{said}"):
        replace(GOOD_TREE, couplings=tuple(Coupling(joint, ((source, 1.0),)) for joint, source in couplings))


def test_locking_a_coupled_joint_is_refused():
    with pytest.raises(ValueError, match="coupling of right_rocker: left_rocker is locked"):
        rocker_bogie(locks={"left_rocker": 0.0})


def test_two_wheels_on_one_body_are_refused():
    twice = (*GOOD_TREE.wheels[:-1], replace(GOOD_TREE.wheels[-1], body=GOOD_TREE.wheels[0].body))
    with pytest.raises(ValueError, match="wheel's body named twice: front_left_wheel"):
        replace(GOOD_TREE, wheels=twice)


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
    with pytest.raises(ValueError, match="wheel rear_right is carried by a locked joint"):
        Rover(replace(GOOD_TREE, joints=(*GOOD_TREE.joints[:-1], locked)))


def test_a_wheel_with_another_body_fixed_to_it_is_refused():
    fixed = Joint("hub", "rear_right_wheel", "hub", ORIGIN, (0.0, 1.0, 0.0), locked_at=0.0)
    tree = replace(GOOD_TREE, bodies=(*GOOD_TREE.bodies, *bodies("hub")), joints=(*GOOD_TREE.joints, fixed))
    with pytest.raises(ValueError, match="wheel rear_right carries other bodies"):
        Rover(tree)
