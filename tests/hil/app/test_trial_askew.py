"""Whole trials that veer or slip off the plate: what only the simulated rig knows is in the record, and verified."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hil.analysis.verify import verify
from hil.app.run import run as run_without_files
from hil.app.run import run_experiment
from hil.campaign.plan import expand, load_plan
from hil.config import load_config
from hil.recording import read_trial
from hil.simulator.ground_truth import ACROSS, HEADING, SLIP, GroundTruth

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

QUICK = [
    "telemetry.endpoint=''", "trial.start_distance_m=0.1", "trial.ramp_s=0.2", "trial.settle_s=0.6",
    "record.after_s=0.5",
]  # fmt: skip


def trial(folder, *settings: str):
    folder.mkdir()
    summary = run_experiment(
        load_config("sim_impact", [*QUICK, *settings]), folder, progress=lambda _: None, figure=False
    ).summary
    assert [check for check in verify(folder) if not check.ok] == []
    events = read_trial(folder, trusted=True).events
    return summary, GroundTruth.recorded(events), {bytes(name).decode() for name in events["name"]}


def test_a_straight_trial_has_no_such_events(tmp_path):
    summary, ground_truth, names = trial(tmp_path / "run")
    assert summary["accepted"]
    assert not names & {HEADING, ACROSS, SLIP}
    assert ground_truth.hit_heading is None
    assert ground_truth.slip_ns is None


def test_the_record_of_a_veering_trial_holds_its_heading_and_place(tmp_path):
    summary, ground_truth, _ = trial(tmp_path / "run", "plant.veer.heading_deg=3", "plant.spread.start_m=0")
    heading, across = ground_truth.hit_heading, ground_truth.hit_across
    assert heading == pytest.approx(math.radians(3.0), abs=0.005)
    ahead, left = math.cos(heading), math.sin(heading)
    way = (0.5349 + 0.1 - 0.5349 * ahead - 0.4552 * left) / ahead
    assert across == pytest.approx((way + 0.5349) * left + 0.4552 * (1.0 - ahead), abs=0.003)
    assert not summary["accepted"]


def test_the_record_of_a_trial_that_slips_off_says_when(tmp_path):
    settings = ["trial.angle_deg=40", "wheel.grousers=22", "trial.release=operator"]
    summary, ground_truth, _ = trial(tmp_path / "run", *settings, "obstacle.plate={centre_up_m: 0.272}")
    slip_ns, force = ground_truth.slip_ns, ground_truth.slip_force
    assert summary["impact_time_s"] < slip_ns * 1e-9 < summary["impact_time_s"] + 0.6
    assert force > 5.0


def test_samples_of_a_force_that_jumps_do_not_go_beyond_it():
    """In trial 9 of the laboratory's plan a grouser slips off and the next one bears half more, 0.2 s after the hit."""
    planned = expand(load_plan("laboratory"), "sim_impact", ["telemetry.endpoint=''"])[8]
    result = run_without_files(planned.attempt(1)[1])
    top = result.samples[1][:, 0]
    jump = np.diff(top).argmax() + 1
    assert top[jump] - top[jump - 1] > 1.0
    assert top.max() - top[jump : jump + 30].mean() < 0.02
    assert result.summary["accepted"]
