"""A drive: its steps in order, and its summary."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.app.run import run, run_experiment
from hil.config import ConfigError, load_config
from hil.experiments.drive import DrivingState
from hil.recording import read_trial

FAR = ("experiment=drive", "telemetry.endpoint=''")
STEPS = "drive.steps=[{for_s: 1.5, speed_mps: 0.05}, {for_s: 1.5, speed_mps: -0.03}]"


@pytest.fixture(scope="module")
def there_and_back():
    return run(load_config("sim_impact", [*FAR, STEPS]))


def test_it_goes_through_its_steps_and_ends_cut(there_and_back):
    ticks = there_and_back.ticks
    assert there_and_back.exit_code == 0
    assert there_and_back.summary["accepted"]
    assert (ticks["cut"] == (ticks["state"] != DrivingState.DRIVE)).all()
    assert (ticks["state"] == DrivingState.DRIVE).sum() == 3000


def test_each_step_reaches_its_speed_at_every_wheel(there_and_back):
    config = load_config("sim_impact")
    moving = there_and_back.ticks[there_and_back.ticks["state"] == DrivingState.DRIVE]
    for tick, speed in ((moving[1400], 0.05), (moving[2900], -0.03)):
        assert tick["wheel_speed_radps"] * config.wheel_radius_m == pytest.approx([speed] * 6, rel=0.03)


def test_the_limiter_has_nothing_to_clamp(there_and_back):
    assert there_and_back.ticks["clamped"][-1] == 0


def test_way_and_means_are_those_of_the_ticks(there_and_back):
    moving = there_and_back.ticks[there_and_back.ticks["state"] == DrivingState.DRIVE]
    summary = there_and_back.summary
    assert summary["way_m"] == pytest.approx(moving["speed_mps"].sum() * 1e-3)
    first, second = summary["steps"]
    assert first["speed_mps"] > 0.0 > second["speed_mps"]
    np.testing.assert_allclose(first["normal_force_N"], moving["normal_force_N"][750:1500].mean(axis=0))


@pytest.mark.slow
def test_a_run_leaves_a_figure_and_a_record_that_replays(tmp_path):
    config = load_config("sim_impact", [*FAR, "drive.steps=[{for_s: 0.3, speed_mps: 0.02}]"])
    assert run_experiment(config, tmp_path, progress=lambda _: None).exit_code == 0
    assert (tmp_path / "drive.png").stat().st_size > 10_000
    assert read_trial(tmp_path, trusted=True).meta["experiment"] == "drive"
    assert replay(tmp_path).differences == []


def test_a_step_faster_than_the_limit_is_refused():
    with pytest.raises(ConfigError, match=r"drive\.steps\.0\.speed_mps: found 0\.15 and 0\.1 m/s; allowed: with turn"):
        load_config("sim_impact", [*FAR, "drive.steps=[{for_s: 1, speed_mps: 0.15, turn_mps: 0.1}]"])
