"""The first range that a simulated rig leaves is kept, with the time since when it was outside."""

from __future__ import annotations

import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.plant.validity_watch import EVERY_NS, ValidityWatch


@pytest.fixture
def moving():
    rover, vehicle, state = nominal_rig(load_config("sim_juno")).build()
    state.v[0] = 0.05
    state.v[5 + rover.chain.wheel_body] = 0.05 / rover.chain.wheel_radius
    return ValidityWatch(rover, vehicle, state, 45.0), state


def look(watch: ValidityWatch, from_ms: int, to_ms: int) -> None:
    for t_ms in range(from_ms + 1, to_ms + 1):
        watch.look(t_ms * 1_000_000)


def test_a_rig_that_stays_within_has_nothing_to_tell(moving):
    watch, _ = moving
    look(watch, 0, 1000)
    assert watch.outside is None


def test_a_wheel_that_lifts_is_named_with_the_time_since_when(moving):
    watch, state = moving
    look(watch, 0, 100)
    state.ground.vertical[1] = 0.0
    look(watch, 100, 340)
    assert watch.outside is None  # for at most 0.25 s
    look(watch, 340, 400)
    assert watch.outside is not None
    assert abs(watch.outside.t_ns - 100_000_000) <= EVERY_NS
    assert watch.outside.words.startswith("front right wheel off the ground for 0.2")


def test_the_first_range_that_was_left_is_kept(moving):
    watch, state = moving
    look(watch, 0, 100)
    state.ground.sinkage[2] = 0.6 * 0.28
    look(watch, 100, 300)
    first = watch.outside
    assert first is not None
    assert first.value > first.limit == 0.5
    state.v[3] = 9.0
    look(watch, 300, 900)
    assert watch.outside is first
