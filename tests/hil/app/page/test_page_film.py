"""A film in three dimensions is drawn by the page's own scene, in a browser without a window."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from hil.analysis.film.files import FilmError
from hil.analysis.film.moments import filmed
from hil.app.page.film import HEIGHT, WIDTH, solid_pictures

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shown(short_trial):
    return filmed(short_trial(), None, None)


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
