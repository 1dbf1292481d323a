"""Whole trials with a release that is not the detector's: latency, record and proof."""

from __future__ import annotations

import pytest

from hil.analysis.command_checks import cut_at_impact
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import load_config
from hil.experiments.impact.predicted_force import Release, operator_delay_s
from hil.recording import read_trial

pytestmark = pytest.mark.slow

QUICK = [
    "telemetry.endpoint=''", "trial.start_distance_m=0.03", "trial.ramp_s=0.2", "trial.settle_s=0.5",
    "record.after_s=0.5",
]  # fmt: skip


def trial(folder, *settings: str):
    folder.mkdir()
    config = load_config("sim_impact", [*QUICK, *settings])
    return config, run_experiment(config, folder, progress=lambda _: None, figure=False).summary


@pytest.mark.ci_cases("settings0")
@pytest.mark.parametrize(
    "settings",
    [
        ("trial.release=operator",),
        ("trial.release=timed", "trial.drive_time_s=0.8"),
        ("trial.release=timed", "trial.drive_time_s=0.45"),
        ("trial.destress_m=0.01",),
    ],
)
def test_the_record_of_such_a_trial_proves_itself_and_replays(tmp_path, settings):
    trial(tmp_path / "run", *settings)
    assert [check for check in verify(tmp_path / "run") if not check.ok] == []
    assert replay(tmp_path / "run").differences == []


def test_an_operators_latency_is_his_reaction(tmp_path):
    config, summary = trial(tmp_path / "run", "trial.release=operator")
    delay_ms = operator_delay_s(config.trial, config.seed) * 1e3
    assert summary["release"] == "operator"
    assert summary["cut_latency_ms"] == pytest.approx(delay_ms, abs=1.001)
    assert summary["cut_effective_ms"] == pytest.approx(summary["cut_latency_ms"], abs=1.001)
    _, automatic = trial(tmp_path / "other")
    assert summary["contact_force_peak_N"] > automatic["contact_force_peak_N"]


def test_a_cut_that_comes_after_the_release_was_due_is_found(tmp_path):
    config, _ = trial(tmp_path / "run", "trial.release=operator")
    record, release = read_trial(tmp_path / "run", trusted=True), Release(config.trial, config.seed)
    assert cut_at_impact(record.tick, record.events, release).ok
    first = int(record.tick["cut"][int(record.tick["impact"].argmax()) :].argmax() + record.tick["impact"].argmax())
    late = record.tick.copy()
    late["cut"][first : first + 1] = 0
    found = cut_at_impact(late, record.events, release)
    assert not found.ok
    assert "operator" in found.allowed
    assert not cut_at_impact(record.tick, record.events).ok  # nor is it cut in the reaction tick


def test_a_cut_before_the_impact_has_no_latency(tmp_path):
    _, summary = trial(tmp_path / "run", "trial.release=timed", "trial.drive_time_s=0.5", "drives.coast_damping=0",
                       "drives.gear_friction_Nm=0", "ground.kind=firm")  # fmt: skip
    assert summary["impact_time_s"] is not None
    cut = read_trial(tmp_path / "run", trusted=True).tick["cut"]
    assert cut[-1] == 1
    assert summary["cut_latency_ms"] is None
    assert summary["cut_effective_ms"] is None


def test_a_run_up_of_a_metre_reaches_its_speed_and_the_obstacle_in_time(tmp_path):
    _, summary = trial(tmp_path / "run", "trial.start_distance_m=1", "trial.ramp_s=0.5")
    assert summary["aborted"] is False
    assert summary["impact_speed_mps"] == pytest.approx(0.07, rel=0.03)
    # armed after 0.25 s; then the distance at the speed, and half of the ramp
    assert summary["impact_time_s"] == pytest.approx(0.25 + 1.0 / 0.07 + 0.25, rel=0.02)
