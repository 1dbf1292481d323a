"""A URDF that is no rover of ours is refused by the name of the link or joint, with what is allowed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import hil
from models.rover.from_links import rover_of
from models.rover.imported import imported
from models.rover.links import rotation_of
from models.rover.locks import locked
from models.rover.reduction import reduce
from models.rover.ties import place_at_zero
from models.rover.urdf import to_urdf
from models.rover.urdf_reader import read_urdf

EXAMPLE = (Path(hil.__path__[0]).parent / "rig_configs" / "rovers" / "four_wheel_rocker.urdf").read_text(
    encoding="utf-8"
)
MASS = '<mass value="32.0"/>'
WHEEL = '<cylinder radius="0.12" length="0.10"/>'


def changed(old: str, new: str, count: int = 1) -> str:
    assert old in EXAMPLE
    return EXAMPLE.replace(old, new, count)


def imported_tree(text: str, wheels=None):
    return rover_of(read_urdf(text), wheels)


REFUSED = {
    "no inertia of a wheel": (
        changed(
            EXAMPLE[EXAMPLE.index('<link name="wheel_fl">') :].split("</link>")[0],
            f'<link name="wheel_fl"><collision><geometry>{WHEEL}</geometry></collision>',
        ),
        "link wheel_fl: no mass, allowed: mass and inertia",
    ),
    "no inertias at all": (
        "".join(part.split("</inertial>")[-1] for part in EXAMPLE.split("<inertial>")),
        "link base_footprint: no mass, allowed: mass and inertia",
    ),
    "a mass of zero": (changed(MASS, '<mass value="0"/>'), "body chassis: mass is 0.0 kg, allowed: above 0"),
    "a mass below zero": (changed(MASS, '<mass value="-1"/>'), "body chassis: mass is -1.0 kg"),
    "a mass that is not a number": (changed(MASS, '<mass value="nan"/>'), "link chassis: value of <mass> is 'nan'"),
    "a mass in words": (changed(MASS, '<mass value="heavy"/>'), "value of <mass> is 'heavy', allowed: finite"),
    "masses in g": (
        changed(MASS, '<mass value="32000"/>'),
        "32015.2 kg in all, allowed: up to 10000 kg; are masses in g",
    ),
    "lengths in mm": (changed('xyz="0 0 0.30"', 'xyz="0 0 300"'), "joint chassis_joint has lengths of 300 m.*in mm"),
    "no inertia tensor": (
        changed('<inertia ixx="0.52" iyy="0.98" izz="1.29" ixy="0" ixz="0.01" iyz="0"/>', ""),
        "link chassis: inertial without <inertia>, allowed: ixx",
    ),
    "a tensor that is not positive definite": (
        changed('ixz="0.01"', 'ixz="5"'),
        "body chassis: principal moments are -",
    ),
    "a tensor beyond the triangle inequality": (changed('iyy="0.98"', 'iyy="3"'), "chassis: principal .* triangle"),
    "a planar joint": (
        changed('type="revolute"', 'type="planar"'),
        "joint left_rocker_joint is planar, allowed: revolute, continuous, prismatic or fixed",
    ),
    "a floating joint": (changed('type="fixed"', 'type="floating"'), "joint chassis_joint is floating"),
    "a loop": (
        changed(
            "</robot>",
            '<joint name="rod" type="fixed"><parent link="left_rocker"/><child link="right_rocker"/></joint></robot>',
        ),
        "link right_rocker: carried by right_rocker_joint and by rod, which closes a loop; allowed: .*<loop>",
    ),
    "a circle": (
        changed('<parent link="base_footprint"/>', '<parent link="mast"/>'),
        "joints close a loop: camera_frame",
    ),
    "two roots": (changed("</robot>", '<link name="box"/></robot>'), "that no joint carries: base_footprint, box"),
    "a joint to nothing": (changed('<child link="mast"/>', '<child link="tower"/>'), "mast_joint: no link tower"),
    "a joint without an end": (changed('<child link="mast"/>', ""), "joint mast_joint: no child"),
    "a link twice": (changed('<link name="camera_frame"/>', '<link name="mast"/>'), "link named twice: mast"),
    "limits of one number": (changed('lower="-0.5"', 'lower="0.5"'), 'limits 0.5 to 0.5 rad, allowed: .*type="fixed"'),
    "an axis of no length": (changed('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>'), "axis is .*, allowed: a direction"),
    "a follower of nothing": (changed('mimic joint="left_rocker_joint"', 'mimic joint="x"'), "follows x, allowed"),
    "wheels of meshes": (
        changed(WHEEL, '<mesh filename="wheel.stl"/>', 4),
        "no wheel recognised.*allowed: name the wheels' links, --wheels",
    ),
    "a wheel off its axle": (
        changed(f"<geometry>{WHEEL}", f'<origin xyz="0.01 0 0"/><geometry>{WHEEL}'),
        "wheel wheel_fl: the middle of its shape is 10 mm off its axle",
    ),
    "wheels forward": (
        changed('rpy="-1.5708 0 0"', 'rpy="0 1.5708 0"', 4),
        "no wheel recognised.*x forward, y to port",
    ),
    "no pair in front": (
        changed('xyz="0.31 -0.09 -0.16"', 'xyz="0.1 -0.09 -0.16"'),
        "front row of wheels: wheel_fl at x",
    ),
    "a sphere of size zero": (
        changed(WHEEL, '<sphere radius="0"/>'),
        "collision sphere of size .*, allowed: 1 numbers",
    ),
    "macros": (changed('<link name="camera_frame"/>', '<xacro name="x"/>'), "macros of xacro"),
    "an entity": ('<!DOCTYPE r [<!ENTITY a "b">]>' + EXAMPLE.split("?>")[1], "a document type or an entity"),
    "half a file": (EXAMPLE[:2000], "not XML: no element found"),
    "no rover": ("<svg/>", "<svg> as its first element, allowed: <robot>"),
    "no links": ("<robot/>", "no <link> in it"),
    "too deep": ("<robot>" + "<a>" * 30 + "</a>" * 30 + "</robot>", "nested deeper than 20"),
    "too many elements": ("<robot>" + "<a/>" * 30_000 + "</robot>", "over 20000 elements"),
    "too long": ("<robot>" + " " * 200_000, "200007 characters, allowed: up to 200000"),
    "too many links": ("<robot>" + '<link name="a"/>' * 501 + "</robot>", "501 links, allowed: up to 500"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_is_no_rover_is_refused_with_its_name_and_what_is_allowed(name):
    text, said = REFUSED[name]
    with pytest.raises(ValueError, match=said):
        imported_tree(text)


def test_wheels_of_two_radii_keep_theirs_and_the_lowest_rim_touches_the_ground():
    text = EXAMPLE
    for link in ("wheel_rl", "wheel_rr"):
        before, after = text.split(f'<link name="{link}">')
        text = f'{before}<link name="{link}">{after.replace(WHEEL, WHEEL.replace("0.12", "0.15"), 1)}'
    rover = imported_tree(text)
    assert [wheel.radius for wheel in rover.tree.wheels] == [0.12, 0.12, 0.15, 0.15]
    carrier = {joint.child: joint for joint in rover.tree.joints}
    heights = [place_at_zero(carrier, wheel.body, (0.0, 0.0, -wheel.radius))[2] for wheel in rover.tree.wheels]
    assert min(heights) == pytest.approx(0.0, abs=1e-12)
    assert max(heights) == pytest.approx(0.03)
    assert [wheel.radius for wheel in imported_tree(to_urdf(rover.tree, whole=True)).tree.wheels] == [
        0.12, 0.12, 0.15, 0.15
    ]  # fmt: skip


def test_the_example_has_its_wheels_by_their_places_and_what_was_left_out_is_told():
    rover = imported_tree(EXAMPLE)
    assert [wheel.name for wheel in rover.tree.wheels] == ["front_left", "front_right", "rear_left", "rear_right"]
    assert rover.wheel_links == ("wheel_fl", "wheel_fr", "wheel_rl", "wheel_rr")
    assert {(wheel.radius, wheel.width) for wheel in rover.tree.wheels} == {(0.12, 0.1)}
    assert rover.notes == (
        "links without mass, left out: base_footprint, camera_frame",
        "axles that point to starboard in the file, turned to port: fr_axle, rr_axle",
    )


def test_a_mimic_joint_is_a_coupling_and_a_fixed_one_a_lock():
    tree = imported_tree(EXAMPLE).tree
    assert [(one.joint, one.sources) for one in tree.couplings] == [
        ("right_rocker_joint", (("left_rocker_joint", -1.0),))
    ]
    assert {joint.name for joint in tree.joints if joint.locked_at is not None} == {"mast_joint"}
    assert reduce(tree)[1] == (
        "left_rocker_joint", "fl_axle", "rl_axle", "right_rocker_joint", "fr_axle", "rr_axle",
    )  # fmt: skip


def test_a_box_around_the_centre_of_mass_meets_the_ground_and_another_is_told():
    assert imported_tree(EXAMPLE).tree.body["chassis"].size == (0.56, 0.36, 0.18)
    beside = imported_tree(changed("<geometry><box", '<origin xyz="0 0 0.1"/><geometry><box'))
    assert beside.tree.body["chassis"].size is None
    assert any("the box of link chassis is not around its centre of mass" in note for note in beside.notes)


def test_a_base_over_the_ground_is_moved_onto_it():
    lifted = imported_tree(changed('xyz="0 0 0.30"', 'xyz="0 0 0"'))
    assert any("the base frame lies +0.3 m under that of the file" in note for note in lifted.notes)
    assert lifted.tree.body["chassis"].com[2] == pytest.approx(0.3, abs=1e-15)


def test_what_is_fixed_to_a_wheel_is_part_of_it():
    hub = '<link name="hub"><inertial><origin xyz="0 0 0.02"/><mass value="0.4"/>'
    hub += '<inertia ixx="1e-3" iyy="1e-3" izz="1e-3"/></inertial></link>'
    hub += '<joint name="hub_joint" type="fixed"><parent link="wheel_fl"/><child link="hub"/></joint>'
    wheel = imported_tree(changed("</robot>", hub + "</robot>")).tree.body["wheel_fl"]
    assert wheel.mass == pytest.approx(2.0)
    assert wheel.com == pytest.approx((0.0, 0.004, 0.0), abs=1e-15)  # the file's z is our y
    # parallel axes: 1.6 kg and 0.4 kg at 20 mm from each other
    assert wheel.inertia == pytest.approx(
        (0.0068 + 1e-3 + 0.32 * 0.02**2, 0.0115 + 1e-3, 0.0068 + 1e-3 + 0.32 * 0.02**2)
    )


@pytest.mark.parametrize("angle", [1.5708, -1.5708, 3.1416, 3.14159])
def test_a_rounded_right_angle_is_one(angle):
    turned = rotation_of(angle, 0.0, 0.0)
    assert (turned == np.round(turned)).all()


def test_angles_are_about_the_axes_of_the_parent_in_the_order_of_urdf():
    roll, pitch, yaw = 0.3, -0.5, 0.9

    def about(axis, angle):
        c, s = math.cos(angle), math.sin(angle)
        plane = [i for i in range(3) if i != axis]
        out = np.eye(3)
        sign = -1.0 if axis == 1 else 1.0
        out[np.ix_(plane, plane)] = [[c, -sign * s], [sign * s, c]]
        return out

    assert np.allclose(rotation_of(roll, pitch, yaw), about(2, yaw) @ about(1, pitch) @ about(0, roll), atol=1e-15)


def test_a_body_of_another_mass_has_moments_in_proportion():
    kind = imported(EXAMPLE)
    (name,) = (name for name in kind.quantities() if "chassis" in name)
    heavier = kind(**{name: 64.0}).tree().body["chassis"]
    assert heavier.mass == 64.0
    assert heavier.inertia == pytest.approx((1.04, 1.96, 2.58))
    assert heavier.products == pytest.approx((0.0, 0.02, 0.0))


def test_locks_hold_joints_and_a_rig_locks_no_joint_twice():
    from models.rover import ExomarsParameters

    usual = ExomarsParameters
    half = locked(usual, (("front_left_steering", 0.2), ("rear_bogie", 0.0)))
    angles = {joint.name: joint.locked_at for joint in half().tree().joints}
    assert angles["front_left_steering"] == 0.2
    assert angles["rear_bogie"] == 0.0
    assert "front_left_steering" not in half.rig_locks()
    assert "rear_right_steering" in half.rig_locks()
    assert locked(usual, (("steering", 0.1),)).rig_locks() == ()
    assert set(half.turning()) == set(usual.turning()) - {"rear_bogie"}
    assert "rear_bogie" not in half.bogies()
