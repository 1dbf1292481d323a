"""A rover on the tips of its grousers, from config to record: plant and twin roll on the same outline."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import load_config
from hil.config.rig import Rig
from hil.recording import read_trial

FIRM = ("wheel.variant=exact", "ground.kind=firm", "wheel.grousers=12", "wheel.grouser_rim=true")


@pytest.mark.slow
def test_a_drive_on_tips_is_recorded_verified_and_replayed_and_goes_up_and_down(tmp_path):
    settings = (
        *FIRM,
        "ground.friction_holds=true",
        "drive.steps=[{for_s: 4, speed_mps: 0.08}]",
        "telemetry.endpoint=''",
    )
    config = load_config("sim_flexible_wheel", settings)
    summary = run_experiment(config, tmp_path, progress=lambda _: None, figure=False).summary
    assert summary["accepted"], summary["reasons"]
    assert [check for check in verify(tmp_path) if not check.ok] == []
    assert replay(tmp_path).differences == []
    height = read_trial(tmp_path, trusted=True).tick["pose"][1000:4000, 2]
    radius, tall = float(Rig(config).nominal.make_rover().chain.wheel_radius[0]), config.wheel.grouser_height_m
    rises = min(radius * (1.0 - math.cos(math.pi / 12.0)), tall)
    assert np.ptp(height) == pytest.approx(rises, rel=0.05)


def test_a_rim_that_touches_is_asked_for_and_is_none_of_a_smooth_wheel():
    ground = Rig(load_config("sim_flexible_wheel", FIRM)).nominal.ground
    assert ground.grousers == ((12, 0.01),) * 6
    assert Rig(load_config("sim_flexible_wheel", FIRM[:3])).nominal.ground.grousers == ()
