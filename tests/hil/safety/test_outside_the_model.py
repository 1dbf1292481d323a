"""Fault 32: a prediction that says that the rover has left what its model holds for."""

from __future__ import annotations

import math

import msgspec
import pytest

from drivers.messages import DriveSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import Event, Fault
from hil.messages.stages import Estimate, Prediction, Samples
from hil.safety.monitor import SafetyMonitor
from models.validity import VALIDITIES

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
    assert (event.fault, event.tick, event.value, event.limit) == (Fault.OUTSIDE_MODEL, 2, 7.0, one.limit)
    assert safety.safe
    assert one.name in event.detail
    assert one.allowed() in event.detail
    assert one.keys[0] in event.detail
