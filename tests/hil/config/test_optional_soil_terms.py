"""Keys of terms that came later: a config without them is the same config as before."""

import pytest
import yaml

from hil.config import ConfigError, load_config
from hil.config.model_parameters import nominal_rig
from hil.config.unchecked_config import fingerprint

KEYS = {("soil", "slip_sinkage"), ("wheel", "grouser_thrust")}


@pytest.mark.parametrize("name", ["sim_impact", "sim_wheel_bed", "sim_mixed_wheels"])
def test_an_effective_config_lacks_the_keys_of_terms_that_it_does_not_set(name):
    config = load_config(name)
    text = config.to_yaml()
    assert not [key for section, key in KEYS if key in yaml.safe_load(text)[section]]
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
def test_slip_sinkage_is_refused_where_no_model_has_it(name, others):
    with pytest.raises(ConfigError, match="slip_sinkage"):
        load_config(name, ["soil.slip_sinkage=1.5", *others])


REGION = "soil.regions=[{corners_m: [[0, 0], [1, 0], [1, 1]], stiffness: 1.0e6, slip_sinkage: 2.0}]"


@pytest.mark.parametrize("others", [["soil.rut=remembered"], [REGION]])
def test_ruts_and_regions_take_slip_sinkage(others):
    config = load_config("sim_wheel_bed", ["soil.slip_sinkage=1.5", *others])
    ground = nominal_rig(config).ground
    assert ground.soil.slip_sinkage == 1.5
    assert [one.soil.slip_sinkage for one in ground.regions] == [2.0] * len(ground.regions)
