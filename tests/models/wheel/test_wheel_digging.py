"""Slip sinkage and what grousers shear at their sides; both off, nothing differs to the last bit."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from models.wheel import FlexibleWheel, RigidWheel, Ring, Soil
from models.wheel.shear_law import dug_after, dug_by
from models.wheel.soil import sheared_by_grousers

SAND = {"stiffness": 1.2e6, "exponent": 0.9, "friction_angle": 0.52, "rebound": 0.1, "slip_modulus": 0.2}
BEFORE = [
    ("-0x1.1e775b73afbbfp+7", "0x1.c33ad4adfccadp+7", "-0x1.5e2ca9e3f37ddp+4"),
    ("-0x1.28eb78afc09c6p+4", "0x1.d6e235fb428d7p+7", "0x0.0p+0"),
    ("0x1.61b1e19a9200dp+6", "0x1.e7bf84c9ab554p+7", "0x1.2c79f54fd03c4p+4"),
    ("0x1.c2e53c5c4db10p+6", "0x1.eb942b783ed46p+7", "0x1.70ba5437cb84bp+4"),
]
SLIPS = np.linspace(-0.9, 0.9, 19)


def wheel(slip_sinkage=0.0, **more):
    return RigidWheel(0.125, 0.1, Soil(**SAND, slip_sinkage=slip_sinkage), **more)


def sinkage(one, load, slip):
    return brentq(lambda z: one.forces(z, slip).vertical - load, 1e-6, 0.12, xtol=1e-14)


@pytest.mark.parametrize("slip", [-0.5, 0.1, 0.3, 0.7])
def test_under_a_small_load_the_sinkage_grows_by_the_exponential_of_the_digging(slip):
    digs = sinkage(wheel(1.5), 0.5, slip) / sinkage(wheel(), 0.5, slip)
    assert digs == pytest.approx(math.exp(1.5 * abs(slip) * math.tanh(abs(slip) / 0.2)), rel=0.02)


def test_a_wheel_that_does_not_slip_digs_nothing():
    assert wheel(2.0).forces(0.01, 0.0) == wheel().forces(0.01, 0.0)
    assert wheel(2.0).moving_forces(0.01, 0.02, 0.02) == wheel().moving_forces(0.01, 0.02, 0.02)


def test_where_slip_digs_more_the_wheel_pulls_less_under_its_load():
    for slip in (0.2, 0.5, 0.8):
        pulls = [wheel(a).forces(sinkage(wheel(a), 60.0, slip), slip).longitudinal for a in (0.0, 0.7, 1.4)]
        assert pulls[0] > pulls[1] > pulls[2]


@pytest.mark.parametrize("variant", ["exact", "tire_1", "tire_2", "published"])
def test_forces_from_speeds_and_at_an_angle_are_those_of_the_slip(variant):
    one = wheel(1.5, variant=variant)
    forward = 0.02
    for slip in (0.1, 0.4, 0.7):
        still = one.forces(0.012, slip)
        moving = one.moving_forces(0.012, forward, forward / (1.0 - slip), slip_speed=1e-9)
        assert (moving.longitudinal, moving.vertical, moving.torque) == pytest.approx(tuple(still), rel=1e-6)
        drifting = one.forces_at_angle(0.012, slip, 0.0)
        assert (drifting.longitudinal, drifting.vertical, drifting.torque) == pytest.approx(tuple(still), rel=1e-12)


def test_no_power_comes_from_soil_that_is_dug():
    forward, rolling = (0.05 * x for x in np.meshgrid(SLIPS, SLIPS))
    forces = wheel(3.0).moving_forces(0.02, forward, rolling)
    assert (forces.torque * rolling / 0.125 - forces.longitudinal * forward).min() >= -1e-12


def test_a_hole_is_dug_over_a_contact_and_stays_where_the_wheel_stops():
    p, dug, length = wheel(1.5).parameters, 0.0, math.sqrt(2.0 * 0.125 * 0.01)
    for _ in range(1000):
        dug = dug_after(p, dug, 0.5, 0.2, 0.01, 1e-3 * length)
    assert dug == pytest.approx(dug_by(p, 0.5, 0.2) * (1.0 - math.exp(-1.0)), rel=1e-2)
    assert dug_after(p, dug, 0.0, 0.2, 0.01, 0.0) == dug
    assert dug_after(p, dug, 0.0, 0.2, 0.01, 1e3 * length) < 1e-2 * dug
    assert dug_after(p, dug, 0.5, 0.2, 0.0, 1.0) == 0.0


def test_grousers_shear_by_bekkers_factors():
    soil = Soil(**SAND, cohesion=500.0)
    sheared = sheared_by_grousers(soil, 0.01, 0.1)
    assert math.tan(sheared.friction_angle) / math.tan(0.52) == pytest.approx(1.0 + 0.064 * math.atan(10.0), rel=1e-12)
    assert sheared.cohesion == pytest.approx(600.0)
    assert sheared_by_grousers(soil, 0.0, 0.1) is soil
    thrust = RigidWheel(0.125, 0.1, soil, grouser_height=0.01, grouser_thrust=True)
    assert thrust.forces(0.01, SLIPS).torque == pytest.approx(
        RigidWheel(0.135, 0.1, sheared).forces(0.01, SLIPS).torque
    )
    assert repr(thrust).endswith("grouser_height=0.01, grouser_thrust=True)")


def test_a_smooth_rim_slides_at_its_share_of_the_friction_and_cohesion_within_the_soil():
    soil = Soil(**SAND, cohesion=500.0)
    whole, rim = (RigidWheel(0.125, 0.1, soil, rim_friction=share) for share in (1.0, 0.6))
    assert rim.forces(0.01, SLIPS).torque == pytest.approx(0.6 * whole.forces(0.01, SLIPS).torque, rel=1e-12)
    assert rim.normal_force(0.01) == whole.normal_force(0.01)
    assert repr(rim).endswith(", rim_friction=0.6)")
    with pytest.raises(ValueError, match=r"rim_friction is 0\.0, allowed"):
        RigidWheel(0.125, 0.1, soil, rim_friction=0.0)


def test_without_the_terms_a_wheel_is_the_same_to_the_last_bit():
    """Numbers that the wheel gave before it had them."""
    given = RigidWheel(0.175, 0.15, Soil(1.783e6, 0.75, friction_angle=0.52, rebound=0.07, slip_modulus=0.185))
    assert [tuple(map(float.hex, given.forces(0.006, slip))) for slip in (-0.3, 0.0, 0.2, 0.4)] == BEFORE


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda soil: RigidWheel(0.125, 0.1, soil, "xu"), "slip_sinkage is 1, allowed with variant 'xu': 0"),
        (lambda soil: FlexibleWheel(0.125, 0.1, soil, Ring(2.0, 1e5)), "slip_sinkage is 1, allowed: 0"),
    ],
)
def test_a_wheel_whose_stresses_are_others_refuses_it(make, said):
    with pytest.raises(ValueError, match=said):
        make(Soil(**SAND, shear_modulus=0.01, peak_offset=0.4, peak_slope=0.1, slip_sinkage=1.0))


def test_slip_sinkage_out_of_its_range_is_refused():
    with pytest.raises(ValueError, match=r"slip_sinkage is 11\.0, allowed: a finite number in"):
        wheel(11.0)
