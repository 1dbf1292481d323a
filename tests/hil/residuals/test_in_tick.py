"""Residuals in the tick: Safe where the config asks for it, the same values as at the end, and again in a replay."""

from types import SimpleNamespace

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.faults.faulty_device import DeviceFault
from hil.app.faults.lockstep import LockstepRun
from hil.app.faults.lockstep_cases import inject
from hil.app.run import run_experiment
from hil.config import load_config
from hil.config.rig import Rig
from hil.messages.fault import Fault
from hil.recording import read_trial
from hil.residuals.judgement import MARK, TickResiduals

QUIET = "telemetry.endpoint=''"
# While the command stands.
INJECTED = 2000


def wrong_speeds(folder, *settings, factor=1.02):
    disturbed = LockstepRun(Rig(load_config("sim_impact", [QUIET, *settings])), folder, stopped_after_s=np.inf)
    disturbed.at(INJECTED, inject("drives", DeviceFault("wrong", factor=factor)))
    return disturbed.run()


@pytest.mark.slow
def test_a_wrong_wheel_speed_leads_to_safe_in_the_tick_that_notices_it_and_a_replay_does_the_same(tmp_path):
    result = wrong_speeds(tmp_path, "residuals.reaction=safe")
    (fault,) = result.faults
    assert (fault["id"], fault["name"]) == (Fault.IMPLAUSIBLE_VALUE, b"implausible_value")
    assert fault["detail"].startswith(b"wheel_speed ")
    assert INJECTED < fault["tick"] <= INJECTED + 501  # the mean over 0.5 s and a tick
    row = result.ticks[result.ticks["tick"] == fault["tick"]][0]
    assert (row["safe"], row["cut"]) == (1, 1)
    done = replay(tmp_path, unverified=True)
    assert done.differences == []


@pytest.mark.slow
def test_where_the_config_only_marks_the_run_goes_on(tmp_path):
    assert not len(wrong_speeds(tmp_path).faults)


@pytest.mark.slow
def test_a_good_run_stays_out_of_safe(tmp_path):
    result = wrong_speeds(tmp_path, "residuals.reaction=safe", factor=1.0)
    assert not len(result.faults)
    assert result.over


def test_means_of_a_tick_are_those_of_the_rows(impact):
    config = impact.judged.model_copy(
        update={"residuals": impact.judged.residuals.model_copy(update={"reaction": "safe"})}
    )
    live, ticks = TickResiduals(config.residuals, config.layout, config.loop.rate_hz), impact.result.ticks
    assert live.watched
    means = []
    for row in ticks:
        estimate = SimpleNamespace(wheel_speed_radps=tuple(row["wheel_speed_radps"].tolist()))
        live.check(estimate, None)
        means.append([one.newest for one in live.means["wheel_speed"]])
        live.record_command(
            SimpleNamespace(cut=row["cut"], duty=(), speed_radps=tuple(row["set_speed_radps"].tolist()))
        )
    found = np.array(means)
    at = np.nanargmax(np.abs(found), axis=0)
    largest = found[at, np.arange(6)]
    values = [one["value"] for one in _values(impact) if one["name"] == "wheel_speed"]
    np.testing.assert_allclose(largest, values, atol=1e-12)


def _values(good):
    from hil.residuals.evidence import RunEvidence
    from hil.residuals.judgement import residual_summary

    found, _ = residual_summary(RunEvidence(good.judged, good.result.ticks, good.result.summary))
    return found["values"]


def test_nothing_is_watched_where_the_config_only_marks(impact):
    assert not TickResiduals(impact.judged.residuals, impact.judged.layout, 1000).watched


@pytest.mark.slow
def test_a_mark_is_in_the_record_which_verifies_and_replays(tmp_path):
    config = load_config("sim_impact", [QUIET, "plant.spread.sensitivity=0.2"], seed=3)
    outcome = run_experiment(config, tmp_path, lambda _: None, figure=False, one_of_many=True)
    events = read_trial(tmp_path).events
    marked = events[events["id"] == Fault.IMPLAUSIBLE_VALUE]
    assert set(marked["name"]) == {MARK.encode()}
    assert len(marked) == len(outcome.summary["reasons"])
    assert all(check.ok for check in verify(tmp_path)), [check for check in verify(tmp_path) if not check.ok]
    assert replay(tmp_path).differences == []
