"""A short recorded run, which the tests publish or play back."""

from __future__ import annotations

import pytest

from hil.app.run import run_experiment
from hil.config import load_config

SHORT = (
    "trial.start_distance_m=0.03",
    "trial.ramp_s=0.1",
    "trial.settle_s=0.5",
    "record.after_s=0.5",
    "record.sensors=burst",
)


@pytest.fixture(scope="session")
def config():
    return load_config("sim_impact", SHORT, 3)


@pytest.fixture(scope="session")
def run(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("viewed")
    run_experiment(config, folder, lambda _: None, figure=False, one_of_many=True)
    return folder
