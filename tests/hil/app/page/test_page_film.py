"""A film in three dimensions is drawn by the page's own scene, in a browser without a window."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from hil.analysis.film.files import FilmError
from hil.analysis.film.moments import filmed
from hil.app.page.film import HEIGHT, WIDTH, solid_pictures
from hil.app.run import run_experiment
from hil.config import load_config

pytestmark = pytest.mark.slow
SHORT = ("trial.start_distance_m=0.03", "trial.ramp_s=0.1", "trial.settle_s=0.5", "record.after_s=0.5")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    config = load_config("sim_impact", [*SHORT, "telemetry.endpoint=''"], 3)
    run_experiment(config, folder, progress=lambda _: None, figure=False)
    return filmed(folder, None, None)


@pytest.mark.skipif(
    shutil.which("chromium") is None, reason="no chromium on this machine (Debian: apt install chromium)"
)
def test_pictures_show_the_rover_as_it_comes_nearer(shown):
    times, done = np.array([0.1, shown.impact_s]), []
    first, last = solid_pictures(shown, times, lambda *counts: done.append(counts))
    assert first.shape == last.shape == (HEIGHT, WIDTH, 3)
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 100
    assert (first[100:] != last[100:]).any(axis=2).mean() > 0.002  # below the words
    assert done == [(1, 2), (2, 2)]


def test_without_chromium_it_is_said_which_views_need_none(shown, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FilmError, match=r"no Chromium on the PATH, .* --view side or top"):
        next(solid_pictures(shown, np.array([0.1]), lambda *_: None))
