"""The ground that page and viewer draw of a config with a profile."""

from __future__ import annotations

import numpy as np

from hil.analysis.film.solids import GROUND, Lines, RigSolids
from hil.app.page.content import ground_shown
from hil.config import load_config
from hil.config.model_parameters import nominal_rig, profile_line
from hil.config.rig import Rig


def test_the_page_gets_the_corners_of_a_profile_in_the_world():
    config = load_config("sim_step")
    corners = np.array(ground_shown(Rig(config))["profile_m"])
    assert corners.shape == (4, 2)
    assert corners[:, 1].tolist() == [0.0, 0.0, 0.1, 0.1]
    assert corners.tolist() == np.asarray(profile_line(nominal_rig(config))).round(4).tolist()
    assert ground_shown(Rig(load_config("sim_impact")))["profile_m"] is None


def test_the_viewer_gets_lines_along_a_profile_and_across_it_at_each_edge():
    config = load_config("sim_drop")
    (lines,) = [solid for solid in RigSolids(Rig(config)).solids() if solid.frame == GROUND]
    assert isinstance(lines, Lines)
    line = np.asarray(profile_line(nominal_rig(config)))
    x, _, z = lines.points.T
    level = np.abs(x - line[1, 0]) > 1e-9
    assert np.abs(z[level] - np.interp(x[level], line[:, 0], line[:, 1])).max() < 1e-12
    assert sorted(set(z[~level].tolist())) == [-0.1, 0.0]
    starts, ends = lines.points[::2], lines.points[1::2]
    along = (starts[:, 1] == ends[:, 1]).sum()
    assert 0 < along < len(starts)
