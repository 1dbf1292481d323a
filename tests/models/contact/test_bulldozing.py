"""Soil that a wheel pushes ahead: against wedges of soil, and under a rover; off, nothing differs to the last bit."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from models.contact.ruts import SoilRegion, make_regions, make_ruts
from models.vehicle import run
from models.wheel import CrownedWheel, FlexibleWheel, RigidWheel, Ring, Soil
from models.wheel.soil import passive_pressure, sheared_by_grousers

SAND = {"stiffness": 1.2e6, "exponent": 0.9, "friction_angle": 0.52, "rebound": 0.1, "slip_modulus": 0.2}
PUSHED = passive_pressure(800.0, 0.52, 15e3)
DEEP = np.array([0.005, 0.02, 0.06])


def wedge(height, cohesion, friction_angle, unit_weight):
    """Least force per width [N/m] with which a smooth, upright face pushes a wedge of soil up a plane through its foot.

    On the plane the soil holds with its cohesion and its friction: the balance of the wedge's forces.
    """

    def push(angle):
        held = cohesion * height / math.sin(angle)
        weight = 0.5 * unit_weight * height**2 / math.tan(angle)
        return held * math.cos(angle) + (weight + held * math.sin(angle)) * math.tan(angle + friction_angle)

    steepest = 0.5 * math.pi - friction_angle
    found = minimize_scalar(push, bounds=(0.01, steepest - 0.01), method="bounded", options={"xatol": 1e-10})
    return float(found.fun)


@pytest.mark.parametrize("friction_deg", [0.0, 20.0, 33.0, 45.0])
@pytest.mark.parametrize("cohesion", [0.0, 250.0, 5e3])
def test_passive_pressure_is_that_of_the_wedge_that_gives_way_first(friction_deg, cohesion):
    friction = math.radians(friction_deg)
    found = passive_pressure(cohesion, friction, 14e3)
    for height in (0.005, 0.03, 0.1):
        force = height * (found.cohesive + 0.5 * found.weight * height)
        assert force == pytest.approx(wedge(height, cohesion, friction, 14e3), rel=1e-6)


@pytest.mark.parametrize("variant", ["exact", "tire_1", "tire_2", "published"])
def test_a_wheel_pulls_less_by_the_wedge_and_has_the_same_load_and_torque(variant):
    before, after = (RigidWheel(0.125, 0.1, Soil(**SAND, bulldozing=one), variant) for one in (None, PUSHED))
    expected = [0.1 * wedge(z, 800.0, 0.52, 15e3) for z in DEEP]
    for slip in (-0.3, 0.0, 0.4):
        one, other = before.forces(DEEP, slip), after.forces(DEEP, slip)
        assert one.longitudinal - other.longitudinal == pytest.approx(expected, rel=1e-6)
        assert (one.vertical == other.vertical).all()
        assert (one.torque == other.torque).all()
        angled = after.forces_at_angle(DEEP, slip, 0.0)
        assert angled.longitudinal == pytest.approx(other.longitudinal, rel=1e-12)
    assert after.forces(-0.01, 0.2) == (0.0, 0.0, 0.0)
    assert after.normal_force(0.02) == before.normal_force(0.02)


def test_it_acts_against_travel_and_gives_no_power():
    wheel = RigidWheel(0.125, 0.1, Soil(**SAND, bulldozing=PUSHED))
    forward, rolling = (0.05 * x for x in np.meshgrid(np.linspace(-1.0, 1.0, 21), np.linspace(-1.0, 1.0, 21)))
    forces = wheel.moving_forces(0.03, forward, rolling)
    assert (forces.torque * rolling / 0.125 - forces.longitudinal * forward).min() >= -1e-12
    ahead, back = wheel.moving_forces(0.03, 0.05, 0.06), wheel.moving_forces(0.03, -0.05, -0.06)
    assert back.longitudinal == pytest.approx(-ahead.longitudinal)
    assert wheel.moving_forces(0.03, 0.0, 0.0).longitudinal == 0.0


def test_grousers_do_not_change_what_the_soil_ahead_bears():
    assert sheared_by_grousers(Soil(**SAND, bulldozing=PUSHED), 0.01, 0.1).bulldozing == PUSHED


def under(bench, **changes):
    """The rover on soil that it pushes ahead, pulled, with the rest of its ground as given."""
    soil = replace(bench.soil, bulldozing=passive_pressure(300.0, math.radians(30.0), 15e3))
    wheel = RigidWheel(bench.radius, 0.15, soil)
    where = bench.vehicle(slip_speed=1e-7, drive=bench.free)
    return wheel, where._replace(ground=where.ground._replace(wheel=wheel.parameters, **changes))


@pytest.mark.slow
def test_a_rovers_pulls_are_the_wheel_models_and_change_its_momentum(bench):
    wheel, where = under(bench)
    motion = bench.driving(where, 4.0)
    pull, _, _ = wheel.forces(motion.ground.sinkage, motion.ground.slip)
    assert motion.ground.pull == pytest.approx(pull, abs=0.1)
    assert (pull < bench.wheel.forces(motion.ground.sinkage, motion.ground.slip).longitudinal - 3.0).all()
    before, impulse = bench.momentum(motion)[0], 0.0
    motion.pull[0] = -150.0
    for _ in range(1000):
        run(where, motion, 1, bench.dt)
        impulse += (motion.ground.pull.sum() - 150.0) * bench.dt
    change = bench.momentum(motion)[0] - before
    assert abs(change) > 1.0
    assert change == pytest.approx(impulse, rel=0.02)


@pytest.mark.soak
def test_a_region_pushes_as_its_soil_everywhere_and_in_a_rut_only_what_stands_above_its_bottom(bench):
    wheel, where = under(bench)
    everywhere = [(-99.0, -99.0), (99.0, -99.0), (99.0, 99.0), (-99.0, 99.0)]
    regions = make_regions([SoilRegion(everywhere, wheel.soil, 0.2)], [[wheel.parameters] * 6])
    hard = RigidWheel(bench.radius, 0.15, replace(bench.soil, stiffness=1e7)).parameters
    elsewhere = where._replace(ground=where.ground._replace(wheel=hard, regions=regions))
    states = [bench.driving(one, 0.5) for one in (where, elsewhere)]
    assert states[0].v == pytest.approx(states[1].v, rel=1e-9, abs=1e-12)

    _, rutted = under(bench, ruts=make_ruts(bench.rover))
    motion = bench.driving(rutted, 10.0, speed=0.9)
    deep = motion.ground.sinkage - (1.0 - bench.soil.rebound) * np.array([0.0, 0.0, *motion.ground.sinkage[:4]])
    pushed = motion.ground.scratch[:, 21]
    expected = [0.15 * wedge(z, 300.0, math.radians(30.0), 15e3) for z in deep]
    assert pushed == pytest.approx(expected, rel=0.05)
    assert pushed[4:].max() < 0.7 * pushed[:2].min()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda soil: RigidWheel(0.125, 0.1, soil, "xu"), "allowed with variant 'xu': None"),
        (lambda soil: FlexibleWheel(0.125, 0.1, soil, Ring(2.0, 1e5)), "bulldozing is .*, allowed: None"),
        (lambda soil: CrownedWheel(0.125, 0.1, soil, 0.5), "bulldozing is .*, allowed: None"),
        (lambda soil: passive_pressure(0.0, 0.5, 0.0), "unit_weight is 0.0, allowed"),
    ],
)
def test_wheels_without_it_and_soil_without_weight_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make(Soil(**SAND, shear_modulus=0.01, peak_offset=0.4, peak_slope=0.1, bulldozing=PUSHED))
