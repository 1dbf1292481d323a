"""Bogies that the friction of one of their wheels holds up, where statics and moments by hand say that it can."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import root

from models.actuators.drive import Drive
from models.contact.nonsmooth import make_hard_contacts
from models.kernels.bound import BoundArguments
from models.rover import exomars
from models.rover.exomars import ExomarsParameters
from models.statics import least_friction, stand
from models.terrain.profile import make_profile
from models.vehicle import VehicleModel, make_vehicle_state
from models.vehicle.step import Scene, run_bound

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

GRAVITY = 9.81
SIZES = ExomarsParameters()
ROVER = exomars(locks={"steering": 0.0})
FRONT, MIDDLE = (
    [ROVER.wheel_names.index(f"{row}_{side}") for side in ("right", "left")] for row in ("front", "middle")
)
BOGIES = [7 + ROVER.tree_joint_names.index(f"{place}_bogie") for place in ("left", "right", "rear")]
HOLDS = Drive(
    gain=1e9, integral_gain=0.0, torque_limit=math.inf, gear_friction=0.0, friction_speed=1.0,
    coast_damping=0.0, brake_damping=0.0, brakes_on_cut=0.0,
)  # fmt: skip


def heights(q):
    """Of the rims over z = 0 (wheels,) [m]."""
    return ROVER.wheel_positions(ROVER.own_configuration(q))[:, 2] - SIZES.wheel_radius


def lifted(height, wheels):
    """The configuration with these wheels at a height [m] and all others on z = 0."""
    level = ROVER.tree_configuration(ROVER.neutral())

    def put(x):
        q = level.copy()
        q[2], q[BOGIES] = x[0], x[3:]
        sine, cosine = np.sin(0.5 * x[1:3]), np.cos(0.5 * x[1:3])
        q[3:7] = sine[0] * cosine[1], cosine[0] * sine[1], -sine[0] * sine[1], cosine[0] * cosine[1]
        return q

    wanted = height * np.isin(np.arange(6), wheels)
    return put(root(lambda x: heights(put(x)) - wanted, np.zeros(6), tol=1e-13).x)


def friction_that_holds(q, wheels):
    """The least with which statics hold the rover on all wheels but these."""
    bearing = ~np.isin(np.arange(6), wheels)
    return least_friction(
        stand(ROVER, ROVER.own_configuration(q), gravity=(0.0, 0.0, -GRAVITY)).only(bearing)
    ).coefficient


def after_half_a_second(q, friction):
    """State of the rover half a second after it was let go at rest, its drives holding the wheels."""
    hard = make_hard_contacts(ROVER, make_profile([(-50.0, 0.0), (50.0, 0.0)], friction, 0.1), law="stronge")
    vehicle = VehicleModel(ROVER.chain, None, HOLDS, None, np.array((0.0, 0.0, -GRAVITY)), hard=hard)
    state = make_vehicle_state(ROVER)
    state.q[:], state.drives.cut[:] = q, 0.0
    run_bound(BoundArguments(Scene(vehicle, state)), 1000, 5e-4)
    assert hard.residual[1] == 0.0
    return state


@pytest.mark.parametrize("height", [0.01, 0.05])
@pytest.mark.parametrize("wheels", [FRONT[:1], MIDDLE], ids=["one in front", "both in the middle"])
def test_wheels_fall_where_statics_need_more_friction_than_there_is_and_hang_where_there_is_more(height, wheels):
    q = lifted(height, wheels)
    needed = friction_that_holds(q, wheels)
    assert heights(after_half_a_second(q, 0.99 * needed).q)[wheels] == pytest.approx(0.0, abs=2e-4)
    hanging = after_half_a_second(q, 1.05 * needed)
    assert heights(hanging.q)[wheels] == pytest.approx(height, abs=2e-5)
    assert not hanging.ground.vertical[wheels].any()
    assert hanging.ground.vertical.sum() == pytest.approx(ROVER.mass * GRAVITY, rel=1e-6)


@pytest.mark.parametrize("height", [0.01, 0.05, 0.1])
def test_what_holds_them_is_the_friction_of_the_front_wheels_by_the_moments_about_the_pivots_of_the_bogies(height):
    ground = after_half_a_second(lifted(height, MIDDLE), 1.0).ground
    half, drop = 0.25 * SIZES.wheelbase, SIZES.bogie_height - SIZES.wheel_radius  # from a pivot to its axles
    sine = height / (2.0 * half)
    cosine = math.sqrt(1.0 - sine**2)
    ahead = half * cosine - drop * sine
    above = SIZES.wheel_radius + half * sine + drop * cosine
    # the wheel that hangs and what steers it are farther from the pivot than the other
    unequal = GRAVITY * drop * sine * (2.0 * SIZES.wheel_mass + SIZES.steer_mass)
    friction = (ground.vertical[FRONT] * ahead + unequal) / above
    assert ground.pull[FRONT] == pytest.approx(-friction, rel=1e-4)
    assert ground.pull.sum() == pytest.approx(0.0, abs=1e-3)  # the rear wheels push ahead by as much
