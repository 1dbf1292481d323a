"""The sensitivity of T_c against differences of T_c, and its symmetries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from models.impact import effective_kinetic_energy, energy_gradient
from models.rover import rcp, rocker_bogie

ROVER = rcp()
COUPLED = rocker_bogie()  # its rockers by a differential


def moved(q, k: int, h: float):
    """q moved by h along speed k."""
    out, turn = q.copy(), Rotation.from_quat(q[3:7])
    if k < 3:
        out[:3] += turn.apply(np.eye(3)[k]) * h
    elif k < 6:
        out[3:7] = (turn * Rotation.from_rotvec(h * np.eye(3)[k - 3])).as_quat()
    else:
        out[k + 1] += h
    return out


def by_differences(rover, q, v, angle, wheels, on_ground, h=1e-4):
    def energy(at):
        rows = np.vstack([rover.impact_jacobian(at, angle, wheels), rover.impact_jacobian(at, 0.0, on_ground)])
        return effective_kinetic_energy(rover.mass_matrix(at), rows, v)

    # five points: the error is h^4
    return np.array(
        [
            (8.0 * (energy(moved(q, k, h)) - energy(moved(q, k, -h))) - energy(moved(q, k, 2 * h))
             + energy(moved(q, k, -2 * h))) / (12.0 * h)
            for k in range(rover.nv)
        ]
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["locked", "walking", "coupled"])
@pytest.mark.parametrize(
    ("wheels", "on_ground"),
    [
        (("front_left", "front_right"), ()),
        (("front_left",), ()),
        (("front_left", "front_right"), ("front_left", "front_right")),
        (("rear_right",), ("middle_left", "rear_left", "front_right")),
        (("front_left", "front_left"), ()),  # redundant, and stays so
    ],
)
def test_it_is_the_derivative_of_the_energy_at_a_fixed_velocity(seed, kind, wheels, on_ground, walking_rover):
    rover = {"locked": ROVER, "walking": walking_rover, "coupled": COUPLED}[kind]
    random = np.random.default_rng(seed)
    q = rover.neutral()
    q[3:7] = Rotation.from_rotvec(0.3 * random.normal(size=3)).as_quat()
    q[7:] = 0.3 * random.normal(size=rover.nq - 7)
    v, angle = random.normal(size=rover.nv), random.uniform(0.3, 1.5)
    found = energy_gradient(rover, q, v, angle, wheels=wheels, on_ground=on_ground)
    expected = by_differences(rover, q, v, angle, wheels, on_ground)
    assert np.abs(expected).max() > 0.1
    assert found == pytest.approx(expected, abs=1e-7 * np.abs(expected).max())


def test_where_the_rover_stands_does_not_matter_and_neither_does_how_its_wheels_are_turned():
    q = ROVER.neutral()
    q[:3] = 1.0, 2.0, 3.0
    v = np.zeros(ROVER.nv)
    v[0] = 0.07
    gradient = energy_gradient(ROVER, q, v, math.radians(60.0))
    assert gradient[:3] == pytest.approx(0.0, abs=1e-15)
    spins = [6 + i for i, name in enumerate(ROVER.joint_names) if name.endswith("_drive")]
    assert gradient[spins] == pytest.approx(0.0, abs=1e-12)
    left, right = (6 + ROVER.joint_names.index(f"{side}_bogie") for side in ("left", "right"))
    assert gradient[left] == pytest.approx(gradient[right], rel=1e-9)
    assert abs(gradient[left]) > 1e-3


def test_pitching_the_rover_at_a_fixed_world_speed_is_turning_the_plate():
    """Turning all the rover and its velocity by a pitch is turning the plate back by it: dT_c/dpitch = -dT_c/d(angle).

    The base's velocity is in base axes, so it turns with the base.
    """
    q, v, angle, h = ROVER.neutral(), np.zeros(ROVER.nv), math.radians(50.0), 1e-5
    v[0] = 0.07
    v[2] = 0.02
    M = ROVER.mass_matrix(q)
    energy = [effective_kinetic_energy(M, ROVER.impact_jacobian(q, angle + sign * h), v) for sign in (1.0, -1.0)]
    # forward pitch, about y, turns the rover's nose down and the approach (sin, -cos) from it the other way
    assert energy_gradient(ROVER, q, v, angle)[4] == pytest.approx((energy[0] - energy[1]) / (2.0 * h), rel=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v": np.full(15, np.inf)}, r"v is [^,]*, allowed: 15 finite numbers"),
        ({"v": np.zeros(3)}, r"v is [^,]*, allowed: 15 finite numbers"),
        ({"wheels": ("fifth",)}, r"wheels \['fifth'\] are not of this rover"),
        ({"on_ground": ("fifth",)}, r"wheels \['fifth'\] are not of this rover"),
        ({"angle": math.nan}, r"angle is nan rad, allowed: finite"),
        ({"q": np.zeros(16)}, r"q\[3:7\] is a quaternion of norm 0"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        energy_gradient(**{"rover": ROVER, "q": ROVER.neutral(), "v": np.ones(15), "angle": 1.0, **change})
