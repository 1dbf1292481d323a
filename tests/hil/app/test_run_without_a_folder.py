"""A run as a pure function gives the same results as a run with a folder."""

from __future__ import annotations

import pytest

from hil.app.run import run, run_experiment
from hil.config import ConfigError, load_config
from hil.recording import read_trial

pytestmark = pytest.mark.slow

SHORT = (
    "trial.start_distance_m=0.03", "trial.ramp_s=0.2", "trial.settle_s=0.5", "record.after_s=0.5",
    "telemetry.endpoint=''",
)  # fmt: skip
LEFT_OUT = ("loop", "real_time_factor", "digests")  # what was timed, and what is of files


def test_ticks_and_summary_are_those_of_the_run_with_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = load_config("sim_impact", SHORT)
    folder = tmp_path / "run"
    folder.mkdir()
    outcome, result = run_experiment(config, folder, progress=lambda _: None, figure=False), run(config)
    record = read_trial(folder, trusted=True)
    assert result.ticks.tobytes() == record.tick.tobytes()
    assert result.events[result.events["name"] == b"impact"].tobytes() == (
        record.events[record.events["name"] == b"impact"].tobytes()
    )
    with_folder, without = (
        {k: v for k, v in s.items() if k not in LEFT_OUT} for s in (outcome.summary, result.summary)
    )
    assert without == with_folder
    assert result.exit_code == outcome.exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_run_that_is_not_timed_comes_to_the_same_without_times():
    config = load_config("sim_impact", ["experiment=jog", "jog.seconds=0.3"])
    timed, untimed = run(config), run(config, timed=False)
    assert untimed.ticks.tobytes() == timed.ticks.tobytes()
    loops = [one.summary.pop("loop") for one in (timed, untimed)]
    for one in (timed, untimed):
        del one.summary["real_time_factor"]
    assert untimed.summary == timed.summary
    assert loops[0]["ticks"] == loops[1]["ticks"]
    assert loops[0]["work_us"]["p50"] > 0.0
    assert loops[1]["work_us"] is loops[1]["plant_us"] is None


def test_an_experiment_that_nobody_has_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="experiment: found 'dance'; allowed: one of impact, jog, drive"):
        run(load_config("sim_impact", ["experiment=dance"]))
