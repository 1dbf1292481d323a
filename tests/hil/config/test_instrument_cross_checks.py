"""Instruments of motion whose settings do not fit each other, the rover, the loop or the experiment are refused."""

from __future__ import annotations

import pytest

from hil.config import ConfigError, load_config
from hil.config.schema.trial import TrialConfig
from hil.messages.layout import INSTRUMENTS


def refused(*overrides):
    """(found, allowed) by key of the refused values."""
    with pytest.raises(ConfigError) as caught:
        load_config("sim_impact", overrides)
    return {problem.key: (problem.found, problem.allowed) for problem in caught.value.problems}


def test_the_defaults_of_each_instrument_fit():
    config = load_config("sim_impact", [f"{role}={{}}" for role in INSTRUMENTS])
    assert tuple(config.instruments) == INSTRUMENTS


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        (["imu={rate_hz: 501}", "loop.rate_hz=500"], "imu.rate_hz", "at most 500, loop.rate_hz"),
        (["imu={rate_hz: 100, stale_ms: 34, delay_ms: 5}"], "imu.stale_ms", "at least 35, 3 periods of imu.rate_hz"),
        (["joints={frozen_readings: 2}"], "joints.frozen_readings", "3 to 3000, 60 s of joints.rate_hz, or 0"),
        (["joints={frozen_readings: 3001}"], "joints.frozen_readings", "3 to 3000"),
        (["motion={direction: [0, 0, 0]}"], "motion.direction", "one of the three numbers is not 0"),
        (["motion={room_m: [[1, 2], [-1, 1], [-1, 1]]}"], "motion.room_m", "x = 0 (motion.point_m)"),
        (["motion={room_m: [[-1, 1], [1, 1], [-1, 1]]}"], "motion.room_m", "a smaller number, then a larger one"),
        (["joints={encoders: [{joint: nose}]}"], "joints.encoders", "rear_bogie; or a wheel: front_left, front_r"),
        (["joints={encoders: [{joint: front_left}, {joint: front_left}]}"], "joints.encoders", "each joint once"),
        (["joints={encoders: [{joint: left_bogie}, {joint: left_bogie}]}"], "joints.encoders", "each joint once"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_its_key_and_what_is_allowed(settings, key, words):
    problems = refused(*settings)
    assert list(problems) == [key]
    assert words in problems[key][1]


@pytest.mark.parametrize(
    "settings",
    [
        ["imu={rate_hz: 500}", "loop.rate_hz=500"],
        ["imu={rate_hz: 100, stale_ms: 35, delay_ms: 5}"],
        ["joints={frozen_readings: 3}"],
        ["joints={frozen_readings: 3000}"],
        ["joints={frozen_readings: 0}"],
        ["motion={room_m: [[0, 2], [0, 1], [0.3, 1]]}"],
    ],
)
def test_what_is_just_within_a_limit_is_allowed(settings):
    load_config("sim_impact", settings)


def test_an_instrument_that_the_experiment_needs_must_be_there(monkeypatch):
    monkeypatch.setattr(TrialConfig, "needs_instruments", lambda self, rig: ("imu",) * (rig == "simulated_wire"))
    load_config("sim_impact")
    with pytest.raises(ConfigError, match="imu: found null; allowed: a section: the experiment impact needs this"):
        load_config("sim_wire")
    assert load_config("sim_impact", ["imu={}"]).spared_instruments == {"imu"}
