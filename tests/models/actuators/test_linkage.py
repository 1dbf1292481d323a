"""The linkage of a cylinder against geometry, its friction against a mass on a spring, and its stops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hil.config import load_config
from hil.config.cylinder_parameters import cylinder, linkage
from models.actuators.linkage import Linkage, check_linkage, piston, rub, stop
from models.actuators.pneumatic import make_cylinders, mount_cylinders, push_cylinders
from models.rover import rcp
from models.rover.dynamics import make_work

STROKE = 0.1524  # m, 6 in
PINS = Linkage(np.array((0.25, 0.33)), np.array((0.25, 0.0)), 0.0, 0.254, STROKE)
RUBBING = PINS._replace(static=15.0, coulomb=10.0, viscous=50.0)
MASS = 30.0  # kg: a bogie's inertia over the square of the arm
PSI_30 = 30 * 6894.757  # Pa


def length_of(pins: Linkage, angle: float) -> float:
    """From pin to pin [m], the clevis turned about the joint: a positive angle lowers what is ahead."""
    turned = complex(*pins.clevis) * complex(math.cos(angle), -math.sin(angle))
    return abs(turned - complex(*pins.post))


@given(
    *(st.floats(-0.5, 0.5) for _ in range(4)),
    st.floats(-0.6, 0.6),
)
@settings(deadline=None)
def test_the_arm_is_the_slope_of_the_cylinders_length_over_the_joints_angle(px, pz, cx, cz, angle):
    pins = PINS._replace(post=np.array((px, pz)), clevis=np.array((cx, cz)))
    if length_of(pins, angle) < 0.02:  # the pins coincide
        return
    step = 1e-5
    slope = (length_of(pins, angle + step) - length_of(pins, angle - step)) / (2.0 * step)
    extension, arm = piston(pins, angle)
    assert extension == pytest.approx(length_of(pins, angle) - pins.retracted, abs=1e-12)
    assert arm == pytest.approx(slope, abs=2e-7)


@pytest.mark.parametrize(
    ("joint", "wheel"), [("left_bogie", "front_left"), ("right_bogie", "front_right"), ("rear_bogie", "rear_right")]
)
def test_along_and_up_are_those_of_the_rovers_joint(joint, wheel):
    """A clevis at a wheel's centre: the rover's own kinematics give the cylinder's length at any angle."""
    rover = rcp()
    pivot = {"left_bogie": (0.2671, 0.4499), "right_bogie": (0.2671, 0.4499), "rear_bogie": (0.0, 0.4501)}[joint]

    def place(angle: float):
        """Of the wheel's centre, (along, up) [m], from the joint."""
        q = rover.neutral()
        q[7 + rover.joint_names.index(joint)] = angle
        x, y, z = rover.wheel_positions(q)[rover.wheel_names.index(wheel)]
        return np.array((-y if joint == "rear_bogie" else x, z)) - pivot

    post = np.array((0.2, 0.35))
    pins = PINS._replace(post=post, clevis=place(0.0))
    for angle in (-0.3, -0.05, 0.0, 0.1, 0.3):
        wanted = np.linalg.norm(place(angle) - post)
        assert piston(pins, angle)[0] + pins.retracted == pytest.approx(wanted, abs=1e-12)
    assert piston(pins, 0.0)[1] > 0.0  # a longer cylinder presses that wheel down


def test_the_thesis_figures_236_newtons_and_60_newton_metres_near_the_end_of_the_half_bogie():
    config = load_config("sim_impact", ["cylinders.linkage={}"]).cylinders
    thrust = PSI_30 * cylinder(config).area
    assert thrust == pytest.approx(236.0, abs=0.5)
    arm = piston(linkage(config), 0.0)[1]
    assert arm == pytest.approx(0.25, abs=1e-3)
    assert thrust * arm == pytest.approx(60.0, rel=0.02)
    half_bogie = 0.5349 - 0.2671  # m, Table 4-1: front wheel to pivot
    assert half_bogie - 60.0 / thrust == pytest.approx(0.013, abs=1e-3)  # what is left of it beyond the clevis


def test_the_pressure_behind_the_rod_lacks_the_rods_area():
    with_rod = cylinder(load_config("sim_impact", ["cylinders.rod_mm=12.7"]).cylinders)
    assert with_rod.rod_share * with_rod.area == pytest.approx(math.pi / 4 * (38.1e-3**2 - 12.7e-3**2))
    assert cylinder(load_config("sim_impact").cylinders).rod_share == 1.0


def test_without_pins_the_arm_is_constant_and_there_are_no_ends():
    given = linkage(load_config("sim_impact", ["cylinders.friction={}"]).cylinders)
    for angle in (-0.5, 0.0, 0.4):
        assert piston(given, angle) == pytest.approx((STROKE / 2 + 0.25 * angle, 0.25))
    assert stop(given, 1.0, 0.0, 1e-4) == (0.0, 0.0)
    assert linkage(load_config("sim_impact").cylinders) is None


def test_a_constant_arm_gives_the_torque_of_a_cylinder_without_linkage():
    rover, given = rcp(), cylinder(load_config("sim_impact", ["cylinders.rod_mm=12.7"]).cylinders)
    work, q, v = make_work(rover.chain), rover.neutral(), np.zeros(rover.nv)
    torques = []
    for one in (PINS._replace(fixed_arm=given.lever), None):
        mounts, state = mount_cylinders(rover, ("rear_bogie", "left_bogie"), given, one), make_cylinders(2)
        state.pressure[:] = (3e4, 0.0), (1e4, 3e4)
        work.rhs[:] = 0.0
        push_cylinders(mounts, state, q, v, 1e-4, work)
        torques.append(work.rhs.copy())
    assert np.array_equal(*torques)
    retracts = torques[0][6 + rover.tree_joint_names.index("left_bogie")]
    area, rod = math.pi / 4 * 38.1e-3**2, math.pi / 4 * 12.7e-3**2
    assert retracts == pytest.approx(0.25 * (1e4 * area - 3e4 * (area - rod)), rel=1e-12)


def moved(made: Linkage, load, *, steps: int, dt: float, speed: float = 0.0):
    """A mass under friction and stops, as a step of the vehicle takes them, at the stroke's middle at first.

    Args:
        made: the cylinder's.
        load: force [N] from time [s] and place [m].
        steps: how many.
        dt: each [s].
        speed: at first [m/s].

    Returns:
        Place [m], speed [m/s], and the bristle's deflection [m] after each step.
    """
    place, bristle, rows = 0.5 * STROKE, np.zeros(1), []
    for n in range(steps):
        force, damping = rub(made, bristle, 0, speed, dt) if made.static else (0.0, 0.0)
        push, more = stop(made, place, speed, dt)
        damping += more
        speed += dt * (load(n * dt, place) + force + push - damping * speed) / (MASS + damping * dt)
        place += dt * speed
        rows.append((place, speed, bristle[0]))
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize("dt", [1e-4, 5e-4])
def test_friction_holds_a_load_below_its_static_limit_for_as_long_as_one_waits(dt):
    held = 0.9 * RUBBING.static
    rows = moved(RUBBING, lambda t, _: held * min(t, 1.0), steps=round(6.0 / dt), dt=dt)
    third = len(rows) // 3  # once the load stands
    assert np.abs(rows[third:, 0] - STROKE / 2).max() < RUBBING.presliding
    assert abs(rows[-1, 1]) < 1e-6
    # no creep: what a friction that is only viscous near zero would do
    assert rows[-1, 0] - STROKE / 2 == pytest.approx(0.9 * RUBBING.presliding, rel=1e-3)


def test_a_load_above_the_limit_slides_at_the_speed_that_coulomb_and_viscous_friction_leave():
    terminal = (1.2 * RUBBING.static - RUBBING.coulomb) / RUBBING.viscous
    fixed = RUBBING._replace(fixed_arm=0.25)  # endless
    rows = moved(fixed, lambda *_: 1.2 * RUBBING.static, steps=10000, dt=5e-4)
    assert rows[-1, 1] == pytest.approx(terminal, rel=2e-3)


@settings(max_examples=30, deadline=None)
@example(speed=0.28125, dt=5e-4, viscous=0.0, static=1.0)  # reaches an end of the stroke
@given(st.floats(-0.3, 0.3), st.sampled_from((1e-4, 5e-4, 1e-3)), st.floats(0.0, 100.0), st.floats(1.0, 60.0))
def test_friction_and_stops_never_add_energy(speed, dt, viscous, static):
    """Kinetic energy, the bristle's and the stop's: no step makes their sum larger."""
    made = RUBBING._replace(static=static, coulomb=0.5 * static, viscous=viscous)
    rows = moved(made, lambda *_: 0.0, steps=600, dt=dt, speed=speed)
    place, now, bristle = rows.T
    bristle = np.append(bristle[1:], np.nan)  # a row's bristle is of the step's beginning
    over = np.maximum(place - STROKE, 0.0) + np.minimum(place, 0.0)
    stiffness = static / made.presliding
    energy = 0.5 * (MASS * now**2 + stiffness * bristle**2 + 5e5 * over**2)[:-1]
    assert np.diff(energy).max() <= 1e-9 * (0.5 * MASS * speed**2) + 1e-15


def test_a_mass_dragged_slowly_by_a_spring_sticks_and_slips_and_does_not_when_dragged_fast():
    spring, fixed = 4000.0, RUBBING._replace(fixed_arm=0.25, viscous=5.0)

    def stops_in(pull: float, seconds: float) -> int:
        """How often the mass comes to rest again while its spring's end moves at a speed [m/s]."""
        rows = moved(
            fixed, lambda t, place: spring * (pull * t + STROKE / 2 - place), steps=round(seconds / 2e-4), dt=2e-4
        )
        resting = np.abs(rows[:, 1]) < 0.3 * pull
        return int(np.count_nonzero(np.diff(resting.astype(int)) == 1))

    assert stops_in(0.005, 5.0) >= 3
    assert stops_in(0.1, 1.0) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.2, -0.2])
def test_the_ends_of_the_stroke_stop_the_piston(speed):
    rows = moved(PINS, lambda *_: 236.0 * np.sign(speed), steps=15000, dt=1e-4, speed=speed)
    hit = np.sqrt(speed**2 + 236.0 * STROKE / MASS)  # m/s
    most = 236.0 / 5e5 + hit * np.sqrt(MASS / 5e5)  # of a stop without damping
    assert rows[:, 0].max() < STROKE + most
    assert rows[:, 0].min() > -most
    over = 236.0 / 5e5  # of the stop's stiffness
    assert rows[-1, 0] == pytest.approx(STROKE + over if speed > 0.0 else -over, abs=1e-5)


def test_numbers_out_of_range_are_named():
    with pytest.raises(ValueError, match=r"linkage: retracted is 0\.0, .*; static is -1\.0") as caught:
        check_linkage(PINS._replace(retracted=0.0, static=-1.0))
    assert "presliding" not in str(caught.value)
    with pytest.raises(ValueError, match=r"coulomb is 20\.0, allowed: a finite number in \[0, 15\] N"):
        check_linkage(RUBBING._replace(coulomb=20.0))
