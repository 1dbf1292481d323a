"""Wheels that differ: bodies stretched to their size, the rest of the rover as it was, and rovers with two radii."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from models.rover import JunoParameters, RcpParameters, cylinder
from models.rover.locks import with_joints_at
from models.rover.own_wheels import OwnWheel, with_own_wheels
from models.rover.ties import place_at_zero

RCP = RcpParameters()


def wheel_and_body(rover, name):
    tree = rover.tree()
    mount = next(wheel for wheel in tree.wheels if wheel.name == name)
    return mount, tree.body[mount.body]


def test_a_wheel_of_another_size_and_mass_is_the_solid_cylinder_of_these_numbers():
    rover = with_own_wheels(RCP, {"rear_left": OwnWheel(radius=0.21, width=0.1, mass=5.0)})
    mount, body = wheel_and_body(rover, "rear_left")
    assert (mount.radius, mount.width, body.mass) == (0.21, 0.1, pytest.approx(5.0))
    assert body.inertia == pytest.approx(cylinder(5.0, 0.21, 0.1), rel=1e-12)


def test_only_the_wheels_that_differ_are_changed():
    before, after = RCP.tree(), with_own_wheels(RCP, {"rear_left": OwnWheel(radius=0.21)}).tree()
    assert after.joints == before.joints
    changed = [new.name for new, old in zip(after.bodies, before.bodies, strict=True) if new != old]
    assert changed == ["rear_left_wheel"]
    assert [new.name for new, old in zip(after.wheels, before.wheels, strict=True) if new != old] == ["rear_left"]


def test_a_rover_whose_wheels_say_nothing_or_the_same_has_the_same_tree():
    assert with_own_wheels(RCP, {"rear_left": OwnWheel()}) is RCP
    mount, body = wheel_and_body(RCP, "rear_left")
    same = with_own_wheels(RCP, {"rear_left": OwnWheel(mount.radius, mount.width, body.mass)})
    assert same.tree() == RCP.tree()


def test_a_wheel_of_its_own_mass_varies_with_the_masses_of_the_rover():
    rover = with_own_wheels(RCP, {"rear_left": OwnWheel(mass=2.0 * RCP.wheel_mass)})
    heavier = type(rover)(wheel_mass=1.1 * RCP.wheel_mass)
    assert wheel_and_body(heavier, "rear_left")[1].mass == pytest.approx(2.2 * RCP.wheel_mass)
    assert wheel_and_body(heavier, "rear_right")[1].mass == pytest.approx(1.1 * RCP.wheel_mass)


def test_it_can_be_locked_and_sent_to_another_process():
    rover = with_own_wheels(RCP, {"rear_left": OwnWheel(radius=0.2)})
    assert pickle.loads(pickle.dumps(rover)).tree() == rover.tree()
    held = with_joints_at(rover, (("rear_bogie", 0.1),)).tree()
    assert {wheel.radius for wheel in held.wheels} == {0.175, 0.2}


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"back": OwnWheel(radius=0.2)}, r"wheels back, allowed: front_left, front_right, middle_left"),
        ({"rear_left": OwnWheel(radius=0.0)}, r"wheel rear_left: radius is 0\.0, allowed: above 0"),
        ({"rear_left": OwnWheel(mass=math.nan)}, r"wheel rear_left: mass is nan, allowed: above 0"),
        ({"rear_left": OwnWheel(radius=0.4)}, r"middle_left and rear_left of radius 0\.175 and 0\.4 m meet"),
        ({"rear_left": OwnWheel(crown=0.05)}, r"crown is 0\.05 m, allowed: at least 0\.06 m, half its width"),
        ({"rear_left": OwnWheel(radius=0.05, crown=0.06)}, r"crown is 0\.06 m, allowed: .* 0\.05 m away"),
    ],
)
def test_a_wheel_that_cannot_be_is_named(own, said):
    with pytest.raises(ValueError, match=said):
        with_own_wheels(RCP, own)


def test_grousers_of_each_wheel_add_to_its_own_radius():
    rover = RCP.build().with_grousers((0.01, 0.01, 0.0, 0.0, 0.02, 0.02))
    assert rover.chain.wheel_radius == pytest.approx(np.array([0.185, 0.185, 0.175, 0.175, 0.195, 0.195]))
    with pytest.raises(ValueError, match="1 heights of grousers, allowed: one for each of 6 wheels"):
        RCP.build().with_grousers((0.01,))


def standing_loads(parameters, pitch):
    """Loads [N] of a front and of a rear wheel of Juno whose body is pitched nose down, by moments about the axles."""
    tree, along = parameters.tree(), np.array([math.cos(pitch), 0.0, math.sin(pitch)])
    carrier = {joint.child: joint for joint in tree.joints}
    ways = {body.name: along @ (place_at_zero(carrier, body.name, (0.0, 0.0, 0.0)) + body.com) for body in tree.bodies}
    mass = sum(body.mass for body in tree.bodies)
    middle = sum(body.mass * ways[body.name] for body in tree.bodies) / mass
    front, rear = (ways[f"{name}_left_wheel"] for name in ("front", "rear"))
    share = (middle - rear) / (front - rear)
    return 0.5 * 9.81 * mass * np.array([share, 1.0 - share])


@pytest.mark.slow
def test_a_rover_with_larger_rear_wheels_stands_nose_down_as_statics_say():
    """Closed form: on hard ground both rockers pitch by the arcsine of the radii's difference over the wheelbase."""
    from hil.config import load_config
    from hil.config.rig import Rig

    settings = ["wheel.of={rear: {radius_m: 0.36}}", "ground.kind=firm", "ground.stiffness=1e8"]
    rig = Rig(load_config("sim_juno", settings))
    juno = JunoParameters()
    pitch = math.asin((0.36 - juno.wheel_radius) / juno.wheelbase)
    front, rear = standing_loads(rig.nominal.rover, pitch)
    assert rear < front
    expected = [front if "front" in name else rear for name in rig.config.layout.wheels]
    assert rig.resting_loads_N == pytest.approx(expected, rel=2e-4)
    _, _, state = rig.nominal.build()
    assert 2.0 * math.asin(state.q[4]) == pytest.approx(pitch, abs=1e-4)
