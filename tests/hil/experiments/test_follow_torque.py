"""Following by torque, and a throttle: accepted on the scan of the shipped config, and a constant torque is one."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.verify import verify
from hil.app.run import run, run_experiment
from hil.config import load_config
from hil.experiments.follow.experiment import FOLLOW

SHORT = (
    "telemetry.endpoint=''", "follow.profile=[[0, 0], [0.5, 0.15], [2.5, 0.15]]", "follow.window_from_s=1.5",
    "follow.window_s=1",
)  # fmt: skip


@pytest.mark.slow
def test_torques_follow_the_wheels_speed_over_a_scan_and_the_run_proves_itself(tmp_path):
    config = load_config("sim_scan_torque", SHORT)
    summary = run_experiment(config, tmp_path, progress=lambda _: None).summary
    assert summary["accepted"], summary["reasons"]
    assert summary["error_rms_mps"] < 0.005
    # level soil still: both wheels of a side and the friction of their gear
    assert 150.0 < summary["torque_Nm"] < 250.0
    assert (tmp_path / "follow.png").stat().st_size > 10_000
    assert all(check.ok for check in verify(tmp_path))


@pytest.mark.slow
def test_a_throttle_is_one_duty_and_a_torque_without_gains_is_constant():
    throttle = ["follow.quantity=throttle", "follow.torque=null", "follow.full_duty_mps=0.81"]
    result = run(load_config("sim_scan_torque", [*SHORT, *throttle]))
    assert result.summary["accepted"], result.summary["reasons"]
    assert result.summary["error_rms_mps"] is None
    late = result.ticks[result.ticks["state"] == FOLLOW][1000:]
    np.testing.assert_allclose(late["duty"], 0.15 / 0.81, rtol=1e-6)
    constant = "follow.torque={begin_Nm: 190, gain: 0, integral_gain: 0}"
    found = run(load_config("sim_scan_torque", [*SHORT, constant, "follow.error_limit_mps=1"])).summary
    assert found["torque_Nm"] == pytest.approx(190.0, rel=1e-3)
    assert found["phase_margin_deg"] is None
