"""A run that is over is given to the page with its own rover, its obstacle, and every tick of the time asked for."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest

from hil.app.page.record import shown
from hil.config import load_config
from hil.recording import RecordError, read_trial

from .records import record_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(short_trial):
    return short_trial("trial.angle_deg=40")


def test_a_replay_has_the_rover_the_obstacle_and_the_motion_of_the_run(run):
    found, record = json.loads(shown(run, "replay", ())), read_trial(run)
    assert found["obstacle"]["angle_deg"] == 40.0
    assert {wheel["name"] for wheel in found["rover"]["wheels"]} == set(load_config("sim_impact").layout.wheels)
    assert found["t_s"][-1] == pytest.approx(record.tick["t_ns"][-1] * 1e-9, abs=2e-3)
    joints = {joint["name"] for joint in found["rover"]["joints"] if joint["locked_rad"] is None}
    assert {f"joint_angle_rad/{joint}" for joint in joints} >= {n for n in found["columns"] if n.startswith("joint_")}
    assert "joint_angle_rad/left_bogie" in found["columns"]
    assert found["columns"]["turned_rad/front_left"][-1] > 0.1
    assert found["impact_s"] == pytest.approx(json.loads((run / "summary.json").read_text())["impact_time_s"])


def test_of_a_time_it_has_every_tick(run):
    record = read_trial(run)
    hit_s = float(record.tick["t_ns"][record.tick["impact"] == 1][0]) * 1e-9
    found = json.loads(shown(run, f"replay@{hit_s - 0.05:.9f}:{hit_s + 0.05:.9f}", ()))
    assert np.diff(found["t_s"]) == pytest.approx(1e-3)
    assert len(found["t_s"]) in (100, 101)
    rows = record.tick[np.isin(record.tick["t_ns"], np.round(np.array(found["t_s"]) * 1e9).astype(np.int64))]
    assert found["columns"]["gap_m"] == pytest.approx(rows["gap_m"].tolist())


def test_a_time_without_ticks_is_said_to_have_none(run):
    with pytest.raises(LookupError, match="no tick was recorded in that time"):
        shown(run, "replay@100.0:200.0", ())


def test_a_record_without_motion_cannot_be_replayed():
    from hil.app.page.record import replay_of

    with pytest.raises(RecordError, match="no motion of the rover"):
        replay_of(record_of(), {}, None, None)


def test_all_of_it_is_json(run):
    assert msgspec.json.decode(shown(run, "replay", ()))["columns"]
