"""Every kernel runs once before a run."""

from __future__ import annotations

from hil.app import warm_up as warm_up_module
from hil.app.warm_up import warm_up
from hil.config import load_config
from models.kernels import compiled


def test_what_is_compiled_afterwards_is_not_reported_to_whoever_warmed_up(monkeypatch):
    monkeypatch.setattr(warm_up_module, "_WARM", set())
    warm_up(load_config("sim_impact"), lambda _: None)
    assert compiled._COMPILATIONS.callback is None


def test_kernels_run_once_in_a_process_for_all_configs_that_need_the_same(monkeypatch):
    run = []
    monkeypatch.setattr(warm_up_module, "_WARM", set())
    monkeypatch.setattr(warm_up_module, "_run_all", lambda config, _: run.append(config.trial.angle_deg))
    for override in ("trial.angle_deg=50", "trial.angle_deg=60", "ground.kind=firm"):
        warm_up(load_config("sim_impact", [override]))
    assert run == [50, 60]
