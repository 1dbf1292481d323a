"""The least friction that holds a rover: against closed forms, moments, and scipy's linear programs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from models.gravity import GRAVITY_MPS2
from models.rover import juno, rcp, rocker_bogie
from models.statics import RoverStatics, least_friction, stand


def gravity(pitch=0.0, roll=0.0):
    """As on ground that rises by `pitch` ahead and by `roll` to port, in the ground's axes."""
    along, across = -math.sin(pitch), -math.cos(pitch) * math.sin(roll)
    return GRAVITY_MPS2 * np.array([along, across, -math.cos(pitch) * math.cos(roll)])


def against(rover, angle, wheels=("front",)):
    """Normals (wheels, 3) of level ground, and of a plane at an angle under some wheels."""
    plane = (-math.sin(angle), 0.0, math.cos(angle))
    return np.array([plane if name.startswith(wheels) else (0.0, 0.0, 1.0) for name in rover.wheel_names])


def by_linear_programs(standing):
    """The same coefficient: halved between those of which linprog finds forces and those of which it finds none."""
    wheels, none = len(standing.point), np.zeros(3 * len(standing.point))
    one = np.eye(wheels)
    equations = np.concatenate([standing.normal, standing.ahead, standing.left]).T / standing.weight

    def enough(mu):
        cone = [
            np.hstack([-mu * one, sign * one * (k == 0), sign * one * (k == 1)]) for k in (0, 1) for sign in (1, -1)
        ]
        bounds = [(0.0, None)] * wheels + [(None, None)] * 2 * wheels
        limits = np.concatenate(cone)
        goal = standing.load / standing.weight
        return linprog(none, limits, np.zeros(len(limits)), equations, goal, bounds).status == 0

    low, high = 0.0, 4.0
    while high - low > 1e-7:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@pytest.mark.parametrize("build", [rcp, rocker_bogie, juno])
@pytest.mark.parametrize(("pitch", "roll"), [(0.3, 0.0), (-0.2, 0.0), (0.15, 0.2)])
def test_on_even_ground_the_tangent_of_its_steepest_slope_is_needed(build, pitch, roll):
    rover = build()
    pull = gravity(pitch, roll)
    found = least_friction(stand(rover, rover.neutral(), gravity=pull))
    assert found.coefficient == pytest.approx(math.hypot(*pull[:2]) / -pull[2], abs=1e-6)


def test_on_level_ground_no_friction_is_needed_and_the_loads_are_those_of_the_statics():
    rover = rcp()
    torque = {"left_bogie": 30.0, "right_bogie": -12.0}
    base = least_friction(stand(rover, rover.neutral()))
    found = least_friction(stand(rover, rover.neutral(), torque=torque))
    statics = RoverStatics(rover)
    asked = [torque.get(name, 0.0) for name in statics.joint_names]
    assert base.coefficient == found.coefficient == 0.0
    assert found.normal - base.normal == pytest.approx(statics.influence(rover.neutral()) @ asked, abs=1e-6)
    assert found.normal.sum() == pytest.approx(rover.mass * GRAVITY_MPS2, rel=1e-9)


def test_four_wheels_against_a_wall_need_what_moments_about_the_rear_wheels_say():
    """Front wheels: N against the wall, mu N up it; rear: mu times their load forward, which is N. One quadratic."""
    rover = juno()
    standing = stand(rover, rover.neutral(), against(rover, math.radians(90.0)))
    rear = min(point[0] for point in standing.point)
    wall = max(point[0] for point in standing.point)
    height = rover.tree.wheels[0].radius  # of the contact at the wall
    centre, reach = standing.centre[0] - rear, wall - rear
    # (reach mu^2 + height mu) N' = centre (1 + mu^2), N' = mu W / (1 + mu^2) cancelled
    wanted = (-height + math.sqrt(height**2 + 4.0 * (reach - centre) * centre)) / (2.0 * (reach - centre))
    assert least_friction(standing).coefficient == pytest.approx(wanted, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("build", [rcp, rocker_bogie])
@pytest.mark.parametrize(("angle_deg", "wheels"), [(40.0, ("front",)), (75.0, ("middle",)), (90.0, ("rear",))])
def test_six_wheels_on_a_step_need_what_linear_programs_find(build, angle_deg, wheels):
    rover = build()
    standing = stand(rover, rover.neutral(), against(rover, math.radians(angle_deg), wheels))
    found = least_friction(standing)
    assert found.coefficient == pytest.approx(by_linear_programs(standing), abs=1e-6)


def test_the_forces_hold_the_rover_and_stay_inside_their_cones():
    rover = rcp()
    normals = against(rover, math.radians(60.0))
    normals[1] = (0.0, math.sin(0.3), math.cos(0.3))  # one wheel on ground that also falls to a side
    standing = stand(rover, rover.neutral(), normals, gravity=gravity(0.1, 0.1), pull=(-50.0, 0.0, 0.0, 0.0, 5.0, 0.0))
    found = least_friction(standing)
    held = found.normal @ standing.normal + found.ahead @ standing.ahead + found.left @ standing.left
    assert held == pytest.approx(standing.load, abs=1e-6 * standing.weight)
    assert (found.normal >= 0.0).all()
    assert (np.hypot(found.ahead, found.left) <= found.coefficient * found.normal + 1e-6).all()


def test_a_pull_at_the_drawbar_needs_its_share_of_the_weight():
    rover = rcp()
    standing = stand(rover, rover.neutral(), pull=(-200.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert least_friction(standing).coefficient == pytest.approx(200.0 / standing.weight, abs=1e-8)


def test_a_rover_that_no_friction_holds_needs_infinite_friction():
    rover = rcp()
    rear_only = np.array([name.startswith("rear") for name in rover.wheel_names])
    found = least_friction(stand(rover, rover.neutral()).only(rear_only))
    assert math.isinf(found.coefficient)
    assert np.isnan(found.normal).all()


def test_where_the_rover_stands_and_where_it_heads_does_not_count():
    rover = rcp()
    q = rover.neutral()
    q[:3], q[3:7] = (3.0, -2.0, 1.0), (0.0, 0.0, math.sin(0.4), math.cos(0.4))
    normals = against(rover, math.radians(50.0))
    turned = np.array([(math.cos(0.8) * x, math.sin(0.8) * x, z) for x, _, z in normals])
    here, there = (least_friction(one) for one in (stand(rover, rover.neutral(), normals), stand(rover, q, turned)))
    assert there.coefficient == pytest.approx(here.coefficient, abs=1e-6)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"normal": (0.0, 0.0, 2.0)}, "unit vectors"),
        ({"normal": (0.0, 1.0, 0.0)}, "along its axle"),
        ({"gravity": (0.0, 0.0, 0.0)}, "not all 0"),
        ({"gravity": (0.0, math.nan, -9.8)}, "finite"),
        ({"pull": (0.0,) * 5}, "6 finite numbers"),
        ({"torque": {"front_left_drive": 1.0}}, "not suspension joints"),
        ({"torque": {"left_bogie": math.inf}}, "torque is"),
        ({"held": ["tail"]}, "tail"),
    ],
)
def test_what_cannot_stand_so_is_refused_in_words(wrong, words):
    rover = rcp()
    with pytest.raises(ValueError, match=words):
        stand(rover, rover.neutral(), **wrong)
