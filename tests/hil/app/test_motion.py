"""One motion of a simulated rig in virtual time, its record, and what it says has moved."""

import json
import os
import signal

import numpy as np
import pytest

from hil.app.jog import run_motion, what_moved
from hil.config import load_config
from hil.proof.replay import replay
from hil.proof.replayable import CannotReplayError
from hil.record import read_trial
from hil.rows import TICK
from hil.trials.jog import Jog, power, turn
from hil.trials.state import State

QUIET = ("telemetry.endpoint=''",)


def run(folder, motion, *overrides):
    config = load_config("sim_impact", [*QUIET, *overrides])
    folder.mkdir()
    return run_motion(config, folder, motion(config), say=lambda _: None)


def test_all_wheels_reach_the_speed_that_was_asked_for(tmp_path):
    outcome = run(tmp_path / "run", lambda config: turn(config, ["all"], -0.05, 1.0))
    assert outcome.exit_code == 0
    assert list(outcome.summary["speed_reached_mps"].values()) == pytest.approx([-0.05] * 6, abs=0.003)
    assert outcome.summary == json.loads((tmp_path / "run/summary.json").read_text())
    tick = read_trial(tmp_path / "run").tick
    assert tick["clamped"][-1] == 0
    assert (tick["cut"][tick["state"] != State.RUN_UP] == 1).all()


def test_the_valve_asked_for_fills_its_chamber_and_no_other(tmp_path):
    outcome = run(tmp_path / "run", lambda _: power("right", "extend", 0.5))
    reached = outcome.summary["pressure_reached_kPa"]
    assert outcome.exit_code == 0
    assert reached.pop("right_extend") == pytest.approx(207.0, abs=1.0)
    assert list(reached.values()) == pytest.approx([0.0] * 3, abs=0.1)


def test_arming_that_is_refused_ends_with_status_three_and_moves_nothing(tmp_path):
    outcome = run(tmp_path / "run", lambda config: turn(config, ["all"], 0.05, 1.0), "limits.noise_V=1e-6")
    assert outcome.exit_code == 3
    assert len(outcome.summary["reasons"]) == 3
    assert set(outcome.summary["speed_reached_mps"].values()) == {None}
    assert (read_trial(tmp_path / "run").tick["cut"] == 1).all()


def test_a_wall_in_the_way_stops_it_with_status_one(tmp_path):
    outcome = run(tmp_path / "run", lambda config: turn(config, ["all"], 0.07, 4.0), "trial.start_distance_m=0.03")
    assert outcome.exit_code == 1
    assert outcome.summary["reasons"] == ["cut short: the force sensors felt an impact"]
    tick = read_trial(tmp_path / "run").tick
    assert (tick["cut"][tick["impact"] == 1] == 1).all()


def test_ctrl_c_ends_it_in_safe_with_its_record_closed(tmp_path, monkeypatch):
    control, asked = Jog.control, []

    def interrupted(jog, samples, *rest):
        if jog.state is State.RUN_UP and not asked:
            asked.append(samples.t_ns)
            os.kill(os.getpid(), signal.SIGINT)
        return control(jog, samples, *rest)

    monkeypatch.setattr(Jog, "control", interrupted)
    outcome = run(tmp_path / "run", lambda config: turn(config, ["all"], 0.05, 2.0))
    assert outcome.exit_code == 1
    assert outcome.summary["reasons"] == ["fault 18: operator: SIGINT"]
    tick = read_trial(tmp_path / "run").tick
    after = tick[tick["t_ns"] > asked[0]]
    assert len(after) > 500
    assert (after["cut"] == 1).all()
    assert (after["safe"] == 1).all()


def test_it_is_no_trial_to_replay(tmp_path):
    run(tmp_path / "run", lambda _: power("left", "extend", 0.1))
    with pytest.raises(CannotReplayError, match="only trials can be replayed"):
        replay(tmp_path / "run")


def test_what_was_not_measured_is_not_made_up():
    ticks = np.zeros(10, TICK)
    ticks["state"] = State.RUN_UP
    ticks["pressure_Pa"] = np.nan
    ticks["wheel_speed_radps"][5:, 2] = 2.0
    ticks["wheel_speed_radps"][7, 4] = np.nan
    moved = what_moved(ticks, 0.1)
    assert set(moved["pressure_reached_kPa"].values()) == {None}
    assert list(moved["speed_reached_mps"].values()) == [0.0, 0.0, 0.2, 0.0, None, 0.0]
