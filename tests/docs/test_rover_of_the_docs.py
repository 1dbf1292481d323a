"""The rover that docs/how-to/add-a-rover.md writes is one, and has the numbers that the page says."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import numpy as np
import pytest

from models.impact import effective_kinetic_energy

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPEED_MPS = 0.07


@pytest.fixture
def page(pages):
    return pages["docs/how-to/add-a-rover.md"]


@pytest.fixture
def wagon(page, monkeypatch):
    """Its class, from a module, as a dataclass needs one."""
    (code,) = BLOCK.findall(page)
    module = ModuleType("wagon")
    monkeypatch.setitem(sys.modules, "wagon", module)
    exec(compile(code, "wagon.py", "exec"), module.__dict__)
    return module.WagonParameters(wheelbase=0.9)


def test_the_rover_of_the_page_has_the_mass_and_the_peak_that_it_says(page, wagon):
    found = re.search(r"its peak is at ([\d.]+) degrees, (\d+) kg", page)
    assert found
    rover = wagon.build()
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = SPEED_MPS
    mass = rover.mass_matrix(q)
    assert mass[0, 0] == pytest.approx(float(found[2]))
    assert rover.wheel_names == ("front_left", "front_right", "rear_left", "rear_right")

    def energy(angle_deg):
        return effective_kinetic_energy(mass, rover.impact_jacobian(q, np.radians(angle_deg)), v)

    peak = float(found[1])
    assert energy(peak) > max(energy(peak - 0.5), energy(peak + 0.5))
