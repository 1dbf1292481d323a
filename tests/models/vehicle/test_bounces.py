"""A cart that falls on hard ground bounces as by hand with each law of impact, comes to rest, and gains no energy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.contact.nonsmooth import make_hard_contacts
from models.contact.rebound import LAWS
from models.kernels.bound import BoundArguments
from models.plant.parameters import OFF
from models.rover import exomars
from models.rover.dynamics import make_work
from models.terrain.profile import make_profile
from models.vehicle import VehicleModel, make_vehicle_state
from models.vehicle.ledger import motion_energy
from models.vehicle.step import Scene, run_bound

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

GRAVITY, DROP = 9.81, 0.02
HIT = math.sqrt(2.0 * GRAVITY * DROP)
TURNING = exomars(locks={"steering": 0.0})
CART = exomars(locks=dict.fromkeys(("steering", "left_bogie", "right_bogie", "rear_bogie"), 0.0))
STEPS = (1e-3, 5e-4)  # of a plain model, and of the twin of a config at 1 kHz


def fall(rover, law, restitution, dt, seconds, pitch=0.0, roll=0.0):
    """By step: height [m], energy over that at rest [J], largest speed upwards [m/s], in roll or in pitch [rad/s]."""
    hard = make_hard_contacts(rover, make_profile([(-50.0, 0.0), (50.0, 0.0)], 0.35, restitution), law=law)
    vehicle = VehicleModel(rover.chain, None, OFF, None, np.array((0.0, 0.0, -GRAVITY)), hard=hard)
    state, work = make_vehicle_state(rover), make_work(rover.chain)

    def energy(q, v):
        return sum(motion_energy(rover.chain, vehicle.gravity, q, v, work))

    resting = energy(state.q.copy(), 0.0 * state.v)
    state.q[2], state.q[3], state.q[4] = DROP, math.sin(0.5 * roll), math.sin(0.5 * pitch)
    state.q[6] = math.sqrt(1.0 - state.q[3] ** 2 - state.q[4] ** 2)
    scene, rows = BoundArguments(Scene(vehicle, state)), []
    for _ in range(round(seconds / dt)):
        rows.append((state.q[2], energy(state.q.copy(), state.v) - resting, np.abs(state.v[2:5]).max()))
        run_bound(scene, 1, dt)
    assert hard.residual[1] == 0.0
    return np.array(rows).T


def tops(heights):
    return [b for a, b, c in zip(heights, heights[1:], heights[2:], strict=False) if a <= b > c]


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("law", LAWS)
def test_a_dropped_cart_bounces_and_rests_as_the_closed_form_says(law, restitution, dt):
    heights, energies, speeds = fall(CART, law, restitution, dt, 2.0)
    assert energies.max() <= energies[0] * (1.0 + 1e-9)
    late = HIT * dt  # an impact is found to the step
    expected = [DROP * restitution ** (2 * bounce) for bounce in (1, 2, 3)]
    for found, height in zip(tops(heights), (h for h in expected if h > 2.0 * late), strict=False):
        assert found == pytest.approx(height, abs=late)
    if restitution < 1.0:
        resting = HIT / GRAVITY * (1.0 + 2.0 * restitution / (1.0 - restitution))
        last = np.flatnonzero(speeds > 1e-6)[-1] * dt
        # An impact is found half of a step early or late: that changes the speed after it by g dt (1 + e)/(2 e), and
        # the flight by dt (1 + e)/e. Bounces shorter than two steps, together 2 dt/(1 - e), are lost.
        bounces = math.log(HIT / (GRAVITY * dt)) / -math.log(restitution) if restitution > 0.0 else 0.0
        each = (1.0 + restitution) / restitution if restitution > 0.0 else 0.0
        assert last == pytest.approx(resting, abs=(bounces * each + 2.0 / (1.0 - restitution) + 2.0) * dt)


@pytest.mark.parametrize("rover", [CART, TURNING], ids=["stiff", "with bogies"])
@pytest.mark.parametrize("law", LAWS)
def test_in_ten_seconds_no_bounce_gains_energy(law, rover):
    _, energies, _ = fall(rover, law, 1.0, 1e-3, 10.0)
    assert energies.max() <= energies[0] * (1.0 + 1e-9)
    assert energies[-1] == pytest.approx(energies[0], rel=5e-3)


@pytest.mark.parametrize("restitution", [0.3, 0.9])
@pytest.mark.parametrize("law", LAWS)
def test_a_cart_that_lands_on_one_wheel_first_comes_to_rest_too(law, restitution):
    _, energies, speeds = fall(CART, law, restitution, 1e-3, 4.0, pitch=0.02, roll=0.015)
    assert energies.max() <= energies[0] * (1.0 + 1e-9)
    assert speeds[-100:].max() < 1e-6
