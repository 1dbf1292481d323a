"""A rover on flexible wheels, from config to record: plant and twin roll on the same tabled shape."""

from __future__ import annotations

import numpy as np
import pytest

from hil.analysis.replay import replay
from hil.analysis.verify import verify
from hil.app.run import run_experiment
from hil.config import ConfigError, load_config
from hil.config.rig import Rig
from hil.recording import read_trial
from hil.safety.equilibrium_checks import validity_checks

SHORT = ("drive.steps=[{for_s: 0.5, speed_mps: 0.05}]", "telemetry.endpoint=''")


@pytest.mark.slow
def test_a_drive_on_flexible_wheels_is_recorded_verified_and_replayed(tmp_path):
    summary = run_experiment(
        load_config("sim_flexible_wheel", SHORT), tmp_path, progress=lambda _: None, figure=False
    ).summary
    assert summary["accepted"], summary["reasons"]
    assert [check for check in verify(tmp_path) if not check.ok] == []
    assert replay(tmp_path).differences == []
    assert read_trial(tmp_path, trusted=True).tick["sinkage_m"][-1] == pytest.approx(np.full(6, 0.014), abs=0.003)


@pytest.mark.slow
def test_flexible_wheels_in_their_own_ruts_go_deeper_and_a_run_of_them_verifies_and_replays(tmp_path):
    """Forth and back over the track: the wheels behind, and then all, meet what others have pressed down."""
    settings = ("drive.steps=[{for_s: 7, speed_mps: 0.1}, {for_s: 2, speed_mps: -0.1}]", "soil.rut=remembered")
    summary = run_experiment(
        load_config("sim_flexible_wheel", (*settings, *SHORT[1:])), tmp_path, progress=lambda _: None, figure=False
    ).summary
    assert summary["accepted"], summary["reasons"]
    assert [check for check in verify(tmp_path) if not check.ok] == []
    assert replay(tmp_path).differences == []
    tick = read_trial(tmp_path, trusted=True).tick
    sinkage, slip = tick["sinkage_m"], tick["slip"]
    fresh, rutted, back = (slice(int(1e3 * a), int(1e3 * b)) for a, b in ((3.0, 4.5), (6.6, 7.0), (8.4, 9.0)))
    deeper = sinkage[rutted].mean(0) - sinkage[fresh].mean(0)
    assert np.all(deeper[2:] > 0.5e-3)  # middle and rear
    assert np.all(np.abs(deeper[:2]) < 0.5e-3)  # the front wheels' soil is fresh
    assert sinkage[back].mean() > sinkage[rutted].mean()
    assert np.abs(slip[rutted]).mean() < 0.8 * np.abs(slip[fresh]).mean()


def test_a_very_stiff_wheel_settles_where_the_rigid_one_does():
    places = []
    for settings in ((), ("wheel.ring.bending_stiffness_Nm2=1e9", "wheel.ring.hub_stiffness_Npm=1e9"),
                     ("wheel.variant=exact",)):  # fmt: skip
        _, _, state = Rig(load_config("sim_flexible_wheel", settings)).nominal.build()
        places.append(state.q[2])
    flexible, stiff, rigid = places
    assert stiff == pytest.approx(rigid, abs=1e-6)
    assert rigid - flexible > 0.005


def test_a_rim_too_soft_for_the_rover_is_named_before_a_run_is_armed():
    ok, soft = (
        validity_checks(Rig(load_config("sim_flexible_wheel", settings)))[0]
        for settings in ((), ("wheel.ring.hub_stiffness_Npm=200", "wheel.ring.bending_stiffness_Nm2=0.05"))
    )
    assert ok.ok
    assert not soft.ok
    assert "wheel.ring.hub_stiffness_Npm" in soft.to_do


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (("wheel.ring.modes=1",), "wheel.ring.modes"),
        (("wheel.ring.bending_stiffness_Nm2=0",), "wheel.ring.bending_stiffness_Nm2"),
        (("wheel.ring.hub_stiffness_Npm=.inf",), "wheel.ring.hub_stiffness_Npm"),
        (("wheel.grousers=22",), "wheel.grousers"),
        (("wheel.grousers=22", "wheel.grouser_thrust=true"), "wheel.grousers"),
        (
            ("soil.rut=remembered", "wheel.ring.hub_stiffness_Npm=2000", "wheel.ring.bending_stiffness_Nm2=0.05"),
            "soil.rut",
        ),
        (("soil.rut=remembered", "soil.slip_sinkage=1"), "soil.slip_sinkage"),
        (("soil.exponent=1.5", "soil.rebound=0.9"), "soil.rebound"),
        (("ground.kind=firm",), "wheel.variant"),
    ],
)
def test_what_does_not_go_with_a_flexible_wheel_is_refused_by_its_key(settings, key):
    with pytest.raises(ConfigError, match=key):
        load_config("sim_flexible_wheel", settings)
