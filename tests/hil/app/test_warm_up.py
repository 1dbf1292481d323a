"""Every kernel runs once before a run."""

from __future__ import annotations

from hil.app.warm_up import warm_up
from hil.config import load_config
from models.kernels import compiled


def test_what_is_compiled_afterwards_is_not_reported_to_whoever_warmed_up():
    warm_up(load_config("sim_impact"), lambda _: None)
    assert compiled._COMPILATIONS.callback is None
