"""A film in three dimensions shows the solids of the rig."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from hil.analysis.film.make import FilmRequest, SolidView, render
from hil.analysis.film.moments import filmed
from hil.analysis.film.view import make_figure

pytestmark = pytest.mark.slow


def test_pictures_show_the_rover_as_it_comes_nearer(short_trial, tmp_path):
    run = short_trial()
    done, pictures = [], []
    for t_s in (0.1, filmed(run, None, None).impact_s):
        path, count = render(run, FilmRequest("3d", "png", at_s=t_s), tmp_path / f"{t_s}.png")
        assert count == 1
        with Image.open(path) as picture:
            pictures.append(np.asarray(picture.convert("RGB")))
    first, last = pictures
    assert first.shape == last.shape
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 100
    assert (first[120:] != last[120:]).any(axis=2).mean() > 0.002  # below the words
    request = FilmRequest("3d", "gif", from_s=0.0, to_s=0.2, fps=10.0)
    path, count = render(run, request, tmp_path / "film.gif", lambda *counts: done.append(counts))
    assert done == [(number + 1, count) for number in range(count)]
    with Image.open(path) as film:
        assert film.n_frames == count


def test_the_whole_rover_is_in_the_picture(short_trial):
    run = filmed(short_trial(), None, None)
    _, (axes,) = make_figure(1, "3d")
    view, moment = SolidView(axes, run), run.at(run.impact_s)
    view.draw(moment)
    limits = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
    for origin in moment.placed.origin.values():
        assert (limits[:, 0] < origin).all()
        assert (origin < limits[:, 1]).all()
