"""Keys of terms that came later: a config without them is the same config as before."""

import math

import pytest
import yaml

from hil.config import ConfigError, load_config
from hil.config.model_parameters import nominal_rig
from hil.config.unchecked_config import fingerprint

KEYS = {
    ("soil", "slip_sinkage"), ("soil", "density_kgpm3"), ("wheel", "grouser_thrust"), ("wheel", "grouser_rim"),
    ("wheel", "rim_friction"),
    ("ground", "friction_holds"),
    ("obstacle", "hold_stiffness_Npm"), ("soil", "slip_modulus_exponent"), ("soil", "slip_modulus_speed_mps"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sim_impact", "sim_wheel_bed", "sim_mixed_wheels"])
def test_an_effective_config_lacks_the_keys_of_terms_that_it_does_not_set(name):
    config = load_config(name)
    text = config.to_yaml()
    assert not [key for section, key in KEYS if key in yaml.safe_load(text).get(section, ())]
    assert config.sha256() == fingerprint(yaml.safe_load(text))


def test_set_they_are_in_it_and_change_its_fingerprint():
    before, after = load_config("sim_wheel_bed"), load_config("sim_wheel_bed", ["soil.slip_sinkage=1.5"])
    assert after.sha256() != before.sha256()
    assert yaml.safe_load(after.to_yaml())["soil"]["slip_sinkage"] == 1.5
    assert after.replace({"soil.slip_sinkage": None}).sha256() == before.sha256()


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("sim_flexible_wheel", []),
        ("sim_xu", []),
        ("sim_soil_estimate", []),
    ],
)
def test_slip_sinkage_and_bulldozing_are_refused_where_no_model_has_them(name, others):
    for key, value in (("slip_sinkage", 1.5), ("density_kgpm3", 1500)):
        with pytest.raises(ConfigError, match=key):
            load_config(name, [f"soil.{key}={value}", *others])


def test_the_soil_ahead_bears_by_its_weight_on_the_planet_and_not_under_a_crown():
    loose = ["soil.density_kgpm3=1500", "soil.cohesion_Pa=200", "ground.gravity_mps2=1.62"]
    found = nominal_rig(load_config("sim_wheel_bed", loose)).ground.soil.bulldozing
    assert found == pytest.approx((400.0 * math.sqrt(3.0), 3.0 * 1500.0 * 1.62))
    assert nominal_rig(load_config("sim_wheel_bed")).ground.soil.bulldozing is None
    with pytest.raises(ConfigError, match=r"soil\.density_kgpm3: found 1500; allowed: null .*crown"):
        load_config("sim_wheel_bed", [*loose, "wheel.crown_radius_m=0.5"])


REGION = "soil.regions=[{corners_m: [[0, 0], [1, 0], [1, 1]], stiffness: 1.0e6, slip_sinkage: 2.0}]"


@pytest.mark.parametrize("others", [["soil.rut=remembered"], [REGION]])
def test_ruts_and_regions_take_slip_sinkage(others):
    config = load_config("sim_wheel_bed", ["soil.slip_sinkage=1.5", *others])
    ground = nominal_rig(config).ground
    assert ground.soil.slip_sinkage == 1.5
    assert [one.soil.slip_sinkage for one in ground.regions] == [2.0] * len(ground.regions)


@pytest.mark.parametrize("kind", ["soil", "rigid", "nonsmooth"])
def test_friction_that_holds_is_refused_on_ground_that_does_not_have_it(kind):
    with pytest.raises(ConfigError, match=rf"friction_holds: found true; allowed: false with ground\.kind {kind}"):
        load_config("sim_impact", [f"ground.kind={kind}", "ground.friction_holds=true"])
    assert load_config("sim_impact", ["ground.kind=firm", "ground.friction_holds=true"]).ground.friction_holds


def test_soil_slides_on_rims_without_grousers_and_the_key_is_refused_where_there_are_none():
    share, rims = "wheel.rim_friction=0.6", ["wheel.grousers=12", "wheel.of={front: {grousers: 0}}"]
    ground = nominal_rig(load_config("sim_mixed_wheels", [share, *rims])).ground
    found = {ground.wheel.rim_friction} | {one.rim_friction for one in ground.own_wheels.values()}
    assert found == {0.6, 1.0}
    assert (ground.wheel.rim_friction, ground.own_wheels["rear_left"].rim_friction) == (0.6, 1.0)
    smooth = nominal_rig(load_config("sim_flexible_wheel", [share, "wheel.grousers=0"])).ground.wheel
    assert (smooth.variant, smooth.rim_friction) == ("flexible", 0.6)
    with pytest.raises(ConfigError, match=r"rim_friction: found 0.6; allowed: null where each wheel has grousers"):
        load_config("sim_impact", [share, "wheel.grousers=12"])


BY_SPEED = ("soil.slip_modulus_exponent=0.5", "soil.slip_modulus_speed_mps=0.01")


def test_the_slip_modulus_depends_on_the_speed_where_both_keys_are_given():
    ground = nominal_rig(load_config("sim_wheel_bed", BY_SPEED)).ground
    assert (ground.soil.slip_modulus_exponent, ground.soil.slip_modulus_speed) == (0.5, 0.01)
    for one, missing in (BY_SPEED, BY_SPEED[::-1]):
        with pytest.raises(ConfigError, match=rf"{missing.partition('=')[0]}: found null; allowed: a number with"):
            load_config("sim_wheel_bed", [one])


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("sim_xu", []),
        ("sim_soil_estimate", []),
        ("sim_wheel_bed", ["soil.slip_sinkage=1.5"]),
        ("sim_wheel_bed", [REGION]),
    ],
)
def test_a_slip_modulus_by_speed_is_refused_where_no_model_has_it(name, others):
    with pytest.raises(ConfigError, match=r"slip_modulus_exponent"):
        load_config(name, [*BY_SPEED, *others])
