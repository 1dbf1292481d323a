"""Tests of the experiment, on the simulated rig in virtual time. Install the package, and run `pytest`."""

import pytest

import hil


def test_it_runs_and_the_wheels_turn_as_the_config_says() -> None:
    """The summary has the experiment's own number."""
    settings = {"experiment": "spin", "spin": {"seconds": 0.5, "speed_radps": 0.3}, "telemetry.endpoint": ""}
    summary = hil.run(hil.load("sim_impact", settings)).summary
    assert (summary["accepted"], summary["reasons"]) == (True, [])
    assert summary["fastest_radps"] == pytest.approx(0.3, abs=0.02)


def test_a_wrong_setting_is_refused() -> None:
    """By the bounds of its section."""
    with pytest.raises(hil.ConfigError, match="seconds"):
        hil.load("sim_impact", {"experiment": "spin", "spin": {"seconds": -1}})
