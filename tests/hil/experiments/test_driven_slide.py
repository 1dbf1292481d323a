"""A rig with a driven joint that slides, in virtual time: from its table to record, replay, report and film."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.fault_report import quantities
from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import load_config
from hil.experiments.stimulus import StimulusState
from hil.recording import read_trial

pytestmark = pytest.mark.slow
LIFT = r'stimulus.table="time_s,speed_mps,deck_lift_mm\n0,0,0\n0.3,0.02,0\n1.3,0.02,25\n1.5,0,25\n"'


@pytest.fixture(scope="module")
def lift(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lift")
    outcome = run_experiment(
        load_config("sim_lift", ["telemetry.endpoint=''", LIFT]), folder, progress=lambda _: None, figure=False
    )
    return folder, outcome.summary, read_trial(folder, trusted=True)


def test_a_deck_is_lifted_as_its_table_says_and_the_wheels_bear_the_rover(lift):
    _, summary, record = lift
    assert summary["accepted"], summary["reasons"]
    assert summary["slides"] == ["deck_lift"]
    assert "joints" not in summary
    assert 0.0 < summary["slide_error_rms_mm"][0] < summary["slide_error_largest_mm"] < 2.0
    ticks = record.tick
    assert 1e3 * ticks["servo_angle_rad"][-1, 0] == pytest.approx(25.0, abs=0.5)
    assert np.abs(ticks["joint_angle_rad"][:, 0] - ticks["servo_angle_rad"][:, 0]).max() < 1e-3  # the twin's deck
    loads = ticks["normal_force_N"][ticks["state"] == StimulusState.PLAY].sum(axis=1)
    assert loads.mean() == pytest.approx(44.8 * 9.81, rel=0.02)


def test_it_is_shown_in_millimetres(lift):
    record = lift[2]
    layout = load_config("sim_lift").layout
    row = {name: record.tick[name][-1] for name in record.tick.dtype.names}
    shown = {one.name: one.text(row) for one in quantities(layout, str(record.meta["states"]), row)}
    assert shown["deck_lift set [mm]"] == "25.0"


def test_the_run_is_replayed_bit_for_bit_and_verified(lift):
    assert replay(lift[0]).differences == []
    assert [check for check in verify(lift[0]) if not check.ok] == []
