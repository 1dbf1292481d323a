"""Pressure-sinkage laws as printed and corrected, and the quoted soils."""

import math
from typing import Any

import numpy as np
import pytest

from models.wheel import PRESETS, RigidWheel
from models.wheel.soil import Bekker, BernsteinGoriatchkin, Ishigami, MeirionGriffithSpenko, Reece, SinkageLaw

RADIUS, WIDTH, DEPTH = 0.2, 0.1, 0.03
REST = {"friction_angle": 0.5, "rebound": 0.1, "slip_modulus": 0.2}
LAWS: list[tuple[SinkageLaw, float]] = [
    (BernsteinGoriatchkin(0.8, 1e6), 1e6 * DEPTH**0.8),
    (Bekker(1.1, 1400.0, 8.2e5), (1400.0 / WIDTH + 8.2e5) * DEPTH**1.1),
    (Reece(0.9, 300.0, 15e3, 20.0, 700.0), (300.0 * 20.0 + 15e3 * WIDTH * 700.0) * (DEPTH / WIDTH) ** 0.9),
    (
        Ishigami(0.9, 300.0, 15e3, 20.0, 700.0),
        (300.0 * 20.0 + 15e3 * WIDTH * 700.0) * (RADIUS / WIDTH) ** 0.9 * (1.0 - (1.0 - DEPTH / RADIUS)) ** 0.9,
    ),
    (MeirionGriffithSpenko(0.8, 1.604e6, 0.39), 1.604e6 * 0.4**0.39 * DEPTH**0.8),
]


@pytest.mark.parametrize(("law", "pressure"), LAWS)
def test_pressure_is_that_of_the_formula_and_zero_above_the_ground(law: SinkageLaw, pressure: float) -> None:
    assert law.pressure(DEPTH, RADIUS, WIDTH) == pytest.approx(pressure, rel=1e-12)
    assert law.pressure(0.0, RADIUS, WIDTH) == law.pressure(-0.01, RADIUS, WIDTH) == 0.0


@pytest.mark.parametrize(("law", "pressure"), LAWS)
def test_every_law_makes_a_soil_of_the_same_pressure(law: SinkageLaw, pressure: float) -> None:
    soil = law.soil(RADIUS, WIDTH, cohesion=300.0, **REST)
    assert soil.stiffness * DEPTH**soil.exponent == pytest.approx(pressure, rel=1e-12)
    assert (soil.cohesion, soil.rebound) == (300.0, 0.1)
    assert RigidWheel(RADIUS, WIDTH, soil).normal_force(DEPTH)[0] > 0.0


def test_ishigami_over_the_rim_is_reece_at_the_depth_there() -> None:
    law = Ishigami(0.9, 300.0, 15e3, 20.0, 700.0)
    static = math.acos(1.0 - DEPTH / RADIUS)
    for angle in (0.0, 0.2, -0.2, 0.5):
        depth = RADIUS * (math.cos(angle) - math.cos(static))
        expected = Reece(0.9, 300.0, 15e3, 20.0, 700.0).pressure(depth, RADIUS, WIDTH)
        assert law.pressure_at(angle, static, RADIUS, WIDTH) == pytest.approx(expected, rel=1e-12)
        printed = (300.0 * 20.0 + 15e3 * WIDTH * 700.0) * (RADIUS / WIDTH * (math.cos(angle) - math.cos(static))) ** 0.9
        assert law.pressure_at(angle, static, RADIUS, WIDTH) == pytest.approx(printed, rel=1e-12)
    assert law.pressure_at(static + 0.1, static, RADIUS, WIDTH) == 0.0


def test_bekker_without_cohesion_is_bernstein_and_goriatchkin() -> None:
    for width in (0.05, 0.3):
        assert Bekker(0.8, 0.0, 1e6).stiffness(RADIUS, width) == BernsteinGoriatchkin(0.8, 1e6).stiffness(RADIUS, width)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, "1", None, True])
@pytest.mark.parametrize("name", ["cohesion", "specific_weight", "cohesive_modulus", "frictional_modulus", "exponent"])
def test_a_law_refuses_a_bad_value_with_name_value_and_range(name: str, value: Any) -> None:
    values: dict[str, Any] = {
        "exponent": 0.9, "cohesion": 300.0, "specific_weight": 15e3, "cohesive_modulus": 20.0, "frictional_modulus": 1.0
    }  # fmt: skip
    with pytest.raises(ValueError, match=rf"Reece: {name} is .*, allowed: a finite number in ") as caught:
        Reece(**{**values, name: value})
    assert repr(value) in str(caught.value)


def test_a_law_refuses_a_bad_wheel_and_a_stiffness_of_nothing() -> None:
    with pytest.raises(ValueError, match=r"radius is -0\.1, allowed.*width is nan, allowed"):
        BernsteinGoriatchkin(0.8, 1e6).stiffness(-0.1, math.nan)
    with pytest.raises(ValueError, match=r"its stiffness is 0\.0, allowed: a finite number in \(0"):
        Bekker(0.8, 0.0, 0.0).stiffness(RADIUS, WIDTH)
    with pytest.raises(ValueError, match="sinkage is nan, allowed"):
        Bekker(0.8, 0.0, 1.0).pressure(math.nan, RADIUS, WIDTH)
    with pytest.raises(ValueError, match="static_angle is nan, allowed"):
        Ishigami(0.9, 300.0, 15e3, 20.0, 700.0).pressure_at(0.1, math.nan, RADIUS, WIDTH)


def test_presets_carry_the_quoted_numbers_and_where_they_stand() -> None:
    quoted = {
        "dry_sand": ("Table 3.1", 1.783e6, 0.75, None, None),
        "juno_run_1": ("Table 6.1", 2.07e5, 0.583, 0.0674, 0.689),
        "juno_run_2": ("Table 6.2", 1.58e5, 0.501, 0.0813, 0.819),
        "juno_run_3": ("Table 6.3", 1.47e5, 0.533, 0.0834, 0.794),
    }
    for name, (table, stiffness, exponent, rebound, modulus) in quoted.items():
        preset = PRESETS[name]
        assert table in preset.source
        known = {} if rebound is None else {"rebound": rebound, "slip_modulus": modulus}
        soil = preset.soil(0.28, 0.2, **{**REST, **known})
        assert (soil.stiffness, soil.exponent) == (stiffness, exponent)
        assert dict(preset.known) == known
        if known:
            assert preset.soil(0.28, 0.2, friction_angle=0.5) == soil
    assert PRESETS["juno_run_1"].radius == pytest.approx(0.28, abs=1e-3)  # "wheel radius is 28cm", 3.2.2


def test_small_wheel_preset_depends_on_the_diameter() -> None:
    preset = PRESETS["small_wheel_sand"]
    soil = preset.soil(preset.radius, preset.width, **REST)
    assert soil.stiffness == pytest.approx(1.604e6 * 0.17**0.39, rel=1e-12)
    assert (preset.radius, preset.width, soil.exponent) == (0.085, 0.085, 0.8)


def test_a_preset_asks_for_what_its_source_does_not_give() -> None:
    with pytest.raises(ValueError, match="friction_angle is missing") as caught:
        PRESETS["dlr_quartz_sand"].soil(0.125, 0.1)
    for name in ("stiffness", "exponent"):
        assert f"{name} is missing" in str(caught.value)
    assert "rebound" not in str(caught.value)
    soil = PRESETS["dlr_quartz_sand"].soil(0.125, 0.1, stiffness=1e6, exponent=0.8, friction_angle=0.5)
    assert (soil.rebound, soil.slip_modulus) == (0.025, 0.185)


def test_every_preset_makes_a_wheel_with_finite_forces() -> None:
    for preset in PRESETS.values():
        size = preset.radius, 0.1 if math.isnan(preset.width) else preset.width
        given = {"stiffness": 1e6, "exponent": 0.8} if preset.law is None else {}
        soil = preset.soil(*size, **{**given, **REST, **dict(preset.known)})
        assert np.all(np.isfinite(RigidWheel(*size, soil).forces([0.0, 0.01, size[0]], 0.3)))
