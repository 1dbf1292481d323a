"""A run whose soil is estimated: record, summary, verify and replay."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import load_config
from hil.experiments.summary_table import EVERY_RUN, result_rows
from hil.messages.layout import SOIL_PARAMETERS
from hil.recording import read_trial

STEPS = "normal_force.steps=[{for_s: 2.5, mode: passive}, {for_s: 1, mode: max_traction}]"


@pytest.mark.soak
def test_a_drive_tells_the_slip_modulus_of_the_simulated_rig_and_max_traction_uses_it(tmp_path):
    config = load_config("sim_soil_estimate", [STEPS, "telemetry.endpoint=''"])
    summary = run_experiment(config, tmp_path, lambda _: None, figure=False).summary
    assert summary["accepted"], summary["reasons"]
    assert [check for check in verify(tmp_path) if not check.ok] == []
    assert replay(tmp_path).differences == []
    found = summary["soil_estimate"]
    modulus = found["parameters"]["slip_modulus"]
    assert modulus["observable"]
    assert modulus["low"] < modulus["ground_truth"] < modulus["high"]
    assert abs(modulus["value"] - modulus["ground_truth"]) < abs(modulus["config"] - modulus["ground_truth"])
    assert found["max_traction"]["estimate_s"] > 0.9
    assert found["spent_s"]["used"] > 1.5
    assert [one["observable"] for one in found["directions"]] == [True, False, False]
    assert found["directions"][0]["weights"]["slip_modulus"] == pytest.approx(1.0, abs=0.3)
    ticks = read_trial(tmp_path, trusted=True).tick
    assert ticks["soil_value"].shape == (len(ticks), len(SOIL_PARAMETERS))
    assert (np.diff(ticks["soil_sd"], axis=0) <= 1e-3).all()
    rows = dict(result_rows(EVERY_RUN, summary))
    assert rows["soil: rebound"].startswith("not observable")
    assert "max traction on the soil of config, of estimate" in rows
