"""A simulated rig that leaves what its models hold for: its run is not accepted, and its record says why."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from hil.app.run import run
from hil.cli import run as command_line
from hil.config import load_config
from hil.config.rig import Rig
from hil.experiments.summary import truth_reasons
from hil.recording import read_trial
from hil.simulator.ground_truth import GroundTruth, truth_answer
from hil.simulator.simulated_rig import GroundTruthPublisher, build_plant, build_simulated_rig
from models.plant.validity_watch import RangeExit

LEFT = RangeExit(150_000_000, 0.0, 0.0, "front left wheel off the ground for 0.25 s")
START_NS = 7_000_000_000


def test_the_record_gives_back_what_the_rig_left():
    rows = np.concatenate(list(GroundTruth(outside=LEFT).events(1000)))
    assert GroundTruth.recorded(rows).outside == LEFT
    assert GroundTruth.recorded(rows[:0]).outside is None
    assert truth_reasons(GroundTruth.recorded(rows)) == [
        "the simulated rig left what its models hold for: front left wheel off the ground for 0.25 s, from 0.150 s on"
    ]


def test_a_real_rig_has_no_such_reason():
    assert truth_reasons(GroundTruth()) == []


def test_the_mailbox_and_the_control_socket_pass_it_on(shared, monkeypatch):
    plant = build_plant(Rig(shared.config))
    publisher = GroundTruthPublisher(shared.ground_truth, plant, START_NS)
    assert GroundTruth.received(truth_answer(shared.ground_truth, {})).outside is None
    monkeypatch.setattr(plant._watch, "outside", LEFT)
    publisher.publish(SimpleNamespace(ticks=1, late=0, skipped=0), 0)
    answer = truth_answer(shared.ground_truth, {})
    assert GroundTruth.received(answer).outside == LEFT._replace(t_ns=LEFT.t_ns + START_NS)
    assert GroundTruth.received(answer, START_NS).outside == LEFT


@pytest.mark.slow
def test_a_run_is_not_accepted_if_only_the_simulated_rig_leaves_its_range(monkeypatch):
    """The twin is stiff enough in the ground; the wheels of the rig are deeper than half their radius."""
    config = load_config("sim_juno", ["soil.stiffness=65000", "drive.steps=[{speed_mps: 0.05, for_s: 1}]"])
    soft = config.model_copy(update={"soil": config.soil.model_copy(update={"stiffness": 57000.0})})
    monkeypatch.setattr("hil.app.run.build_simulated_rig", lambda _: build_simulated_rig(Rig(soft)))
    summary = run(config).summary
    assert not summary["accepted"]
    assert not summary["aborted"]
    (reason,) = summary["reasons"]
    assert reason.startswith("the simulated rig left what its models hold for: sinkage over wheel radius 0.5")


@pytest.mark.slow
def test_a_run_that_fault_32_ends_is_safe_and_its_record_holds(tmp_path, capsys):
    """Statics let it arm, in soil that is hardly stiff enough; once it drives, its wheels sink deeper."""
    folder = tmp_path / "run"
    assert command_line(["run", "sim_juno", "--set", "soil.stiffness=60000", "--out", str(folder)]) == 1
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["accepted"], summary["aborted"]) == (False, True)
    assert summary["reasons"][0].startswith("fault 32: rover twin: sinkage over wheel radius 0.5")
    record = read_trial(folder, trusted=True)
    (fault,) = record.events[record.events["id"] == 32]
    after = record.tick[record.tick["tick"] >= fault["tick"]]
    assert after["safe"].all()
    assert after["cut"].all()
    assert not record.tick["safe"][record.tick["tick"] < fault["tick"]].any()
    assert command_line(["verify", str(folder)]) == 0
    capsys.readouterr()
    assert command_line(["replay", str(folder)]) == 0
    assert "identical" in capsys.readouterr().out
    command_line(["explain", "--run", str(folder)])
    words = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "fault 32: outside model" in words
    assert "Look at the rover before" in words


@pytest.mark.ci_cases("3-560")
@pytest.mark.slow
@pytest.mark.parametrize(("roll_deg", "pull_N"), [(0, 585), (3, 560), (6, 530)])
def test_a_rover_pulled_nearly_as_hard_as_arming_allows_keeps_its_wheels_on_the_ground(roll_deg, pull_N):
    steps = "normal_force.steps=[{for_s: 4, mode: passive}, {for_s: 4, mode: uniform}]"
    pulled = [f"rover.drawbar.pull_N={pull_N}", f"ground.roll_deg={roll_deg}"]
    outcome = run(load_config("sim_normal_force", [steps, *pulled, "normal_force.least_load_N=0"]))
    assert not outcome.summary["aborted"], outcome.summary["reasons"]
    assert not [reason for reason in outcome.summary["reasons"] if "model" in reason]
