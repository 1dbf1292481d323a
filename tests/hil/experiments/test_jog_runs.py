"""One motion of a simulated rig in virtual time, its record and its summary."""

import json
import os
import signal

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.app.run import run_experiment
from hil.config import load_config
from hil.experiments.jog import JogExperiment, JogState, what_moved
from hil.experiments.summary_table import result_rows
from hil.messages.layout import SENSORS, Layout
from hil.messages.signals import tick_dtype
from hil.recording import read_trial
from models.rover.assembly import WHEELS

LAYOUT = Layout(WHEELS, ("left", "right"), SENSORS["triangle"])
TICK = tick_dtype(LAYOUT)

QUIET = ("telemetry.endpoint=''",)


def run(folder, motion, *overrides):
    config = load_config("sim_impact", [*QUIET, "experiment=jog", *motion, *overrides])
    folder.mkdir()
    return run_experiment(config, folder, progress=lambda _: None, figure=False)


def turn(speed_mps, seconds):
    return [f"jog.speed_mps={speed_mps}", f"jog.seconds={seconds}"]


def power(valve, seconds):
    return ["jog.wheels=[]", f"jog.valve={valve}", f"jog.seconds={seconds}"]


@pytest.mark.slow
def test_all_wheels_reach_the_speed_that_was_asked_for(tmp_path):
    outcome = run(tmp_path / "run", turn(-0.05, 1.0))
    assert outcome.exit_code == 0
    assert list(outcome.summary["speed_reached_mps"].values()) == pytest.approx([-0.05] * 6, abs=0.003)
    assert outcome.summary == json.loads((tmp_path / "run/summary.json").read_text())
    tick = read_trial(tmp_path / "run", trusted=True).tick
    assert tick["clamped"][-1] == 0
    assert (tick["cut"][tick["state"] != JogState.MOVE] == 1).all()


@pytest.mark.slow
def test_the_valve_asked_for_fills_its_chamber_and_no_other(tmp_path):
    outcome = run(tmp_path / "run", power("right_extend", 0.5))
    reached = outcome.summary["pressure_reached_kPa"]
    assert outcome.exit_code == 0
    assert reached.pop("right_extend") == pytest.approx(207.0, abs=1.0)
    assert list(reached.values()) == pytest.approx([0.0] * 3, abs=0.1)


@pytest.mark.slow
def test_the_joint_asked_for_turns_within_the_limits_and_no_other(tmp_path):
    asked = ["jog.wheels=[]", "jog.joint=front_left_walking", "jog.angle_deg=-3", "jog.seconds=1"]
    outcome = run(tmp_path / "run", asked, "servos={joints: {walking: {}}}")
    assert outcome.exit_code == 0
    reached = outcome.summary["angle_reached_deg"]
    assert reached.pop("front_left_walking") == pytest.approx(-3.0, abs=0.3)
    assert list(reached.values()) == pytest.approx([0.0] * 5, abs=0.3)
    tick = read_trial(tmp_path / "run", trusted=True).tick
    assert tick["clamped"][-1] == 0
    assert (tick["cut"] == 1).all()
    assert replay(tmp_path / "run").differences == []


def test_arming_that_is_refused_ends_with_status_three_and_moves_nothing(tmp_path):
    outcome = run(tmp_path / "run", turn(0.05, 1.0), "limits.noise_V=1e-6")
    assert outcome.exit_code == 3
    assert len(outcome.summary["reasons"]) == 3
    assert set(outcome.summary["speed_reached_mps"].values()) == {None}
    rows = dict(result_rows(JogExperiment.results, outcome.summary))
    assert "moved" not in rows
    assert rows["was to move"].endswith("for 1 s")
    assert (read_trial(tmp_path / "run", trusted=True).tick["cut"] == 1).all()


@pytest.mark.slow
def test_a_wall_in_the_way_stops_it_with_status_one(tmp_path):
    outcome = run(tmp_path / "run", turn(0.07, 4.0), "trial.start_distance_m=0.03")
    assert outcome.exit_code == 1
    assert outcome.summary["reasons"] == ["ended early: the force sensors detected an impact"]
    tick = read_trial(tmp_path / "run", trusted=True).tick
    assert (tick["cut"][tick["impact"] == 1] == 1).all()


@pytest.mark.slow
def test_ctrl_c_ends_it_in_safe_with_its_record_closed(tmp_path, monkeypatch):
    decide, asked = JogExperiment.decide, []

    def interrupted(jog, samples, *rest):
        if jog.state is JogState.MOVE and not asked:
            asked.append(samples.t_ns)
            os.kill(os.getpid(), signal.SIGINT)
        return decide(jog, samples, *rest)

    monkeypatch.setattr(JogExperiment, "decide", interrupted)
    outcome = run(tmp_path / "run", turn(0.05, 2.0))
    assert outcome.exit_code == 1
    assert outcome.summary["reasons"] == ["fault 18: operator: SIGINT"]
    tick = read_trial(tmp_path / "run", trusted=True).tick
    after = tick[tick["t_ns"] > asked[0]]
    assert len(after) > 500
    assert (after["cut"] == 1).all()
    assert (after["safe"] == 1).all()


@pytest.mark.slow
def test_its_record_replays_bit_for_bit(tmp_path):
    run(tmp_path / "run", power("left_extend", 0.1))
    assert replay(tmp_path / "run").differences == []


def test_what_was_not_measured_is_not_made_up():
    ticks = np.zeros(10, TICK)
    ticks["state"] = JogState.MOVE
    ticks["pressure_Pa"] = np.nan
    ticks["wheel_speed_radps"][5:, 2] = 2.0
    ticks["wheel_speed_radps"][7, 4] = np.nan
    moved = what_moved(ticks, LAYOUT, (0.1,) * len(LAYOUT.wheels))
    assert set(moved["pressure_reached_kPa"].values()) == {None}
    assert list(moved["speed_reached_mps"].values()) == [0.0, 0.0, 0.2, 0.0, None, 0.0]
