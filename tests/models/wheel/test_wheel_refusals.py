"""Every bad input is refused with its name, the value found and the range allowed."""

import math
from typing import Any

import numpy as np
import pytest

from models.wheel import RigidWheel, Soil

GOOD: dict[str, Any] = {
    "stiffness": 1e6,
    "exponent": 0.8,
    "cohesion": 100.0,
    "friction_angle": 0.5,
    "rebound": 0.1,
    "slip_modulus": 0.2,
}
OPTIONAL: dict[str, list[Any]] = {
    "shear_modulus": [0.0, 1e-10, -0.01, 1e10],
    "peak_offset": [-0.1, 1.1],
    "peak_slope": [-0.1, 1.1],
    "lateral_rate": [-1.0, 1e10],
}
XU: dict[str, Any] = {**GOOD, "shear_modulus": 0.01, "peak_offset": 0.4, "peak_slope": 0.15, "lateral_rate": 3.0}
BAD: dict[str, list[Any]] = {
    "stiffness": [0.0, -1.0, 1e19],
    "exponent": [0.29, 1.76, 0.0],
    "cohesion": [-1e-9, 1e19],
    "friction_angle": [-0.1, math.pi / 2, 30.0],
    "rebound": [0.0, -0.1, 1.0000001, 2.5],
    "slip_modulus": [0.0, -0.2],
}
NEVER = [math.nan, math.inf, -math.inf, "0.5", None, True, 1 + 1j, [0.5, 0.5], 10**400]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values + NEVER])
def test_soil_refuses_a_bad_value_with_name_and_value(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"allowed: a finite number in ") as caught:
        Soil(**{**GOOD, name: value})
    assert f"{name} is {value!r}" in str(caught.value)
    assert str(caught.value).count("allowed") == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in OPTIONAL.items() for value in values + NEVER if value is not None],
)
def test_soil_refuses_a_bad_optional_value_with_name_and_value(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"allowed: a finite number in ") as caught:
        Soil(**{**GOOD, name: value})
    assert f"{name} is {value!r}" in str(caught.value)


def test_xu_names_what_its_soil_lacks() -> None:
    with pytest.raises(ValueError, match="RigidWheel") as caught:
        RigidWheel(0.2, 0.1, Soil(**GOOD), "xu")
    for name in ("shear_modulus", "peak_offset", "peak_slope"):
        assert f"soil.{name} is None, allowed with variant 'xu': a number" in str(caught.value)
    with pytest.raises(ValueError, match=r"soil.peak_offset \+ soil.peak_slope is 1.15, allowed: .* \[0, 1\)"):
        RigidWheel(0.2, 0.1, Soil(**{**XU, "peak_offset": 1.0}), "xu")
    with pytest.raises(ValueError, match=r"soil.lateral_rate is None, allowed"):
        RigidWheel(0.2, 0.1, Soil(**{**XU, "lateral_rate": None}), "xu").forces_at_angle(0.01, 0.1, 0.1)


def test_xu_refuses_what_is_not_a_driving_wheel() -> None:
    wheel = RigidWheel(0.2, 0.1, Soil(**XU), "xu")
    for slip in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=rf"slip is {slip:g}, allowed: a finite number in \[0, 1\]"):
            wheel.forces(0.01, slip)
    with pytest.raises(ValueError, match=r"soil.lateral_rate is None, allowed"):
        RigidWheel(0.2, 0.1, Soil(**{**XU, "lateral_rate": None}), "xu").moving_forces(0.01, 0.1, 0.1)


@pytest.mark.parametrize("value", [-0.01, 1e7, math.nan, math.inf, "0.1", None])
def test_wheel_refuses_a_bad_grouser_height(value: Any) -> None:
    with pytest.raises(ValueError, match=r"grouser_height is .*, allowed: a finite number in \[0, 1e\+06\] m"):
        RigidWheel(0.2, 0.1, Soil(**GOOD), grouser_height=value)


@pytest.mark.parametrize("value", [1e7, math.inf, math.nan, "1"])
@pytest.mark.parametrize("name", ["forward_speed", "rolling_speed", "sideways_speed"])
def test_wheel_refuses_a_bad_speed_with_name_and_range(wheel: RigidWheel, name: str, value: Any) -> None:
    speeds: dict[str, Any] = {"forward_speed": 0.1, "rolling_speed": 0.1, "sideways_speed": 0.1, name: value}
    with pytest.raises(ValueError, match=rf"{name} is .*, allowed: a finite number in \[-1e\+06, 1e\+06\] m/s"):
        wheel.moving_forces(0.02, **speeds)


@pytest.mark.parametrize("value", [0.0, -1e-3, math.nan])
def test_wheel_refuses_a_bad_slip_speed(wheel: RigidWheel, value: float) -> None:
    with pytest.raises(ValueError, match=rf"slip_speed is {value:g}, allowed: a finite number in \[1e-09"):
        wheel.moving_forces(0.02, 0.1, 0.1, slip_speed=value)


@pytest.mark.parametrize("value", [math.pi / 2, -math.pi / 2, 3.0, math.nan])
def test_wheel_refuses_a_bad_slip_angle(wheel: RigidWheel, value: float) -> None:
    with pytest.raises(ValueError, match=r"slip_angle\[1\] is .*, allowed: a finite number in \("):
        wheel.forces_at_angle(0.02, 0.1, [0.1, value])


def test_wheel_refuses_a_bad_rut() -> None:
    with pytest.raises(
        ValueError, match=r"deepest is nan, allowed: a finite number in .*0\.2\] m \(up to the radius\)"
    ):
        RigidWheel(0.2, 0.1, Soil(**GOOD)).normal_force_in_rut(0.02, math.nan)


def test_soil_names_all_wrong_values_at_once() -> None:
    with pytest.raises(ValueError, match="Soil") as caught:
        Soil(-1.0, 9.0, cohesion=-2.0, friction_angle=45.0, rebound=2.5, slip_modulus=0.0)
    for found in (
        "stiffness is -1.0",
        "exponent is 9.0",
        "cohesion is -2.0",
        "friction_angle is 45.0",
        "rebound is 2.5",
    ):
        assert found in str(caught.value)
    assert "slip_modulus is 0.0, allowed: a finite number in (0, inf)" in str(caught.value)


def test_soil_takes_the_ends_of_its_ranges() -> None:
    Soil(1, np.float64(0.5), friction_angle=0, rebound=1, slip_modulus=1e-3)
    Soil(1e18, 0.3, cohesion=1e18, friction_angle=1.57, rebound=1e-300, slip_modulus=1e300)
    Soil(1e-300, 1.75, friction_angle=0.0, rebound=1.0, slip_modulus=1e-300)


def test_soil_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Soil(**GOOD).rebound = 0.2  # type: ignore[misc]


@pytest.mark.parametrize("name", ["radius", "width"])
@pytest.mark.parametrize("value", [0.0, -0.1, 1e7, *NEVER])
def test_wheel_refuses_a_bad_length_with_name_and_value(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"allowed: a finite number in \[1e-06, 1e\+06\] m") as caught:
        RigidWheel(**{"radius": 0.2, "width": 0.1, "soil": Soil(**GOOD), name: value})
    assert f"{name} is {value!r}" in str(caught.value)


def test_wheel_names_all_wrong_values_at_once() -> None:
    with pytest.raises(ValueError, match="RigidWheel") as caught:
        RigidWheel(0.0, math.nan, "sand", "thesis")  # type: ignore[arg-type]
    for found in (
        "radius is 0.0",
        "width is nan",
        "soil is 'sand'",
        "variant is 'thesis', allowed: one of ('exact', 'tire_1', 'tire_2', 'published', 'xu')",
    ):
        assert found in str(caught.value)


@pytest.mark.parametrize("value", [0.266, math.inf, -math.inf, math.nan])
def test_wheel_refuses_a_bad_sinkage_with_value_and_range(wheel: RigidWheel, value: float) -> None:
    calls: list[Any] = [wheel.hypervolume, wheel.normal_force, lambda z: wheel.forces(z, 0.1)]
    for call in calls:
        with pytest.raises(
            ValueError, match=r"sinkage is .*, allowed: a finite number in .*0\.265\] m \(up to the radius\)"
        ) as caught:
            call(value)
        assert f"sinkage is {value:g}" in str(caught.value)
        with pytest.raises(ValueError, match=r"sinkage\[1, 0\] is "):
            call([[0.01, 0.02], [value, 0.03]])


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_wheel_refuses_a_bad_slip_with_value_and_place(wheel: RigidWheel, value: float) -> None:
    with pytest.raises(ValueError, match=rf"slip is {value:g}, allowed: a finite number"):
        wheel.forces(0.02, value)
    with pytest.raises(ValueError, match=rf"slip\[2\] is {value:g}, allowed: a finite number"):
        wheel.forces(-1.0, [0.0, 0.1, value])


@pytest.mark.parametrize("value", ["0.02", None, 1j, True, [[0.1], [0.1, 0.2]], object()])
def test_wheel_refuses_what_is_not_a_number(wheel: RigidWheel, value: Any) -> None:
    with pytest.raises(ValueError, match=r"sinkage is .*allowed"):
        wheel.normal_force(value)
    with pytest.raises(ValueError, match=r"slip is .*allowed"):
        wheel.forces(0.02, value)


def test_wheel_refuses_shapes_that_do_not_fit(wheel: RigidWheel) -> None:
    with pytest.raises(ValueError, match=r"sinkage has shape \(2,\) and slip has shape \(3,\)"):
        wheel.forces([0.01, 0.02], [0.1, 0.2, 0.3])


@pytest.mark.parametrize("variant", ["exact", "tire_1", "tire_2", "published"])
@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_extreme_but_allowed_values_give_finite_forces(variant: str, size: float) -> None:
    for soil in (
        Soil(1e18, 0.3, cohesion=1e18, friction_angle=1.5707, rebound=1e-300, slip_modulus=1e-300),
        Soil(1e-300, 1.75, friction_angle=0.0, rebound=1.0, slip_modulus=1e300),
    ):
        wheel = RigidWheel(size, size, soil, variant)
        sinkages = size * np.array([-1.0, 0.0, 5e-324, 1e-300, 1e-9, 0.5, 1.0])
        found = [*wheel.forces(sinkages, 1e300), *wheel.forces(sinkages, -1e300), *wheel.normal_force(sinkages)]
        assert np.all(np.isfinite(found))
        assert np.all(np.isfinite(wheel.hypervolume(sinkages)))
