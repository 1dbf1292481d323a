"""Steps of time: what no step can integrate is refused when a config is loaded, and the twin takes a step that can."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hil.config import ConfigError, load_config, parse_config, shipped_configs
from hil.config.integration import contacts_of, longest_step_s
from hil.config.model_parameters import nominal_rig
from hil.config.text_io import write_yaml
from hil.estimation.twin import FOLLOW, LONGEST_STEP_NS
from models.statics import NoSteadyStateError, SteadyRover
from models.vehicle import run


def problem_of(name: str, *overrides: str):
    with pytest.raises(ConfigError) as caught:
        load_config(name, overrides)
    (problem,) = caught.value.problems
    return problem


def _region(*regions, **soil):
    """Override with regions of these soils, or one."""
    corners = [[1, -1], [2, -1], [2, 1]]
    return f"soil.regions={json.dumps([{**one, 'corners_m': corners} for one in regions or (soil,)])}"


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_configs())
def test_every_shipped_config_keeps_the_twins_ordinary_step(name):
    assert longest_step_s(contacts_of(load_config(name))) > 1e-9 * LONGEST_STEP_NS


@pytest.mark.parametrize(
    ("name", "key", "value", "others"),
    [
        ("sim_juno", "soil.damping_spm", 300.0, ()),
        ("sim_juno", "soil.damping_spm", 1000.0, ()),
        ("sim_impact", "soil.stiffness", 1e9, ("soil.exponent=0.3",)),
        ("sim_impact", "ground.stiffness", 1e10, ("ground.kind=firm",)),
        ("sim_impact", "obstacle.damping_Nspm", 1e6, ("obstacle.law=kelvin_voigt",)),
        ("sim_juno", "soil.regions.0.stiffness", 1e12, (_region(stiffness=1e6, exponent=0.3),)),
        ("sim_juno", "soil.regions.1.stiffness", 1e12, (_region({"stiffness": 1e6}, {"stiffness": 1e6}),)),
        ("sim_impact", "obstacle.leg_damping_Nspm", 1e6, ("obstacle.legs=each",)),
        ("sim_impact", "obstacle.leg_stiffness_Npm", 5.5e4, ("obstacle.law=gonthier", "obstacle.restitution=0.01")),
    ],
)
def test_what_no_step_can_integrate_is_refused_and_the_key_that_mends_it_named(name, key, value, others):
    problem = problem_of(name, *others, f"{key}={value}")
    assert (problem.key, problem.found) == (key, f"{value:g}")
    most = float(problem.allowed.split()[2].rstrip(","))
    assert 0.0 < most < value
    load_config(name, [*others, f"{key}={0.99 * most}"])
    assert problem_of(name, *others, f"{key}={1.02 * most}").key == key


def test_the_config_of_a_record_is_read_all_the_same():
    raw = load_config("sim_juno").model_dump(mode="json")
    raw["soil"]["damping_spm"] = 1000.0
    assert parse_config(write_yaml(raw), "a record").soil.damping_spm == 1000.0


@pytest.mark.ci_cases("sim_juno-overrides0", "sim_impact-overrides3")
@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("sim_juno", ["soil.damping_spm=100"]),
        ("sim_juno", ["soil.damping_spm=120", "soil.exponent=0.3"]),
        ("sim_impact", ["ground.kind=firm", "ground.stiffness=1e10", "plant.substep_us=50"]),
        ("sim_impact", ["soil.stiffness=1e9"]),
        ("sim_impact", ["soil.stiffness=9e8", "soil.exponent=0.3"]),
    ],
)
@pytest.mark.slow
def test_wheel_loads_are_those_of_statics_at_the_longest_step(name, overrides):
    """Twin's loads in a steady drive with free drawbar: those at rest, less what the tractions' moments shift."""
    config = load_config(name, overrides)
    rover, vehicle, state = nominal_rig(config).build()
    rest = SteadyRover(rover, vehicle, 0.0).at().load
    state.drives.cut[:] = 0.0
    state.drives.set_speed[:] = 0.05 / rover.chain.wheel_radius
    vehicle = vehicle._replace(drive=FOLLOW, obstacle=None)
    step, loads = min(longest_step_s(contacts_of(config)), 5e-4), []
    for _ in range(round(1.0 / step)):
        run(vehicle, state, 1, step)
        loads.append(state.ground.vertical.copy())
    later = np.array(loads[len(loads) // 2 :])
    assert later.sum(axis=1).mean() == pytest.approx(rest.sum(), rel=0.002)
    assert later.mean(axis=0) == pytest.approx(rest, rel=0.08)
    assert later.std(axis=0).max() < 0.02 * rest.max()


@pytest.mark.slow
def test_a_rover_on_a_scan_of_the_stiffest_soil_is_told_which_wheel_lifts():
    """Its wheels touch uneven ground to rounding only, and there such a soil bears more than the weight."""
    rover, vehicle, _ = nominal_rig(load_config("sim_scan", ["soil.stiffness=1e9"])).held.assemble()
    with pytest.raises(NoSteadyStateError, match="front right wheel lifts"):
        SteadyRover(rover, vehicle, 0.0).at()
