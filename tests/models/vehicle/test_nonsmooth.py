"""ExoMars on hard ground by nonsmooth contact: Acary's two cases against closed forms, and what may never happen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.contact.nonsmooth import make_hard_contacts
from models.kernels.bound import BoundArguments
from models.plant.parameters import OFF
from models.rover import exomars
from models.rover.dynamics import fill_mass_matrix, make_work, place_bodies
from models.terrain.profile import make_profile
from models.vehicle import VehicleModel, make_vehicle_state
from models.vehicle.ledger import motion_energy
from models.vehicle.step import Scene, run_bound

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

GRAVITY, SLOPE = 9.81, 0.02
LEVEL = [(-50.0, 0.0), (50.0, 0.0)]
STEP = [(-5.0, 0.0), (0.85, 0.0), (0.85, 0.1), (6.0, 0.1)]
ROVER = exomars(locks={"steering": 0.0})
WHEELS = [5 + int(body) for body in ROVER.chain.wheel_body]
RADIUS = float(ROVER.chain.wheel_radius[0])


class Case:
    """A rover on a profile; a slope, positive where the ground rises ahead, is gravity that is tilted back."""

    def __init__(self, points, friction, *, restitution=0.1, slope=0.0, law="newton", drop=0.0, theta=0.5):
        self.hard = make_hard_contacts(ROVER, make_profile(points, friction, restitution), theta, law)
        gravity = np.array((-GRAVITY * math.sin(slope), 0.0, -GRAVITY * math.cos(slope)))
        self.vehicle = VehicleModel(ROVER.chain, None, OFF, None, gravity, hard=self.hard)
        self.state = make_vehicle_state(ROVER)
        self.state.q[2] = drop
        self.scene, self.work = BoundArguments(Scene(self.vehicle, self.state)), make_work(ROVER.chain)

    def run(self, seconds, dt=2e-3, *, torque=0.0):
        self.state.torque[WHEELS] = torque
        run_bound(self.scene, round(seconds / dt), dt)
        assert self.hard.residual[1] == 0.0
        assert self.hard.residual[0] <= 1e-9
        return self

    @property
    def energy(self):
        return sum(motion_energy(ROVER.chain, self.vehicle.gravity, self.state.q.copy(), self.state.v, self.work))


@pytest.fixture(scope="module")
def mass():
    """Mass of the rover, and what the wheels' turning adds to it [kg]."""
    work = make_work(ROVER.chain)
    place_bodies(ROVER.chain, make_vehicle_state(ROVER).q, work)
    fill_mass_matrix(ROVER.chain, work)
    return work.mass_matrix[0, 0], sum(work.mass_matrix[wheel, wheel] for wheel in WHEELS) / RADIUS**2


def test_on_the_slope_it_rolls_back_is_balanced_and_spins_as_the_closed_forms_say(mass):
    rover, turning = mass
    pull = GRAVITY * math.sin(SLOPE)
    case = Case(LEVEL, 0.35, slope=SLOPE).run(1.0)
    assert case.state.v[0] == pytest.approx(-pull * rover / (rover + turning), rel=1e-5)
    before = case.state.v[0]
    assert case.run(1.0, torque=rover * pull * RADIUS / 6).state.v[0] == pytest.approx(before, abs=1e-9)
    before = case.run(1.0, torque=40.0).state.v[0]
    gained = case.run(0.2, torque=40.0).state.v[0] - before
    assert gained / 0.2 == pytest.approx(GRAVITY * (0.35 * math.cos(SLOPE) - math.sin(SLOPE)), rel=1e-6)


def test_steps_of_a_motion_that_is_not_finite_count_as_unsolved():
    case = Case(LEVEL, 0.35)
    case.state.v[WHEELS[0]] = math.nan
    run_bound(case.scene, 3, 1e-3)
    assert case.hard.residual.tolist() == [math.inf, 3.0]


def test_a_wheel_that_rounding_lifts_keeps_its_load():
    """Left out of one step, it would fall by some 40 um."""
    case = Case(LEVEL, 0.35).run(0.5)
    before = case.state.q[2]
    for _ in range(3):
        case.state.q[2] = before + 1e-8
        case.run(2e-3)
        assert (case.state.ground.vertical > 0.0).all()
        assert case.state.q[2] == pytest.approx(before, abs=2e-8)


def test_no_wheel_slides_while_they_push_against_one_another_below_mu():
    names, torque = [*ROVER.wheel_names], np.zeros(6)
    for end, sign in (("front", 1.0), ("rear", -1.0)):
        torque[[i for i, name in enumerate(names) if name.startswith(end)]] = 4.0 * sign
    case = Case(LEVEL, 0.35).run(2.0, torque=torque)  # the rover is free to roll, all wheels together
    assert np.abs(case.state.v[WHEELS] * RADIUS - case.state.v[0]).max() < 1e-9


@pytest.mark.parametrize("law", ["newton", "poisson", "stronge"])
def test_a_fall_of_two_centimetres_ends_at_rest_and_no_impact_makes_energy(law):
    case, energies = Case(LEVEL, 0.35, drop=0.02, law=law), []
    for _ in range(300):
        energies.append(case.run(2e-3).energy)
    lost = energies[0] - energies[-1]
    assert lost > 30.0
    assert np.diff(energies).max() < 1e-3 * lost  # what a step of 2 ms makes of the turning bogies
    assert np.abs(case.run(1.0).state.v).max() < 1e-9


def test_it_climbs_the_step_with_enough_friction_and_stands_before_it_with_acarys():
    def climbed(friction):
        case = Case(STEP, friction, drop=0.02).run(0.5, 1e-3)
        for _ in range(120):  # wheels are driven at 0.3 m/s
            slow = case.state.v[WHEELS] * RADIUS < 0.3
            case.run(0.05, 1e-3, torque=np.where(slow, 40.0, 0.0))
        return case.state.q[2]

    assert climbed(0.35) < 0.01
    assert climbed(0.6) == pytest.approx(0.1, abs=2e-3)


def test_half_the_step_halves_the_error_of_a_fall_and_a_drive_against_the_step():
    def place(dt):
        case = Case(STEP, 0.6, drop=0.02).run(0.4, dt)
        return case.run(0.3, dt, torque=25.0).state.q[:3].copy()

    best = place(1.25e-4)
    errors = [np.linalg.norm(place(dt) - best) for dt in (4e-3, 2e-3, 1e-3)]
    assert errors[1] < 0.75 * errors[0]
    assert errors[2] < 0.75 * errors[1]


def test_theta_and_the_law_are_checked():
    profile = make_profile(LEVEL, 0.3, 0.0)
    with pytest.raises(ValueError, match=r"theta is 0\.4, allowed: 0\.5 to 1"):
        make_hard_contacts(ROVER, profile, 0.4)
    with pytest.raises(ValueError, match="restitution law is 'kane'"):
        make_hard_contacts(ROVER, profile, law="kane")
