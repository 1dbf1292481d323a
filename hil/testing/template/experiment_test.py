"""Tests of the experiment, on the simulated rig in virtual time. Install the package, and run `pytest`."""

from pathlib import Path

import pytest

from hil.app.run import run_experiment
from hil.config import ConfigError, load_config
from hil.testing.template.experiment import SpinSection


def test_it_runs_and_the_wheels_turn_as_the_config_says(tmp_path: Path) -> None:
    """The summary has the experiment's own number."""
    settings = ["experiment=spin", "spin={seconds: 0.5, speed_radps: 0.3}", "telemetry.endpoint=''"]
    summary = run_experiment(load_config("sim_impact", settings), tmp_path, print, figure=False).summary
    assert (summary["accepted"], summary["reasons"]) == (True, [])
    assert summary["fastest_radps"] == pytest.approx(0.3, abs=0.02)


def test_a_wrong_setting_is_refused() -> None:
    """By the bounds of its section."""
    assert SpinSection().seconds == 1.0
    with pytest.raises(ConfigError, match="seconds"):
        load_config("sim_impact", ["experiment=spin", "spin.seconds=-1"])
