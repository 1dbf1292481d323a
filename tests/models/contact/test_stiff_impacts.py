"""A whole rover against a stiff plate: the restitution of every contact law is that of its closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.contact.laws import LAWS, gonthier_factor, hysteretic_restitution, kelvin_voigt_restitution, make_law
from models.contact.obstacle import Obstacle
from models.impact import effective_kinetic_energy
from models.vehicle import make_vehicle_state, run

pytestmark = pytest.mark.slow

SPEED, ASKED, HEIGHT = 0.07, 0.6, 10.0
# stiffness [N/m] and the step [s] at which it has to run
STIFF = [(1e6, 1e-4), (1e9, 1e-5)]


def law_and_restitution(name: str, k: float, mass: float, onset: float):
    """A linear law, and the restitution of `mass` on it in closed form."""
    if name == "kelvin_voigt":
        damping = 0.3 * 2.0 * math.sqrt(k * mass)
        return make_law(name, k, damping=damping), kelvin_voigt_restitution(0.3)
    if name == "visco_elastic":  # k delta (1 + b/k rate) is hysteretic, its factor b/k onset
        return make_law(name, k, damping=0.5 * k / onset), hysteretic_restitution(0.5)
    factor = {
        "hunt_crossley": 1.5 * (1.0 - ASKED),
        "lankarani_nikravesh": 0.75 * (1.0 - ASKED**2),
        "lee_wang": 0.75 * (1.0 - ASKED),
        "gonthier": gonthier_factor(ASKED),
        "hertz": 0.0,
    }[name]
    return make_law(name, k, restitution=ASKED), hysteretic_restitution(factor)


def depths(bench, where, motion):
    """Of both front wheels behind the plate [m]: the contact's own readings are of the start of the last step."""
    plate = where.obstacle
    centres = bench.rover.wheel_positions(motion.q)[:2, [0, 2]]
    normal = [-math.sin(plate.angle), math.cos(plate.angle)]
    return bench.radius - (centres - [plate.foot, 0.0]) @ normal


class Flight:
    """A rover that flies into the plate high above the ground, without weight."""

    def __init__(self, bench, name: str, angle_deg: float, k: float) -> None:
        self.bench, self.rover, self.k = bench, bench.rover, k
        angle = math.radians(angle_deg)
        self.motion = make_vehicle_state(self.rover)
        self.motion.q[2], self.motion.v[0] = HEIGHT, SPEED
        J = self.rover.impact_jacobian(self.motion.q, angle)
        M = self.rover.mass_matrix(self.motion.q)
        onset = float((J @ self.motion.v)[0])
        self.spent = effective_kinetic_energy(M, J, self.motion.v)
        mass = self.spent / onset**2  # that each wheel hits with
        law, self.restitution = law_and_restitution(name, k, mass, onset)
        self.frequency = math.sqrt(k / mass)  # rad/s, of the contact
        reach = bench.radius * (1.0 - math.cos(angle)) / math.sin(angle)
        foot = 0.5349 + reach - HEIGHT / math.tan(angle) + 1e-9
        obstacle = Obstacle(angle, foot, friction=0.0, friction_speed=0.005, **law._asdict())
        self.where = bench.vehicle(drive=bench.free)._replace(obstacle=obstacle, gravity=np.zeros(3))

    def depth(self):
        return depths(self.bench, self.where, self.motion)

    def energy(self) -> float:
        """Kinetic energy plus that of the springs [J]."""
        depth, M = np.maximum(self.depth(), 0.0), self.rover.mass_matrix(self.motion.q)
        return float(0.5 * self.motion.v @ M @ self.motion.v + 0.5 * self.k * depth @ depth)


@pytest.mark.parametrize(("k", "dt"), STIFF)
@pytest.mark.parametrize("angle_deg", [50.0, 90.0])
@pytest.mark.parametrize("name", LAWS)
def test_an_impact_costs_t_c_times_what_the_restitution_takes(bench, name, angle_deg, k, dt):
    """Newton's impact of a system: 1 - e^2 of the effective kinetic energy (3.27), whatever the law."""
    flight = Flight(bench, name, angle_deg, k)
    before = highest = flight.energy()
    touched = False
    for _ in range(20_000):
        run(flight.where, flight.motion, 1, dt)
        highest = max(highest, flight.energy())
        touching = flight.depth().max() > 0.0
        if touched and not touching:
            break
        touched = touched or touching
    assert touched
    assert not touching
    given_back = 1.0 - (before - flight.energy()) / flight.spent
    # Kelvin and Voigt's force jumps at first touch, somewhere within a step
    assert given_back == pytest.approx(flight.restitution**2, abs=0.01 if name == "kelvin_voigt" else 0.001)
    # the energy of semi-implicit Euler swings by half a step's phase, and comes back
    assert highest < before + 0.6 * flight.frequency * dt * flight.spent


@pytest.mark.ci_cases("hunt_crossley")
@pytest.mark.parametrize(("k", "dt"), STIFF)
@pytest.mark.parametrize("name", LAWS)
def test_on_soil_and_with_friction_it_stays_bounded_and_only_loses_energy(bench, name, k, dt):
    """Dropped on the soil before the plate at speed: both wheels hit, and hit again, for 0.2 s."""
    angle = math.radians(60.0)
    law, _ = law_and_restitution(name, k, 30.0, SPEED)
    foot = 0.5349 + bench.radius * math.tan(0.5 * angle) - 0.001
    obstacle = Obstacle(angle, foot, friction=0.3, friction_speed=0.005, **law._asdict())
    where = bench.vehicle(drive=bench.free)._replace(obstacle=obstacle)
    motion = bench.resting()
    motion.q[0], motion.q[2], motion.v[0] = -0.01, motion.q[2] + 0.01, SPEED

    def energy() -> float:
        stale, depth = np.maximum(-motion.obstacle.gap, 0.0), np.maximum(depths(bench, where, motion), 0.0)
        return bench.energy(motion) + 0.5 * float(k * depth @ depth - bench.stiffness * stale @ stale)

    levels, peak = [energy()], 0.0
    for _ in range(200):
        for _ in range(2):
            run(where, motion, round(5e-4 / dt), dt)
            peak = max(peak, motion.obstacle.force.max())
        levels.append(energy())
    assert peak > 100.0
    assert np.isfinite(motion.q).all()
    assert np.abs(motion.v).max() < 0.1  # of 0.07 m/s and a fall of 10 mm
    assert np.diff(levels).max() < 0.0
