"""Compliant legs: against springs in series by hand, and a plate, a leg and a mass integrated by scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from models.contact.contact_points import DEPTH, ONSET_RATE, RATE
from models.contact.laws import Law, law_force, make_law
from models.contact.legs import leg_deflection
from models.contact.obstacle import Obstacle, make_contact, push_obstacle
from models.rover import rcp
from models.rover.dynamics import fill_bias, make_work, place_bodies

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

ROVER = rcp()
RADIUS, FRONT_X = 0.175, 0.5349
LEFT, RIGHT = 0, 1
STEEL = make_law("hertz", 1e9, exponent=1.5)


def deflection(law: Law, leg: float, *, depth, rate=0.0, onset=0.07, before=0.0, damping=0.0, backlash=0.0, dt=1e-4):
    """Of a leg of stiffness `leg` over one point."""
    contact_points = make_contact(1).contact_points[0]
    contact_points[0, [DEPTH, RATE, ONSET_RATE]] = depth, rate, onset
    return leg_deflection(law, 1.0 / leg, damping, backlash, contact_points, before, dt)


def test_two_linear_springs_share_the_depth_by_their_compliances():
    plate = make_law("hertz", 3e5)
    assert deflection(plate, 1e5, depth=4e-3) == pytest.approx(3e-3, rel=1e-12)


@pytest.mark.parametrize("leg", [1e2, 5.5e4, 1e9])
@pytest.mark.parametrize("depth", [1e-9, 1e-5, 2e-3])
@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_at_rest_plate_and_leg_bear_the_same_force(leg, depth, p):
    plate = make_law("hertz", 1e9, exponent=p)
    x = deflection(plate, leg, depth=depth)
    root = brentq(lambda y: plate.stiffness * (depth - y) ** p - leg * y, 0.0, depth, xtol=1e-18, rtol=1e-14)
    assert x == pytest.approx(root, rel=1e-8, abs=1e-15)


def test_a_leg_that_lags_behind_a_retreating_wheel_lets_go_of_the_plate():
    """Given 3 mm, its damper lets it return only slowly, while the wheel is 1 mm deep: apart."""
    x = deflection(STEEL, 1e4, depth=1e-3, rate=-1.0, before=3e-3, damping=1e3, dt=1e-4)
    assert x == pytest.approx(3e-3 / (1.0 + 1e4 * 1e-4 / 1e3))  # relaxing by itself
    assert law_force(STEEL, 1e-3 - x, 0.0, 0.07) == 0.0


def impact(law: Law, leg: float, damping: float, mass: float, speed: float, dt: float):
    """Forces over time of a mass behind a leg that hits the law, by the kernel and semi-implicit Euler."""
    depth, rate, x, forces = 0.0, speed, 0.0, []
    while depth >= 0.0 and len(forces) < 100000:
        before = x
        x = deflection(law, leg, depth=depth, rate=rate, onset=speed, before=before, damping=damping, dt=dt)
        force = law_force(law, depth - x, rate - (x - before) / dt, speed)
        forces.append(force)
        rate -= dt * force / mass
        depth += dt * rate
    return np.array(forces), -rate / speed


def test_an_elastic_leg_before_a_stiff_plate_hits_as_the_leg_alone():
    """sqrt(k m) v and half a period of the series spring, which steel hardly softens."""
    forces, restitution = impact(make_law("hertz", 1e9), 5.5e4, 0.0, 60.0, 0.07, 1e-4)
    series = 5.5e4 * 1e9 / (5.5e4 + 1e9)
    assert forces.max() == pytest.approx(0.07 * math.sqrt(series * 60.0), rel=1e-3)
    assert len(forces) * 1e-4 == pytest.approx(math.pi * math.sqrt(60.0 / series), abs=3e-4)
    assert restitution == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    "law", [make_law("hunt_crossley", 2e5, restitution=0.6), make_law("gonthier", 5e7, exponent=1.5, restitution=0.5)]
)
def test_a_damped_leg_and_a_lossy_plate_follow_their_differential_equation(law):
    """Depth, rate and x integrated together: m depth'' = -F with F(depth - x, rate - x') = k x + c x' solved for x'."""
    mass, speed, leg, damping = 20.0, 0.07, 8e4, 400.0

    def leg_speed(depth, rate, x):
        def excess(y):
            return law_force(law, depth - x, rate - y, speed) - leg * x - damping * y

        return brentq(excess, -10.0, 10.0, xtol=1e-15)

    def motion(_t, state):
        depth, rate, x = state
        y = leg_speed(depth, rate, x)
        return [rate, -law_force(law, depth - x, rate - y, speed) / mass, y]

    dt = 1e-5
    forces, restitution = impact(law, leg, damping, mass, speed, dt)
    end = len(forces) * dt
    found = solve_ivp(motion, (0.0, 0.9 * end), [0.0, speed, 0.0], rtol=1e-8, atol=1e-11, dense_output=True)
    times = np.linspace(0.02 * end, 0.9 * end, 30)
    for t in times:
        depth, rate, x = found.sol(t)
        force = law_force(law, depth - x, rate - leg_speed(depth, rate, x), speed)
        assert forces[round(t / dt)] == pytest.approx(force, rel=5e-3, abs=5e-3 * forces.max())
    assert restitution < 0.9


@pytest.mark.parametrize("law", [STEEL, make_law("gonthier", 1e9, exponent=1.5, restitution=0.7)])
def test_halving_the_step_hardly_changes_an_impact_on_steel(law):
    peaks = [impact(law, 5.5e4, 50.0, 30.0, 0.07, dt)[0].max() for dt in (1e-4, 5e-5)]
    assert peaks[0] == pytest.approx(peaks[1], rel=2e-3)


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_leg_gives_no_energy(restitution):
    law = make_law("hunt_crossley", 1e9, exponent=1.5, restitution=restitution)
    assert impact(law, 5.5e4, 20.0, 30.0, 0.07, 1e-5)[1] < 1.0


def push(obstacle: Obstacle, contact, v=None, dt=1e-4):
    work = make_work(ROVER.chain)
    place_bodies(ROVER.chain, ROVER.neutral(), work)
    fill_bias(ROVER.chain, np.zeros(15) if v is None else v, np.zeros(3), work)
    work.rhs[:] = 0.0
    for wheel in (LEFT, RIGHT):
        push_obstacle(ROVER.chain, obstacle, ROVER.neutral(), wheel, dt, contact, work)
    return work.rhs.copy()


def plate(depth: float, **given) -> Obstacle:
    """A wall that the neutral rover's front wheels press `depth` into."""
    return Obstacle(math.pi / 2, FRONT_X + RADIUS - depth, 3e5, 1.0, 1.0, 0.0, 0.005, **given)


def test_each_leg_gives_by_its_own_compliance():
    contact = make_contact(2)
    force = push(plate(4e-3, leg_compliance=np.array([1e-5, 1.0 / 3e5])), contact)
    assert contact.deflection == pytest.approx([3e-3, 2e-3], rel=1e-9)
    assert contact.force == pytest.approx([300.0, 600.0], rel=1e-9)
    assert force[0] == pytest.approx(-900.0, rel=1e-9)
    assert contact.gap == pytest.approx([-4e-3, -4e-3], rel=1e-9)  # of the wheel as the dynamics have it


def test_no_compliance_is_the_rigid_leg():
    rigid, soft = make_contact(2), make_contact(2)
    push(plate(1e-3), rigid)
    push(plate(1e-3, leg_compliance=np.full(2, 1e-16)), soft)
    assert rigid.force[LEFT] == pytest.approx(300.0, rel=1e-9)
    assert soft.force == pytest.approx(rigid.force, rel=1e-6)
    assert rigid.deflection[LEFT] == 0.0


@pytest.mark.parametrize(("damping", "left"), [(0.0, 0.0), (100.0, 3e-3 * 0.5**2)])
def test_away_from_the_plate_a_leg_relaxes_at_its_own_pace(damping, left):
    contact = make_contact(2)
    contact.deflection[:] = 3e-3
    away = plate(-0.01, leg_compliance=np.full(2, 1e-5), leg_damping=damping)
    for _ in range(2):
        push(away, contact, dt=1e-3)  # damping over (damping + dt/compliance) a step: 100/(100 + 100)
    assert contact.deflection == pytest.approx(left)
    assert not contact.force.any()


@pytest.mark.parametrize("backlash", [0.0, 1e-3, 2.5e-3])
def test_a_leg_with_backlash_bites_after_its_free_play(backlash):
    """Quasi-static curve of force over depth: nothing up to the play, then plate and leg in series."""
    law, leg, contact = make_law("hertz", 3e5), 1e5, make_contact(2)
    series = 3e5 * leg / (3e5 + leg)
    for depth in np.linspace(0.0, 5e-3, 51):
        push(plate(depth, leg_compliance=np.full(2, 1.0 / leg), leg_backlash=backlash), contact)
        assert contact.force == pytest.approx([series * max(depth - backlash, 0.0)] * 2, rel=1e-9, abs=1e-6)
        assert contact.deflection[LEFT] == pytest.approx(
            min(depth, backlash) + max(depth - backlash, 0.0) * series / leg, rel=1e-9, abs=1e-12
        )
    assert law.stiffness == 3e5
    push(plate(-1.0, leg_compliance=np.full(2, 1.0 / leg), leg_backlash=backlash), contact)
    assert contact.deflection == pytest.approx([backlash] * 2, abs=1e-15)  # only the spring pushes the leg back


def test_backlash_takes_nothing_from_the_energy_of_an_elastic_impact():
    law, dt, backlash = make_law("hertz", 1e7), 1e-5, 2e-3
    depth, rate, x, biting = 0.0, 0.07, 0.0, 0.0
    for _ in range(40_000):
        x = deflection(law, 5.5e4, depth=depth, rate=rate, before=x, backlash=backlash, dt=dt)
        force = law_force(law, depth - x, rate, 0.07)
        biting = biting or (depth if force > 1.0 else 0.0)
        rate -= dt * force / 30.0
        depth += dt * rate
        if rate < 0.0 and force == 0.0:
            break
    assert biting == pytest.approx(backlash, rel=0.02)
    assert rate == pytest.approx(-0.07, rel=1e-3)
