"""A config that distributes the wheels' loads: what cannot be is refused at load, with its numbers."""

from __future__ import annotations

import pytest

from hil.config import ConfigError, load_config
from hil.config.rig import Rig

STEP = "normal_force.steps=[{for_s: 1, mode: share, share: [0.2, 0.2, 0.2, 0.2, 0.1, 0.2]}]"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([STEP], r"normal_force\.steps\.0\.share: found the shares 0\.2, .* add up to 1\.1, needed: 1"),
        (
            ["normal_force.steps=[{for_s: 1, mode: share, share: [0.5, 0.5]}]"],
            r"steps\.0\.share: found 2 shares, needed: 6, one for each of front_left",
        ),
        (
            ["normal_force.steps=[{for_s: 1, mode: unload, wheel: spare}]"],
            r"steps\.0\.wheel: found wheel 'spare' cannot be unloaded, allowed: front_left",
        ),
        (["normal_force.steps=[]"], r"normal_force\.steps: found none; allowed: one or more"),
        (["normal_force.speed_mps=0.5"], r"normal_force\.speed_mps: found 0\.5 m/s; allowed: at most 0\.175 m/s"),
        (
            ["rover.type=juno", "cylinders.joints=null"],
            r"experiment: found normal_force, and rover\.type juno without cylinders",
        ),
        (["ground.kind=none"], r"ground\.kind: found none; allowed: soil, firm or rigid"),
        (["cylinders.supply_kPa=0"], r"cylinders\.supply_kPa: found 0; allowed: above 0"),
        (
            ["normal_force.least_load_N=240"],
            r"normal_force\.least_load_N: found .* bears \d+ N to begin with, below least_load_N, 240 N",
        ),
        (
            ["normal_force.most_load_N=230"],
            r"normal_force\.most_load_N: found .* bears \d+ N to begin with, above most_load_N, 230 N",
        ),
        (
            ["normal_force.steps=[{for_s: 1, mode: max_traction}]", "ground.kind=firm"],
            r"steps\.0\.mode: found max_traction; allowed: another mode: the pull of the wheels is known on soil only",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_numbers(given, said):
    with pytest.raises(ConfigError, match=said):
        load_config("sim_normal_force", given)


def test_the_loads_at_rest_are_the_weight_and_lean_downhill():
    config = load_config("sim_normal_force")
    loads_N = Rig(config).resting_loads_N
    mass_kg = 120.0 + 20.0
    assert sum(loads_N) == pytest.approx(mass_kg * 9.81 * 0.99863, rel=0.01)  # cosine of 3 degrees
    assert sum(loads_N[1::2]) > sum(loads_N[::2])


def test_two_cylinders_are_a_matter_of_one_key():
    config = load_config("sim_normal_force", ["cylinders.joints=[left_bogie, right_bogie]"])
    assert config.layout.cylinders == ("left", "right")
    assert config.layout.controls_loads
    assert not load_config("sim_impact").layout.controls_loads
