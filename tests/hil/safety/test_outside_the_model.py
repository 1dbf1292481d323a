"""Fault 32: a prediction that says that the rover has left what its model holds for."""

from __future__ import annotations

import math

import msgspec
import pytest

from drivers.messages import DriveSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import Event, Fault
from hil.messages.stages import Estimate, Prediction, Samples, SetPoints, Tick
from hil.safety.limiter import Limiter
from hil.safety.monitor import SafetyMonitor
from models.validity import VALIDITIES
from tests.rover_files import CORPUS

ZERO = (0.0,) * 4
WITHIN = Prediction(ZERO, ZERO, ZERO, 0.0, math.nan, math.inf, True)


@pytest.mark.parametrize("one", VALIDITIES.values(), ids=lambda one: one.name)
def test_a_rover_outside_its_model_latches_safe_in_that_tick_and_the_text_names_the_range(one):
    reported: list[Event] = []
    safety = SafetyMonitor(Rig(load_config("sim_juno")), reported.append)
    nothing = Estimate(True, (), (), True, False, None, (), (math.nan, math.nan), ZERO)
    for tick in range(1, 4):
        t_ns = tick * 1_000_000
        samples = Samples(t_ns, (), 0, 0, DriveSample(0, t_ns, ZERO, -1), ValveSample(0, t_ns, (), -1))
        ahead = WITHIN
        if tick >= 2:
            left = {"outside": float(one.code), "outside_value": 7.0, "outside_limit": one.limit}
            ahead = msgspec.structs.replace(WITHIN, **left)
        safety.check(tick, samples, nothing, ahead)
    (event,) = reported
    assert (event.alarm.fault, event.tick, event.alarm.value, event.alarm.limit) == (
        Fault.OUTSIDE_MODEL,
        2,
        7.0,
        one.limit,
    )
    assert safety.safe
    assert one.name in event.alarm.detail
    assert one.allowed() in event.alarm.detail
    assert one.keys[0] in event.alarm.detail


def test_a_rover_whose_joints_hang_is_told_their_names_and_the_key_in_place_of_others() -> None:
    own = {"rover.imported.urdf": CORPUS["four steered"], "rover.imported.wheels": None}
    reported: list[Event] = []
    rig = Rig(load_config("sim_imported", own))
    safety = SafetyMonitor(rig, reported.append)
    nothing = Estimate(True, (), (), True, False, None, (), (math.nan, math.nan), ZERO)
    samples = Samples(1, (), 0, 0, DriveSample(0, 1, ZERO, -1), ValveSample(0, 1, (), -1))
    left = {"outside": 1.0, "outside_value": 7.0, "outside_limit": 0.5}
    safety.check(1, samples, nothing, msgspec.structs.replace(WITHIN, **left))
    limiter = Limiter(rig, safety)
    for tick in range(30):
        limiter.check(Tick(tick, tick, tick, 0), SetPoints(state=0, cut=False, speed_radps=(9.0,) * 4, valves=()))
    named = "rover.locks: nothing holds steer_left_0, steer_left_1, steer"
    assert [event.alarm.fault for event in reported] == [Fault.OUTSIDE_MODEL, Fault.COMMAND_OUT_OF_LIMIT]
    assert all(named in event.alarm.detail for event in reported)
    locks = {"rover.locks": {f"steer_{side}_{row}": 0 for side in ("left", "right") for row in (0, 1)}}
    assert SafetyMonitor(Rig(load_config("sim_imported", own | locks))).hanging == ""
