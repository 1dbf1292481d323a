"""One short run, as `hil.run` gives it."""

from __future__ import annotations

import pytest

import hil

JOG = {"experiment": "jog", "jog.seconds": 0.3, "telemetry.endpoint": ""}


@pytest.fixture(scope="session")
def jog():
    """A result that nothing has saved: whoever saves one makes it himself."""
    return hil.run(hil.load("sim_impact", JOG))


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """The folder of such a run, saved."""
    return hil.run(hil.load("sim_impact", JOG)).save(tmp_path_factory.mktemp("runs") / "jog")
