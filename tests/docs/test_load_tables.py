"""Numbers of docs/explanation/normal-force.md that follow from equilibrium alone."""

from __future__ import annotations

import re

import numpy as np
import pytest

from models.rover import rcp
from models.statics import RoverStatics
from references.wheel_loads import wheel_loads

PAGE = "docs/explanation/normal-force.md"


def test_the_influence_of_each_joint_is_that_of_the_table(pages):
    rover = rcp()
    influence = RoverStatics(rover).influence(rover.neutral())
    names = RoverStatics(rover).joint_names
    rows = re.findall(r"^\| `(\w+_bogie)` \| (.+) \|$", pages[PAGE], re.MULTILINE)
    assert {name for name, _ in rows} == set(names)
    for name, cells in rows:
        stated = [float(cell) for cell in cells.split(" | ")]
        assert influence[:, names.index(name)] == pytest.approx(stated, abs=6e-3)


def test_level_and_at_rest_passive_bogies_share_evenly(pages):
    (found,) = re.findall(r"passive bogies share evenly \(([\d., ]+) N by\s+row\)", pages[PAGE])
    rover = rcp()
    load = wheel_loads(rover, rover.neutral(), np.zeros(3))
    assert [load[:2].mean(), load[2:4].mean(), load[4:].mean()] == pytest.approx(
        [float(one) for one in found.split(", ")], abs=0.06
    )
