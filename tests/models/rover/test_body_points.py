"""Places and Jacobians of points: what finite differences of the places give, on every kind of body."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from models.rover import Rover, juno_exact, rcp
from models.rover.body_points import body_point
from models.rover.space_arm import SpaceArm

AT = (0.1, -0.2, 0.3)
CASES = {
    "behind locked joints": (rcp(locks={"front_left_steering": 0.3}), "front_left_leg"),
    "a round body": (rcp(), "rear_right_wheel"),
    "the base": (rcp(), "main_body"),
    "flexible booms": (SpaceArm().build(), "end_effector"),
    "a closed loop": (juno_exact(), "transverse_rocker"),
}


def moved(rover: Rover, q, v, dt):
    """The configuration after a small step at v, its base turned by scipy."""
    out, turn = q.copy(), Rotation.from_quat(q[3:7])
    out[:3] += dt * turn.apply(v[:3])
    out[3:7] = (turn * Rotation.from_rotvec(dt * v[3:6])).as_quat()
    out[7:] += dt * v[6:]
    return out


@pytest.mark.parametrize("name", CASES)
def test_a_jacobian_is_the_rate_of_place_and_turn(name):
    rover, body = CASES[name]
    q, v = rover.neutral(), np.linspace(-0.5, 0.7, rover.nv)
    q[:7] = 1.0, -2.0, 3.0, *Rotation.from_rotvec([0.3, -0.5, 0.8]).as_quat()
    q[7:] = 0.05 * np.cos(np.arange(rover.nq - 7))
    dt = 1e-5
    before, after = (body_point(rover, moved(rover, q, v, sign * dt), body, AT) for sign in (-1.0, 1.0))
    twist = body_point(rover, q, body, AT).jacobian @ v
    assert twist[:3] == pytest.approx((after.place - before.place) / (2.0 * dt), abs=1e-7)
    turned = Rotation.from_matrix(after.rotation @ before.rotation.T).as_rotvec()
    assert twist[3:] == pytest.approx(turned / (2.0 * dt), abs=1e-7)


def test_the_origins_of_wheels_are_the_places_of_the_wheels():
    rover = rcp()
    q = rover.neutral()
    q[7:] = 0.2
    for wheel, place in zip(rover.tree.wheels, rover.wheel_positions(q), strict=True):
        assert body_point(rover, q, wheel.body).place == pytest.approx(place, abs=1e-12)


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [("nose", AT, r"body 'nose' is unknown, allowed: \["), ("main_body", (0.0, np.nan, 0.0), r"three finite numbers")],
)
def test_bad_input_is_refused(body, at, message):
    rover = rcp()
    with pytest.raises(ValueError, match=message):
        body_point(rover, rover.neutral(), body, at)
