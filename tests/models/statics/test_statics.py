"""Loads of the wheels by statics against the dynamic model at rest, and the signs of the influence."""

from __future__ import annotations

import numpy as np
import pytest

from models.rover import ROVERS, rcp
from models.statics import RoverStatics


def test_a_torque_presses_the_front_wheel_down_and_the_middle_one_up():
    statics = RoverStatics(rcp())
    change = statics.influence(rcp().neutral())[:, statics.columns(["left_bogie"])[0]]
    front_left, _, middle_left, _, *_ = change
    assert front_left > 1.0
    assert middle_left < -1.0


@pytest.mark.ci_cases("rcp", "exomars", "juno")
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ROVERS if not ROVERS[name].guided()])
def test_torques_change_neither_the_sum_nor_the_moments_of_the_loads(name):
    rover = ROVERS[name].make(locks=dict.fromkeys(ROVERS[name].rig_locks(), 0.0))
    statics = RoverStatics(rover)
    change = statics.influence(rover.neutral())
    places = rover.wheel_positions(rover.neutral())
    assert change.shape == (len(places), len(statics.joint_names))
    assert np.abs(change).max() > 0.1
    assert change.sum(axis=0) == pytest.approx(0.0, abs=1e-9)
    assert places[:, 0] @ change == pytest.approx(0.0, abs=1e-9)
    assert places[:, 1] @ change == pytest.approx(0.0, abs=1e-9)


def test_a_rover_whose_loads_do_not_follow_from_equilibrium_is_refused():
    with pytest.raises(ValueError, match=r"6 wheels and 2 suspension joints that turn .*, needed: three joints fewer"):
        RoverStatics(rcp(locks={"rear_bogie": 0.0}))
