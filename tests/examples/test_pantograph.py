"""The rover of examples/pantograph_rover.py stands and falls in the simulated vehicle as its statics say."""

from __future__ import annotations

import runpy
from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.rig import Rig

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def example(pytestconfig):
    return runpy.run_path(str(pytestconfig.rootpath / "examples" / "pantograph_rover.py"))


@pytest.mark.parametrize(("rise_deg", "stands"), [(70.0, True), (5.0, False)])
def test_on_level_ground_it_stands_or_falls_to_its_stop(example, rise_deg, stands):
    parameters = example["Pantograph"](rise_angle=np.radians(rise_deg))
    assert (example["Slope"](parameters.build(), 0.0).stable() is not None) == stands
    rig = Rig(load_config("sim_impact", {"ground.kind": "firm"})).nominal
    # settles with its axles free
    rover, _, state = replace(rig, rover=parameters, obstacle=None, cylinder_joints=()).build()
    lever_deg = abs(np.degrees(state.q[7 + rover.tree_joint_names.index("left_lever")]))
    assert lever_deg < 2.0 if stands else lever_deg > 20.0


@pytest.mark.parametrize("slope_deg", [-4.0, 0.0, 10.0])
def test_its_wheels_bear_its_weight_and_its_levers_change_how_they_share_it(example, slope_deg):
    rover = example["Pantograph"]().build()
    slope = example["Slope"](rover, np.radians(slope_deg))
    linked, held = slope.loads(slope.stable()), slope.loads(0.0)
    for loads in (linked, held):
        assert 2.0 * loads.sum() == pytest.approx(rover.mass * 9.81 * np.cos(np.radians(slope_deg)), rel=1e-6)
    # the linked body falls forwards on the way down, and backwards on the way up
    assert np.sign(np.round(linked[0] - held[0])) == -np.sign(slope_deg)


def test_downwards_it_stands_as_far_as_the_limit_and_no_farther(example):
    rover = example["Pantograph"]().build()
    limit_deg = example["limit_deg"](rover)
    assert -8.0 < limit_deg < -2.0
    for slope_deg, stands in ((limit_deg + 0.5, True), (limit_deg - 0.5, False), (-20.0, False)):
        assert (example["Slope"](rover, np.radians(slope_deg)).stable() is not None) == stands
