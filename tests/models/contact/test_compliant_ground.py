"""Visco-elastic ground: against the law by hand, statics, one mass's oscillation, and its place between the limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from models.contact.compliant import make_compliant_ground, push_compliant_ground
from models.contact.laws import make_law
from models.contact.obstacle import Obstacle, make_contact, push_obstacle
from models.contact.wheel_slots import make_ground_contact
from models.impact import effective_kinetic_energy
from models.kernels.compiled import FloatArray
from models.rover import rcp
from models.rover.dynamics import fill_bias, fill_mass_matrix, make_work, place_bodies
from models.rover.factor import factorise, solve
from models.vehicle import move

ROVER = rcp()
WHEELS = range(6)
MASS, G, RADIUS = 120.0, 9.81, 0.175
GRAVITY = np.array([0.0, 0.0, -G])
SPEED = 0.07


class Run:
    """A rover on firm ground, in steps of the kernels as models.vehicle takes them."""

    def __init__(self, compliant, obstacle=None, gravity: FloatArray = GRAVITY) -> None:
        self.compliant, self.obstacle, self.gravity = compliant, obstacle, gravity
        self.q, self.v = ROVER.neutral(), np.zeros(ROVER.nv)
        self.work, self.ground, self.contact = make_work(ROVER.chain), make_ground_contact(6), make_contact(2)

    def step(self, dt: float) -> None:
        chain, work = ROVER.chain, self.work
        place_bodies(chain, self.q, work)
        fill_bias(chain, self.v, self.gravity, work)
        fill_mass_matrix(chain, work)
        work.rhs[:] *= -1.0
        for wheel in WHEELS:
            push_compliant_ground(chain, self.compliant, None, self.q, wheel, dt, self.ground, work)
        for wheel in range(2 if self.obstacle else 0):
            push_obstacle(chain, self.obstacle, self.q, wheel, dt, self.contact, work)
        factorise(chain, work.mass_matrix)
        solve(chain, work.mass_matrix, work.rhs)
        self.v += dt * work.rhs
        move(self.q, self.v, dt, work)


def force_of(compliant, height: float, v=None, wheel: int = 0, dt: float = 0.0):
    """Readings and generalised force (nv,) with the base `height` above its place on the ground."""
    run = Run(compliant)
    run.q[2] = height
    place_bodies(ROVER.chain, run.q, run.work)
    fill_bias(ROVER.chain, run.v if v is None else v, np.zeros(3), run.work)
    run.work.rhs[:] = 0.0
    push_compliant_ground(ROVER.chain, compliant, None, run.q, wheel, dt, run.ground, run.work)
    return run.ground, run.work.rhs.copy()


def sinking(rate: float):
    v = np.zeros(ROVER.nv)
    v[2] = -rate
    return v


LINEAR = make_compliant_ground(make_law("kelvin_voigt", 1e5, damping=300.0))
NONLINEAR = make_compliant_ground(make_law("visco_elastic", 1e6, exponent=1.5, damping=3e6))


@pytest.mark.parametrize("rate", [-0.02, 0.0, 0.1])
def test_the_ground_pushes_by_the_law(rate):
    """(5.31): k d + b d'; (5.32) with n = p = 3/2: d^1.5 (k + b d')."""
    linear, force = force_of(LINEAR, -1e-3, sinking(rate))
    assert linear.vertical[0] == pytest.approx(1e5 * 1e-3 + 300.0 * rate, rel=1e-9)
    assert force[2] == pytest.approx(linear.vertical[0])
    nonlinear, force = force_of(NONLINEAR, -1e-3, sinking(rate))
    assert nonlinear.vertical[0] == pytest.approx(1e-3**1.5 * (1e6 + 3e6 * rate), rel=1e-9)
    assert force[2] == pytest.approx(nonlinear.vertical[0])
    assert nonlinear.sinkage[0] == pytest.approx(1e-3)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.05])
def test_the_visco_elastic_law_is_gonthiers_linear_volumetric_contact_of_a_wheel_on_a_plane(share):
    """Petersen 2012 2.1.2: k_v V (1 + a d'), V the volume of the wheel below the plane, here by quadrature."""
    per_volume, width, a, rate = 2e8, 0.1, 2.0, 0.05
    depth = share * RADIUS
    half = math.sqrt(2.0 * RADIUS * depth - depth**2)
    volume = width * quad(lambda x: math.sqrt(RADIUS**2 - x**2) - (RADIUS - depth), -half, half)[0]
    stiffness = 4.0 / 3.0 * per_volume * width * math.sqrt(2.0 * RADIUS)
    law = make_law("visco_elastic", stiffness, exponent=1.5, damping=a * stiffness)
    found, _ = force_of(make_compliant_ground(law), -depth, sinking(rate))
    assert found.vertical[0] == pytest.approx(per_volume * volume * (1.0 + a * rate), rel=0.01)


@pytest.mark.parametrize("compliant", [LINEAR, NONLINEAR])
def test_a_wheel_off_the_ground_or_leaving_fast_is_not_held(compliant):
    assert not force_of(compliant, 1e-6)[1].any()
    contact, force = force_of(compliant, -1e-3, sinking(-1.0))
    assert contact.vertical[0] == 0.0
    assert not force.any()


def test_a_wheel_that_leaves_within_the_step_is_not_pulled_back():
    """10 N now, and 10 um on, at the end of the step, out of the ground."""
    contact, force = force_of(make_compliant_ground(make_law("hertz", 1e9)), -1e-8, sinking(-0.1), dt=1e-4)
    assert contact.vertical[0] == pytest.approx(10.0)
    assert not force.any()


@pytest.mark.parametrize("sliding", [1e-4, 0.05, -2.0])
def test_friction_is_coulombs_and_against_sliding(sliding):
    v = np.zeros(ROVER.nv)
    v[0] = sliding
    compliant = make_compliant_ground(make_law("hertz", 1e5), friction=0.4, friction_speed=0.005)
    contact, force = force_of(compliant, -1e-3, v)
    expected = -0.4 * 100.0 * sliding / max(abs(sliding), 0.005)
    assert force[0] == pytest.approx(expected, rel=1e-9)
    assert contact.pull[0] == pytest.approx(expected, rel=1e-9)


def test_a_rolling_wheel_does_not_slide():
    v = np.zeros(ROVER.nv)
    v[0] = 0.07
    v[6 + ROVER.joint_names.index("front_left_drive")] = 0.07 / RADIUS
    contact, force = force_of(make_compliant_ground(make_law("hertz", 1e5), friction=0.4), -1e-3, v)
    assert contact.slip[0] == pytest.approx(0.0, abs=1e-12)
    assert contact.pull[0] == pytest.approx(0.0, abs=1e-9)
    assert force[0] == pytest.approx(0.0, abs=1e-9)


STEEL = make_compliant_ground(make_law("kelvin_voigt", 1e9, damping=0.0))
# 1e6 N s/m on wheels of some kg: a step of 0.1 ms could not take it explicitly
STICKY = make_compliant_ground(make_law("kelvin_voigt", 1e8, damping=1e6))


@pytest.mark.slow
@pytest.mark.parametrize(("compliant", "dt"), [(LINEAR, 1e-3), (NONLINEAR, 1e-3), (STEEL, 1e-4), (STICKY, 1e-4)])
def test_a_rover_comes_to_rest_bearing_its_weight(compliant, dt):
    run = Run(compliant)
    for _ in range(5000):
        run.step(dt)
    assert run.ground.vertical.sum() == pytest.approx(MASS * G, rel=1e-4)
    assert np.abs(run.v).max() < 1e-4
    law = compliant.law
    sinkage = RADIUS - ROVER.wheel_positions(run.q)[:, 2]
    assert sinkage == pytest.approx((run.ground.vertical / law.stiffness) ** (1.0 / law.exponent), rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("dt", [1e-4, 5e-5])
def test_on_springs_alone_the_step_loses_little_and_never_gains(dt):
    """The energy loss of implicit springs is of first order in the step."""
    run = Run(make_compliant_ground(make_law("hertz", 1e5)), gravity=np.zeros(3))
    run.q[2], run.v[2] = -1e-3, 0.0
    M = ROVER.mass_matrix(run.q)

    def energy():
        depth = RADIUS - ROVER.wheel_positions(run.q)[:, 2]
        return 0.5 * run.v @ M @ run.v + 0.5e5 * np.sum(np.maximum(depth, 0.0) ** 2)

    before = energy()
    assert before == pytest.approx(6 * 0.5e5 * 1e-6, rel=1e-9)
    for _ in range(round(0.02 / dt)):
        run.step(dt)
    lost = 1.0 - energy() / before
    assert 0.0 < lost < 600.0 * dt


def peak_force(compliant, angle_deg: float, dt: float = 1e-4) -> float:
    """Over both front wheels, without weight: the effect of the impact, without the static deflection."""
    angle = math.radians(angle_deg)
    foot = 0.5349 + RADIUS * (1.0 - math.cos(angle)) / math.sin(angle) + 1e-6
    run = Run(compliant, Obstacle(angle, foot, 5.5e4, 1.0, 1.0, 0.0, 0.005), np.zeros(3))
    run.v[0] = SPEED
    peak = 0.0
    for _ in range(round(0.05 / dt)):
        run.step(dt)
        peak = max(peak, run.contact.force.sum())
    return peak


@pytest.mark.slow
def test_stiffer_ground_moves_the_peak_force_from_that_without_ground_to_that_on_rigid_ground():
    """MacMahon 2016 5.5, fig. 5-12: at 90 degrees, from sqrt(2 T_c k) without ground to that of the plateau, at 60."""
    q, v = ROVER.neutral(), np.zeros(ROVER.nv)
    v[0] = SPEED
    limits = [
        math.sqrt(4.0 * 5.5e4 * effective_kinetic_energy(
            ROVER.mass_matrix(q), ROVER.impact_jacobian(q, math.radians(angle)), v))
        for angle in (90.0, 60.06)
    ]  # fmt: skip
    peaks = [
        peak_force(make_compliant_ground(make_law("kelvin_voigt", k, damping=0.0)), 90.0)
        for k in (1e0, 1e4, 1e5, 1e6, 1e9)
    ]
    assert np.all(np.diff(peaks) > 0.0)
    assert peaks[0] == pytest.approx(limits[0], rel=0.02)
    assert peaks[-1] == pytest.approx(limits[1], rel=0.05)


@pytest.mark.parametrize("name", ["hunt_crossley", "gonthier"])
def test_a_law_that_needs_an_onset_is_refused(name):
    with pytest.raises(ValueError, match=r"firm ground: law has code .*, allowed: kelvin_voigt, visco_elastic, hertz"):
        make_compliant_ground(make_law(name, 1e5))


@pytest.mark.parametrize("given", [{"friction": -0.1}, {"friction": math.nan}, {"friction_speed": 0.0}])
def test_ground_out_of_range_is_refused(given):
    with pytest.raises(ValueError, match=rf"firm ground: {next(iter(given))} is .*, allowed: a finite number"):
        make_compliant_ground(make_law("hertz", 1e5), **given)


def test_a_law_put_together_badly_is_refused():
    with pytest.raises(ValueError, match=r"firm ground: stiffness is -1\.0, allowed"):
        make_compliant_ground(make_law("hertz", 1e5)._replace(stiffness=-1.0))
