"""A simulated run with limits on what is measured: marked near a limit, Safe beyond it, and replayed alike."""

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.app.run import run, run_experiment
from hil.config import load_config

pytestmark = pytest.mark.slow

SHORT = (
    "telemetry.endpoint=''", "trial.start_distance_m=0.05", "trial.ramp_s=0.3", "trial.settle_s=0.5",
    "record.after_s=0.5",
)  # fmt: skip


def trial(*limits):
    return run(load_config("sim_impact", [*SHORT, *limits]))


def faults(result):
    return [int(event["id"]) for event in result.events if event["id"]]


def test_currents_and_supply_of_a_run_follow_from_the_drives_torques():
    result = trial("limits.motor_current_A={safe_above: 100}", "drives.power.supply_ohm=0.1")
    ticks = result.ticks
    assert result.summary["accepted"]
    assert 0.5 < np.abs(ticks["current_A"]).max() < 40.0 / 3.0  # torque limit over torque for each ampere
    droop_V = 24.0 - ticks["supply_V"][:, 0]
    assert droop_V == pytest.approx(0.1 * np.abs(ticks["current_A"]).sum(axis=1))
    standing = ticks["set_speed_radps"].max(axis=1) == 0.0
    assert np.abs(ticks["current_A"][standing][:50]).max() < 1e-6


def test_a_current_near_its_limit_marks_the_trial_and_the_trial_goes_on():
    result = trial("limits.motor_current_A={warn_above: 0.5, safe_above: 100}")
    assert (result.exit_code, faults(result)) == (0, [31])
    assert not result.summary["accepted"]
    (reason,) = result.summary["reasons"]
    assert reason.startswith("motor current ")
    assert reason.endswith("A, allowed: at most 0.5 A (limits.motor_current_A)")


@pytest.mark.parametrize("limit", ["motor_current_A={safe_above: 0.5}", "supply_V={safe_below: 23.9}"])
def test_beyond_a_limit_the_drives_are_cut_in_that_tick(limit):
    result = trial(f"limits.{limit}")
    assert (result.exit_code, faults(result)) == (1, [30])
    (event,) = (event for event in result.events if event["id"])
    row = result.ticks[result.ticks["tick"] == event["tick"]][0]
    assert (row["safe"], row["cut"]) == (1, 1)
    assert not result.ticks[result.ticks["tick"] < event["tick"]]["safe"].any()


def test_a_replay_finds_the_same_fault_in_the_same_tick(tmp_path):
    config = load_config("sim_impact", [*SHORT, "limits.motor_current_A={safe_above: 0.5}"])
    run_experiment(config, tmp_path, lambda _: None, figure=False, one_of_many=True)
    assert replay(tmp_path).differences == []
