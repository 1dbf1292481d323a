"""The step of models.vehicle and the trapezoidal reference, in free flight against an adaptive one of high order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from models.actuators.drive import Drive
from models.contact.ground import Ground
from models.contact.obstacle import Obstacle
from models.rover import rcp, rocker_bogie
from models.rover.rover import Rover
from models.vehicle import VehicleModel, make_vehicle_state, run
from models.wheel import RigidWheel, Soil
from references.trapezoidal import configuration_rate, trapezoidal

DURATION = 0.5
NOTHING = (0.0, 0.0, 0.0)
EARTH = (0.0, 0.0, -9.81)
ROVERS = {
    "rcp": lambda: rcp(added_mass=22.7),
    "rcp walking and steering": lambda: rcp(locks={"walking": None, "steering": None}),
    "rocker_bogie": rocker_bogie,
}


@pytest.fixture(scope="module", params=list(ROVERS))
def rover(request) -> Rover:
    return ROVERS[request.param]()


@pytest.fixture(scope="module")
def peer(rover, as_peer):
    return as_peer(rover)


def tumbling(rover: Rover):
    """High above the ground, turning about all axes with all joints moving."""
    random = np.random.default_rng(7)
    q, v = rover.neutral(), np.zeros(rover.nv)
    q[:3] = 1.0, -2.0, 10.0
    q[3:7] = Rotation.from_rotvec([0.3, -0.5, 0.8]).as_quat()
    q[7:] = random.normal(size=rover.nq - 7)
    v[:3], v[3:6], v[6:] = (0.5, -0.3, 0.2), (0.7, 0.4, -0.6), random.normal(size=rover.nv - 6)
    return q, v


def exact(rover: Rover):
    """All joints that turn at the end of the fall under gravity, by scipy."""

    def rate(_t, state):
        at, speed = state[: rover.nq].copy(), state[rover.nq :]
        at[3:7] /= np.linalg.norm(at[3:7])
        going = configuration_rate(at, speed)
        return np.concatenate([going, rover.forward_dynamics(at, speed, np.zeros(rover.nv), gravity=EARTH)])

    start = np.concatenate(tumbling(rover))
    found = solve_ivp(rate, (0.0, DURATION), start, method="DOP853", rtol=1e-11, atol=1e-12)
    assert found.success
    q, v = found.y[: rover.nq, -1], found.y[rover.nq :, -1]
    q[3:7] /= np.linalg.norm(q[3:7])
    return np.concatenate([rover.tree_configuration(q), rover.tree_speeds(v)])


def stepped(rover: Rover, dt: float, gravity=NOTHING):
    """By our own step: free of drives and friction, far from ground and obstacle."""
    soil = Soil(2e5, 0.6, friction_angle=0.5, rebound=0.07, slip_modulus=0.2)
    vehicle = VehicleModel(
        rover.chain,
        Ground(np.array(RigidWheel(0.175, 0.12, soil).parameters), 2.0, 0.02, 0.001, 0.005),
        Drive(200.0, 2000.0, 40.0, 0.0, 0.02, 0.0, 40.0, 0.0),
        Obstacle(np.pi / 2, 1e6, 5e4, 1.0, 0.9, 0.2, 0.005),
        np.array(gravity),
    )
    motion, (q, v) = make_vehicle_state(rover), tumbling(rover)
    motion.q[:], motion.v[:] = rover.tree_configuration(q), rover.tree_speeds(v)
    run(vehicle, motion, round(DURATION / dt), dt)
    return motion.q, motion.v


def by_trapezoids(rover: Rover, dt: float, gravity=NOTHING):
    q, v = trapezoidal(rover, *tumbling(rover), dt, round(DURATION / dt), gravity=gravity)
    return rover.tree_configuration(q), rover.tree_speeds(v)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "steps", "ratio"), [(stepped, (2e-3, 1e-3, 5e-4), 2.0), (by_trapezoids, (2e-2, 1e-2, 5e-3), 4.0)]
)
def test_the_error_falls_with_the_step_by_the_order_of_the_integrator(rover, way, steps, ratio):
    end = exact(rover)
    errors = [float(np.linalg.norm(np.concatenate(way(rover, dt, EARTH)) - end)) for dt in steps]
    assert errors[0] > 1e-4
    assert errors[0] / errors[1] == pytest.approx(ratio, rel=0.08)
    assert errors[1] / errors[2] == pytest.approx(ratio, rel=0.04)


def drift(rover: Rover, peer, end) -> tuple[float, float, float]:
    """Relative change of energy, linear and angular momentum in flight without gravity."""
    q, v = tumbling(rover)
    start = rover.tree_configuration(q), rover.tree_speeds(v)
    energy, momentum = peer.energy(*start), peer.momentum(*start)
    change = peer.momentum(*end) - momentum
    return (
        abs(peer.energy(*end) / energy - 1.0),
        float(np.linalg.norm(change[:3]) / np.linalg.norm(momentum[:3])),
        float(np.linalg.norm(change[3:]) / np.linalg.norm(momentum[3:])),
    )


def test_our_step_at_a_tenth_of_a_millisecond_keeps_energy_and_momentum(rover, peer):
    assert max(drift(rover, peer, stepped(rover, 1e-4))) <= 1e-4


def test_the_trapezoidal_rule_keeps_them_better_at_fifty_times_that_step(rover, peer):
    ours, reference = drift(rover, peer, stepped(rover, 1e-4)), drift(rover, peer, by_trapezoids(rover, 5e-3))
    assert max(reference) <= 1e-4
    assert max(ours) > 1e-7  # neither is exact: what is compared is measured
    assert math.isfinite(sum(reference))


@pytest.mark.parametrize("dt", [1e-4, 2e-3])
def test_our_step_keeps_the_quaternion_normal(rover, dt):
    assert np.linalg.norm(stepped(rover, dt)[0][3:7]) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("dt", [0.0, -1e-3, math.nan, math.inf])
def test_the_reference_refuses_a_step_that_is_none(dt):
    rover = rcp()
    with pytest.raises(ValueError, match=f"dt is {dt} s, allowed: above 0"):
        trapezoidal(rover, rover.neutral(), np.zeros(rover.nv), dt, 1)


def test_the_reference_refuses_a_step_it_cannot_solve():
    rover = rcp()
    q, v = tumbling(rover)
    with pytest.raises(ValueError, match=r"dt is 2.0 s, allowed: short enough"):
        trapezoidal(rover, q, 20.0 * v, 2.0, 1)
