"""Juno (Petersen 2012, 6.1): its mass, its mobility, and a suspension that averages."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

from models.rover import JunoParameters, juno

G = 9.81
TRACK, WHEELBASE, MASS = 1.2, 0.85, 317.7


@pytest.mark.parametrize("change", [{}, {"chains": False}, {"tilt_angle": 0.2}])
def test_it_weighs_what_the_thesis_says_on_four_wheels_of_its_size(change):
    rover = juno(**change)
    assert sum(body.mass for body in rover.tree.bodies) == pytest.approx(MASS)
    assert rover.mass_matrix(rover.neutral())[0, 0] == pytest.approx(MASS)
    places = rover.wheel_positions(rover.neutral())
    assert rover.wheel_names == ("front_left", "front_right", "rear_left", "rear_right")
    assert np.ptp(places, axis=0) == pytest.approx([WHEELBASE, TRACK, 0.0])
    assert places[:, 2] == pytest.approx(11 * 0.0254)


def test_the_thesis_counts_13_with_rods_that_spin_and_without_chains():
    free = {"spin": None}
    assert juno(chains=False, locks=free).nv == 13
    assert juno(locks=free).nv == 11
    assert juno(chains=False).nv == 11
    assert juno().nv == 9
    assert len(juno().tree.bodies) == 10


def standing(rover, heights):
    """Configuration with the wheels at these heights over where they stand on level ground."""
    names = rover.joint_names

    def configuration(x):
        q = rover.neutral()
        q[2], q[3:7] = x[0], Rotation.from_euler("yx", x[1:3]).as_quat()
        q[7 + names.index("left_rocker")] = x[3]
        return q

    level = rover.wheel_positions(rover.neutral())[:, 2]
    found = fsolve(lambda x: rover.wheel_positions(configuration(x))[:, 2] - level - heights, np.zeros(4), xtol=1e-13)
    return configuration(found), found


@pytest.mark.parametrize("wheel", range(4))
def test_one_wheel_raised_lifts_the_chassis_a_quarter_and_pitches_it_half_as_much_as_its_rocker(wheel):
    rover, h = juno(), 1e-3
    heights = h * np.eye(4)[wheel]
    q, (rise, pitch, roll, left) = standing(rover, heights)
    front, port = wheel < 2, wheel % 2 == 0
    assert rise == pytest.approx(h / 4, rel=1e-2)
    # rockers against the world: the raised side pitches twice as much as the chassis, the other stays level
    raised, other = (pitch + left, pitch - left) if port else (pitch - left, pitch + left)
    assert raised == pytest.approx(2.0 * pitch, rel=1e-3)
    assert raised == pytest.approx((-1.0 if front else 1.0) * h / WHEELBASE, rel=1e-2)
    assert abs(other) < 1e-3 * abs(raised)
    assert roll == pytest.approx((1.0 if port else -1.0) * (h / 2) / TRACK, rel=1e-2)
    assert rover.tree_configuration(q)[7 + rover.tree_joint_names.index("right_rocker")] == pytest.approx(-left)


@pytest.mark.parametrize("h", [0.0, 0.1])
def test_left_and_right_wheels_bear_alike_while_one_of_them_climbs(h):
    rover = juno()
    q, _ = standing(rover, np.array([h, 0.0, 0.0, 0.0]))
    up = -rover.impact_jacobian(q, 0.0, rover.wheel_names)
    weight = rover.bias(q, np.zeros(rover.nv), (0.0, 0.0, -G))
    loads, *_ = np.linalg.lstsq(up.T, weight, rcond=None)
    assert up.T @ loads == pytest.approx(weight, abs=1e-6)  # four vertical forces hold it
    assert loads.sum() == pytest.approx(MASS * G)
    assert loads.min() > 0.15 * MASS * G
    assert loads[[0, 2]].sum() == pytest.approx(loads[[1, 3]].sum(), rel=0.08)


def centre_of_mass(rover):
    """Along x and z [m], from the mass matrix in the neutral configuration."""
    M = rover.mass_matrix(rover.neutral())
    return M[1, 5] / M[0, 0], M[0, 4] / M[0, 0]


@pytest.mark.parametrize("tilt", [-0.2, 0.1, 0.3])
def test_tilting_the_chassis_moves_the_centre_of_mass(tilt):
    p = JunoParameters()
    arm = p.chassis_mass / MASS * (p.chassis_height - p.pivot_height)
    (x, z), (level_x, level_z) = centre_of_mass(juno(tilt_angle=tilt)), centre_of_mass(juno())
    assert x - level_x == pytest.approx(-arm * math.sin(tilt), abs=1e-12)  # nose up: backwards, for it lies high
    assert z - level_z == pytest.approx(-arm * (1.0 - math.cos(tilt)), abs=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"wheelbase": 0.5}, "wheelbase is 0.5 m, allowed: above 0.5588 m, or wheels of one side meet"),
        ({"track": 0.2}, "track is 0.2 m, allowed: above 0.25 m, or wheels of both sides meet"),
        ({"chassis_height": 0.3}, "chassis_height is 0.3 m, allowed: above 0.35 m"),
        ({"tilt_angle": 2.0}, "tilt_angle is 2.0 rad"),
    ],
)
def test_a_juno_that_cannot_be_is_refused(change, said):
    with pytest.raises(ValueError, match=f"juno: {said}"):
        juno(**change)
