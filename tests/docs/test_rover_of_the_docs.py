"""The rovers of docs/how-to/add-a-rover.md and bring-your-own-rover.md are what the pages say."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import numpy as np
import pytest

import models.rover
from hil.cli import run
from models.impact import effective_kinetic_energy

from .page_commands import commands

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


@pytest.mark.slow
def test_the_commands_of_the_page_bring_a_rover_from_its_file_to_a_picture_of_its_trial(
    pages, tmp_path, monkeypatch, capsys
):
    page = pages["docs/how-to/bring-your-own-rover.md"]
    monkeypatch.chdir(tmp_path)
    said = {}
    for words in commands(page):
        if (words[0] == "hil" and "my_rover" in " ".join(words)) or words[1:3] == ["configs", "--copy"]:
            assert run(words[1:]) == 0, words
            said[words[1]] = capsys.readouterr().out
    assert said.keys() == {"configs", "rover", "trial", "render", "check", "run"}
    peak, mass = re.search(r"peak at ([\d.]+)\s+degrees, ([\d.]+) kg", page).groups()
    assert f"my_rover: {mass} kg, 4 wheels" in said["rover"]
    assert f"peak at {peak}°" in said["rover"]
    assert all((tmp_path / f"my_rover.{ending}").stat().st_size > 100 for ending in ("yaml", "urdf", "png"))
    assert list((tmp_path / "my_rover_run").glob("*.png"))


# Words of the column "locked as built" of docs/explanation/rover.md, and the kinds of joints that `locks` frees.
KINDS = {"steering": "steering", "walking": "walking", "main arms": "arm", "tilt": "tilt", "spin": "spin"}


def test_bodies_and_speeds_of_each_rover_are_those_of_the_table(pages):
    rows = re.findall(r"^\| `(\w+)\(\)` \|(.*)\|$", pages["docs/explanation/rover.md"], re.MULTILINE)
    assert len(rows) == 9
    for name, cells in rows:
        make = getattr(models.rover, name)
        _, bodies, speeds, locked, freed = cells.split(" | ")
        rovers = make(), make(locks={kind: None for word, kind in KINDS.items() if word in locked})
        stated = [int(re.match(r"\s*(\d+)", cell)[1]) for cell in (bodies, speeds, freed)]
        assert stated == [len(rovers[0].tree.bodies), rovers[0].nv, rovers[1].nv], name
