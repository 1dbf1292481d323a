"""Traction from speeds: driving, braking, standing, reverse, sideways; smooth through rest, no energy produced."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.wheel import RigidWheel, Soil, traction

RADIUS, WIDTH = 0.265, 0.22
VARIANTS = ("exact", "tire_1", "tire_2", "published")
SLIP_SPEED = 1e-3
speeds = st.one_of(st.floats(-2.0, 2.0), st.floats(-3e-3, 3e-3), st.sampled_from([0.0, 0.05, -0.05]))


def sharp_slip(forward: float, rolling: float) -> float:
    return (rolling - forward) / max(abs(rolling), abs(forward))


def test_slip_is_the_thesis_definition_when_driving_and_its_mirror_when_braking() -> None:
    for forward, rolling in ((0.05, 0.1), (0.1, 0.1), (0.0, 0.1), (0.1, 0.05), (0.1, 0.0), (-0.1, -0.2), (0.1, -0.1)):
        slip, _, _ = traction.slip_and_slide(forward, 0.0, rolling, 1e-4)
        assert slip == pytest.approx(sharp_slip(forward, rolling), abs=2e-3 if forward * rolling < 0 else 5e-6)
    assert traction.slip_and_slide(0.05, 0.0, 0.1, 1e-6)[0] == pytest.approx(1.0 - 0.05 / 0.1, abs=1e-9)


@settings(deadline=None)
@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
@example(0.0, 0.0)
@example(0.1, 0.1)
@example(0.1, -0.1)
@example(0.0, 1e-3)
def test_slip_is_smooth_everywhere_and_never_beyond_two(forward: float, rolling: float) -> None:
    slip, _, reference = traction.slip_and_slide(forward, 0.0, rolling, SLIP_SPEED)
    assert abs(slip) <= 2.0
    assert reference >= max(abs(forward), abs(rolling), SLIP_SPEED) * 0.6
    # second differences over a step far below the slip speed: a kink of slope 1/SLIP_SPEED would leave 5e-3
    h = 1e-5 * SLIP_SPEED
    for df, dr in ((h, 0.0), (0.0, h), (h, -h)):
        ahead = traction.slip_and_slide(forward + df, 0.0, rolling + dr, SLIP_SPEED)[0]
        behind = traction.slip_and_slide(forward - df, 0.0, rolling - dr, SLIP_SPEED)[0]
        assert abs(ahead - 2.0 * slip + behind) < 1e-8


def test_forces_are_smooth_through_rest_in_speed_and_spin(wheel: RigidWheel) -> None:
    steps = np.linspace(-4e-3, 4e-3, 4001)
    for forces in (
        wheel.moving_forces(0.02, steps, 0.0),
        wheel.moving_forces(0.02, 0.0, steps),
        wheel.moving_forces(0.02, steps, steps),
        wheel.moving_forces(0.02, 0.0, 0.0, steps),
    ):
        for force in forces:
            size = np.ptp(force)
            slopes = np.diff(force)
            assert np.max(np.abs(slopes)) < 0.02 * size + 1e-9
            # a kink of the steepest slope would change it by itself within one step
            assert np.max(np.abs(np.diff(slopes))) < 0.05 * np.max(np.abs(slopes)) + 1e-9


def test_a_standing_wheel_is_carried_and_not_pushed(wheel: RigidWheel) -> None:
    longitudinal, lateral, vertical, torque = wheel.moving_forces(0.02, 0.0, 0.0)
    assert (longitudinal, lateral, torque) == (0.0, 0.0, 0.0)
    assert vertical == pytest.approx(wheel.normal_force(0.02)[0], rel=1e-14)


def test_driving_gives_the_forces_by_slip(wheel: RigidWheel) -> None:
    for slip in (0.0, 0.1, 0.5, 0.9):
        found = wheel.moving_forces(0.02, 0.5 * (1.0 - slip), 0.5, slip_speed=1e-6)
        longitudinal, vertical, torque = wheel.forces(0.02, slip)
        assert found == pytest.approx((longitudinal, 0.0, vertical, torque), rel=1e-8, abs=1e-7)


def test_braking_holds_back_and_takes_power_from_the_travel(wheel: RigidWheel) -> None:
    longitudinal, _, _, torque = wheel.moving_forces(0.02, 0.5, 0.2)
    towed = wheel.moving_forces(0.02, 0.5, 0.5)[0]
    assert longitudinal < towed < 0.0
    assert torque < 0.0


def test_reverse_is_the_mirror_of_forward(wheel: RigidWheel) -> None:
    for forward, rolling, sideways in itertools.product((0.3, 0.0), (0.5, 0.1, -0.2), (0.0, 0.1)):
        ahead = wheel.moving_forces(0.02, forward, rolling, sideways)
        back = wheel.moving_forces(0.02, -forward, -rolling, sideways)
        assert back == pytest.approx((-ahead[0], ahead[1], ahead[2], -ahead[3]), rel=1e-13, abs=1e-12)


def test_lateral_force_opposes_the_drift_and_shares_the_limit_with_slip(wheel: RigidWheel) -> None:
    angles = np.radians([0.0, 1.0, 5.0, 20.0, 60.0, 89.0])
    _, lateral, _, torque = wheel.forces_at_angle(0.02, 0.2, angles)
    assert lateral[0] == 0.0
    assert np.all(np.diff(lateral) < 0.0)
    assert np.all(np.diff(torque) < 0.0)
    _, other, _, _ = wheel.forces_at_angle(0.02, 0.2, -angles)
    assert np.array_equal(other, -lateral)
    fastest = wheel.forces(0.02, 1e3)[2] / RADIUS  # the shear limit
    assert np.all(np.hypot(lateral, torque / RADIUS) <= fastest * (1.0 + 1e-12))
    assert np.hypot(lateral[-1], torque[-1] / RADIUS) == pytest.approx(fastest, rel=1e-6)


def test_slip_angle_and_speeds_give_the_same_forces(wheel: RigidWheel) -> None:
    for slip, angle in ((0.3, 0.2), (0.0, -0.1), (-0.4, 0.2)):
        rolling = 0.5
        forward = rolling * (1.0 - slip) if slip >= 0.0 else rolling / (1.0 + slip)
        moving = wheel.moving_forces(0.02, forward, rolling, forward * math.tan(angle), slip_speed=1e-6)
        assert wheel.forces_at_angle(0.02, slip, angle) == pytest.approx(moving, rel=1e-8, abs=1e-6)


def test_without_drift_the_forces_are_those_by_slip(wheel: RigidWheel) -> None:
    for slip in (-0.5, 0.0, 1e-12, 0.3):
        longitudinal, vertical, torque = wheel.forces(0.02, slip)
        found = wheel.forces_at_angle(0.02, slip, 0.0)
        assert found == pytest.approx((longitudinal, 0.0, vertical, torque), rel=1e-13)


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(VARIANTS), st.floats(0.3, 1.75), st.floats(1e-4, 1.0),
    st.one_of(st.just(0.0), st.floats(0.0, 1e7)), st.floats(0.0, 1.3), st.floats(1e-3, 2.0), st.floats(1e-6, 1.0),
    speeds, speeds, speeds,
)  # fmt: skip
@pytest.mark.slow
@example("exact", 1.0, 0.01, 1e7, 0.0, 1e-3, 0.9, 1.0, 0.0, 0.97)
@example("exact", 1.75, 1.0, 0.0, 0.5, 0.2, 0.3, 0.5, 0.0, 0.5)
def test_power_put_in_is_never_less_than_power_taken_out(
    variant: str, exponent: float, rebound: float, cohesion: float, friction: float, modulus: float, u: float,
    forward: float, sideways: float, rolling: float,
) -> None:  # fmt: skip
    soil = Soil(1e6, exponent, cohesion=cohesion, friction_angle=friction, rebound=rebound, slip_modulus=modulus)
    wheel = RigidWheel(RADIUS, WIDTH, soil, variant)
    longitudinal, lateral, _, torque = wheel.moving_forces(u * RADIUS, forward, rolling, sideways)
    put_in = torque * rolling / RADIUS
    dissipated = put_in - longitudinal * forward - lateral * sideways
    assert dissipated >= -1e-12 * (abs(put_in) + abs(longitudinal * forward))


def test_dissipation_is_sliding_and_compaction_and_nothing_else() -> None:
    wheel = RigidWheel(RADIUS, WIDTH, Soil(1e6, 0.8, friction_angle=0.5, rebound=0.1, slip_modulus=0.2))
    forward, rolling, sideways = 0.3, 0.5, 0.05
    longitudinal, lateral, _, torque = wheel.moving_forces(0.03, forward, rolling, sideways, slip_speed=1e-9)
    _, resistance = wheel.normal_force(0.03)
    along = torque / RADIUS
    phi = math.atan2(resistance, wheel.normal_force(0.03)[0])
    dissipated = torque * rolling / RADIUS - longitudinal * forward - lateral * sideways
    sliding = along * (rolling - forward * math.cos(phi)) - lateral * sideways
    assert dissipated == pytest.approx(sliding + resistance * forward, rel=1e-12)


def test_beyond_its_limit_the_rebound_pushes_no_wheel_along() -> None:
    # gamma > 2/(eta+1): the rear half would give back more than the front took
    wheel = RigidWheel(RADIUS, WIDTH, Soil(1e6, 1.75, friction_angle=0.0, rebound=0.9, slip_modulus=0.2))
    assert 0.9 > 2.0 / 2.75
    assert wheel.normal_force(0.02)[1] == 0.0
    assert wheel.moving_forces(0.02, 0.5, 0.5)[0] == 0.0


@pytest.mark.parametrize("sinkage", [0.0, -0.0, -1e-300, -1.0])
def test_a_wheel_that_leaves_the_soil_gives_exactly_zero(wheel: RigidWheel, sinkage: float) -> None:
    assert wheel.moving_forces(sinkage, 0.3, 0.5, 0.1) == (0.0, 0.0, 0.0, 0.0)
    assert wheel.forces_at_angle(sinkage, 0.3, 0.1) == (0.0, 0.0, 0.0, 0.0)


def test_scalars_and_arrays_give_the_same_bits(wheel: RigidWheel) -> None:
    sinkages = np.array([5e-324, 1e-300, 1e-12, 0.01, 0.265])
    moving = wheel.moving_forces(sinkages[:, None], [0.3, -0.1], 0.5, 0.1)
    angled = wheel.forces_at_angle(sinkages[:, None], [0.3, -0.1], 0.2)
    assert [force.shape for force in moving + angled] == [(5, 2)] * 8
    assert np.all(np.isfinite(moving))
    assert tuple(force[3, 1] for force in moving) == wheel.moving_forces(0.01, -0.1, 0.5, 0.1)
    assert tuple(force[3, 1] for force in angled) == wheel.forces_at_angle(0.01, -0.1, 0.2)


def test_grousers_make_a_wheel_of_the_radius_to_their_tips() -> None:
    soil = Soil(1e6, 0.8, cohesion=100.0, friction_angle=0.5, rebound=0.1, slip_modulus=0.2)
    with_grousers, larger = RigidWheel(0.16, 0.15, soil, grouser_height=0.015), RigidWheel(0.175, 0.15, soil)
    assert with_grousers.effective_radius == larger.radius
    assert with_grousers.forces(0.02, 0.3) == larger.forces(0.02, 0.3)
    assert with_grousers.forces(0.17, 0.3) == larger.forces(0.17, 0.3)
    assert np.array_equal(with_grousers.parameters, larger.parameters, equal_nan=True)


def _of_modulus(modulus: float) -> np.ndarray:
    soil = Soil(1e6, 0.8, friction_angle=0.5, rebound=0.1, slip_modulus=modulus)
    return RigidWheel(RADIUS, WIDTH, soil).parameters


STEADY = [(0.066, 0.0, 0.07), (0.07, 0.02, 0.05), (-0.03, -0.01, -0.08), (0.0, 0.0, 0.4), (0.05, 0.0, -0.05)]


@pytest.mark.parametrize(("forward", "sideways", "rolling"), STEADY)
@pytest.mark.parametrize("damping", [0.0, 0.005])
def test_sheared_soil_ends_at_the_force_of_steady_slip(
    forward: float, sideways: float, rolling: float, damping: float
) -> None:
    limit, displacement, dt = 115.0, 1e-3, 1e-4
    p, modulus = _of_modulus(0.185), 0.185
    slip, slide, reference = traction.slip_and_slide(forward, sideways, rolling, 1e-12)
    sheared, forces = np.zeros(2), []
    for _ in range(20_000):
        inverses = (1.0 / modulus, 1.0 / displacement)
        forces.append(
            traction.shear_soil(p, sheared, slip, slide, reference, limit, modulus, inverses, damping, dt)[:2]
        )
    assert forces[-1] == pytest.approx(traction.shared_shear(p, limit, slip, slide), rel=1e-9, abs=1e-12)
    assert math.hypot(*forces[0]) < 0.9 * math.hypot(*forces[-1])  # it takes some distance to get there


def test_soil_under_a_standing_wheel_keeps_what_holds_it() -> None:
    p, sheared = _of_modulus(0.185), np.array([4e-4, -1e-4])
    slip, slide, reference = traction.slip_and_slide(0.0, 0.0, 0.0, 1e-12)
    for _ in range(10_000):
        forces = traction.shear_soil(p, sheared, slip, slide, reference, 115.0, 0.185, (1 / 0.185, 1e3), 0.005, 1e-4)
    assert sheared == pytest.approx([4e-4, -1e-4], rel=1e-9)
    assert forces[:2] == pytest.approx((0.4 * 115.0, -0.1 * 115.0), rel=1e-9)
