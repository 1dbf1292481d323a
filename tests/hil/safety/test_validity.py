"""Arming asks whether the rover of the config stands within its models: sinkage against quadrature, loads at rest."""

from __future__ import annotations

import pytest
from scipy.optimize import brentq

from hil.config import load_config, shipped_configs
from hil.config.model_parameters import nominal_rig
from hil.config.rig import Rig
from hil.estimation.twin import RoverTwin
from hil.safety.equilibrium_checks import rest_checks, rest_share, soil_sinkage_m, validity_checks
from references import wheel_stresses

SINKS = "sinkage at rest"


def found(name: str, *overrides: str) -> dict[str, tuple[bool, str, str]]:
    return {one.item: (one.ok, one.found, one.allowed) for one in validity_checks(Rig(load_config(name, overrides)))}


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_configs())
def test_every_shipped_rover_stands_within_its_models(name):
    assert all(ok for ok, *_ in found(name).values())
    twin = RoverTwin(nominal_rig(load_config(name)))
    assert all(check.ok for check in rest_checks(twin.standing_N, twin.weight_N))


@pytest.mark.parametrize("load_N", [20.0, 230.0, 2000.0])
def test_sinkage_is_that_of_quadrature(load_N):
    """With hardly any rebound the soil behind the wheel bears nothing: half of Petersen's (3.4) is left."""
    config = load_config("sim_impact", ["soil.rebound=1e-9"])
    ground = nominal_rig(config).assemble()[1].ground
    assert ground is not None
    radius, width, k, n = config.wheel_radius_m, 0.15, config.soil.stiffness, config.soil.exponent
    expected = brentq(
        lambda z: 0.5 * k * wheel_stresses.hypervolume(radius, width, n, z) - load_N, 1e-9, 0.99 * radius, xtol=1e-12
    )
    assert soil_sinkage_m(ground.wheel, load_N) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "overrides", "key"),
    [
        ("sim_juno", ("soil.stiffness=1783",), "soil.stiffness"),
        ("sim_juno", ("soil.stiffness=17830",), "soil.stiffness"),
        ("sim_impact", ("soil.stiffness=1783",), "soil.stiffness"),
        ("sim_slope", ("soil.stiffness=17830",), "soil.stiffness"),
        ("sim_juno", ("ground.kind=firm", "ground.stiffness=1000"), "ground.stiffness"),
    ],
)
def test_a_rover_that_sinks_too_deep_is_not_armed_and_the_key_is_named(name, overrides, key):
    ok, sinkage, allowed = found(name, *overrides)[SINKS]
    assert not ok
    assert key in allowed
    assert "radii" in sinkage


def test_a_soil_that_bears_no_wheel_gives_a_sinkage_of_many_radii():
    ok, sinkage, _ = found("sim_juno", "soil.stiffness=1783")[SINKS]
    assert not ok
    assert float(sinkage.split(",")[1].split()[0]) > 5.0


def test_a_rover_that_never_comes_to_rest_is_not_armed():
    config = load_config("sim_impact", ["soil.damping_spm=0", "soil.stiffness=1e8", "soil.exponent=0.3"])
    twin = RoverTwin(nominal_rig(config))
    [check] = rest_checks(twin.standing_N, twin.weight_N)
    assert not check.ok
    assert "soil.damping_spm" in check.to_do


def test_without_weight_nothing_is_asked():
    assert found("sim_impact", "ground.kind=none") == {}
    assert rest_checks(0.0, 0.0) == []


def test_on_the_flank_of_a_scan_the_loads_may_miss_the_weight_by_what_slopes_make_of_it():
    flank, before = (
        rest_share(
            Rig(load_config("sim_scan", [f"ground.scan.start_m=[{x}, 0]", "drive.steps=[{for_s: 1, speed_mps: 0}]"]))
        )
        for x in (1.5, 0.0)
    )
    assert 0.05 <= before < 0.07
    assert 0.15 < flank < 0.6
    assert [check.ok for share in (0.05, flank) for check in rest_checks(1480.0, 1400.0, share)] == [False, True]
    assert rest_share(Rig(load_config("sim_impact"))) == 0.05
