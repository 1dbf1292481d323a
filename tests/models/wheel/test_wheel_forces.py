"""Common to all variants with traction by (4.30): one set of numbers everywhere, exact zeros, and traction."""

import math
import pickle

import numpy as np
import pytest

from models.wheel import RigidWheel, Soil, kernels, packed

# negative and 0, subnormal, tiny, and ordinary sinkages of a wheel of radius 0.265
SINKAGES = np.concatenate(
    [[-1.0, -1e-300, -0.0, 0.0, 5e-324, 1e-300, 1e-200], np.logspace(-12, -3, 20), np.linspace(1e-3, 0.265, 60)]
)


def test_scalars_and_loops_inside_a_kernel_give_the_same_bits(wheel: RigidWheel) -> None:
    arrays = np.array([*wheel.forces(SINKAGES, 0.3), *wheel.normal_force(SINKAGES), wheel.hypervolume(SINKAGES)])
    scalars = np.array(
        [[*wheel.forces(z, 0.3), *wheel.normal_force(z), wheel.hypervolume(z)] for z in SINKAGES.tolist()]
    ).T
    assert np.array_equal(arrays, scalars)
    assert np.all(np.isfinite(arrays))


def test_one_row_of_a_packed_fleet_gives_the_same_bits(wheel: RigidWheel) -> None:
    fleet = np.zeros((6, packed.SIZE))
    fleet[3] = wheel.parameters
    assert kernels.wheel_forces(fleet[3], 0.02, 0.3) == wheel.forces(0.02, 0.3)


def test_parameters_are_a_copy(wheel: RigidWheel) -> None:
    before = wheel.forces(0.02, 0.3)
    wheel.parameters[:] = 0.0
    assert wheel.forces(0.02, 0.3) == before


def test_scalars_give_floats_and_arrays_broadcast(wheel: RigidWheel) -> None:
    for value in (0.02, np.float64(0.02), np.array(0.02)):
        assert all(type(force) is float for force in wheel.forces(value, 0))
        assert all(type(force) is float for force in wheel.normal_force(value))
        assert type(wheel.hypervolume(value)) is float
    table = wheel.forces(np.array([[0.01], [0.02], [0.03]]), [0.0, 0.5])
    assert [force.shape for force in table] == [(3, 2)] * 3
    assert table[0][2, 1] == wheel.forces(0.03, 0.5)[0]
    assert [force.shape for force in wheel.forces(np.empty((0, 2)), 0.1)] == [(0, 2)] * 3
    assert wheel.normal_force(SINKAGES[::-2])[0][1] == wheel.normal_force(float(SINKAGES[-3]))[0]


@pytest.mark.parametrize("sinkage", [0.0, -0.0, -1e-300, -1.0])
def test_no_contact_is_exactly_zero(wheel: RigidWheel, sinkage: float) -> None:
    p = wheel.parameters
    assert wheel.forces(sinkage, 0.5) == (0.0, 0.0, 0.0)
    assert wheel.normal_force(sinkage) == (0.0, 0.0)
    assert wheel.hypervolume(sinkage) == 0.0
    assert kernels.resultant(p, sinkage) == (0.0, 1.0, 0.0, 0.0)
    assert kernels.shear_limit(p, sinkage, 100.0) == 0.0


def test_forces_are_continuous_where_contact_begins(wheel: RigidWheel) -> None:
    for sinkage in np.logspace(-320, -9, 100):
        assert np.all(np.abs(wheel.forces(float(sinkage), 0.5)) < 1e6 * sinkage**0.4)


def test_kernels_take_a_buried_wheel_as_sunk_to_its_axle(wheel: RigidWheel) -> None:
    p = wheel.parameters
    assert kernels.resultant(p, 0.3) == kernels.resultant(p, 0.265)
    assert kernels.wheel_forces(p, math.inf, 0.2) == kernels.wheel_forces(p, 0.265, 0.2)


def test_kernels_pass_a_nan_on(wheel: RigidWheel) -> None:
    assert np.all(np.isnan(kernels.wheel_forces(wheel.parameters, math.nan, 0.2)))
    assert np.all(np.isnan(kernels.wheel_forces(wheel.parameters, 0.02, math.nan)))


def test_resultant_is_size_and_angle_of_the_two_components(wheel: RigidWheel) -> None:
    p = wheel.parameters
    for z in (1e-6, 0.02, 0.2):
        vertical, horizontal = wheel.normal_force(z)
        normal, cosine, sine, limit = kernels.resultant(p, z)
        phi = math.atan2(horizontal, vertical)
        assert (normal, cosine, sine) == pytest.approx((math.hypot(vertical, horizontal), math.cos(phi), math.sin(phi)))
        angles = math.acos(1.0 - z / 0.265) + math.acos(1.0 - 0.1 * z / 0.265)
        assert limit == pytest.approx(200.0 * 0.22 * 0.265 * angles + normal * math.tan(0.5), rel=1e-9)


def test_contact_patch_keeps_its_digits_at_a_tiny_sinkage() -> None:
    cohesive = Soil(1e6, 1.0, cohesion=1.0, friction_angle=0.0, rebound=0.25, slip_modulus=0.2)
    p = RigidWheel(0.2, 0.1, cohesive).parameters
    for u in (1e-9, 1e-12):  # arccos(1 - u) -> sqrt(2u) (1 + u/12)
        expected = 0.1 * 0.2 * math.sqrt(2.0 * u) * 1.5
        assert kernels.shear_limit(p, 0.2 * u, 0.0) == pytest.approx(expected, rel=1e-9 if u > 1e-10 else 1e-12)


def test_traction_follows_the_hyperbolic_tangent_of_slip(wheel: RigidWheel) -> None:
    normal, cosine, sine, limit = kernels.resultant(wheel.parameters, 0.02)
    for slip in (-0.5, 0.0, 0.05, 0.3, 0.95):
        tangential = limit * math.tanh(slip / 0.185)
        assert wheel.forces(0.02, slip) == pytest.approx(
            (tangential * cosine - normal * sine, normal * cosine + tangential * sine, 0.265 * tangential), rel=1e-14
        )


def test_a_towed_wheel_is_held_back(wheel: RigidWheel) -> None:
    longitudinal, vertical, torque = wheel.forces(0.02, 0.0)
    assert longitudinal < 0.0 < vertical
    assert torque == 0.0
    assert longitudinal == pytest.approx(-wheel.normal_force(0.02)[1], rel=1e-14)


def test_wheels_are_values(wheel: RigidWheel) -> None:
    again = pickle.loads(pickle.dumps(wheel))
    assert again == wheel
    assert again.forces(0.02, 0.3) == wheel.forces(0.02, 0.3)
    with pytest.raises(AttributeError):
        wheel.radius = 1.0  # type: ignore[misc]
