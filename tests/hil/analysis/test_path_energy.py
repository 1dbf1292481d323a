"""Energy of a metre over the grade, and the way of least energy of a config."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from hil.analysis.energy import energy_per_metre, traverse_of
from hil.cli import run
from hil.config import load_config
from hil.config.rig import Rig

pytestmark = pytest.mark.slow


def test_a_metre_up_costs_at_least_its_height_more_than_friction_and_level_driving_what_the_wheels_need():
    whole = Rig(load_config("sim_scan"))
    rig, table = whole.nominal, energy_per_metre(whole)
    rover = rig.make_rover()
    mass = sum(body.mass for body in rover.tree.bodies)
    mount = rover.tree.wheels[0]
    wheel = rig.ground.wheel_of(mount)
    load = mass * 9.81 / 4.0
    # level: the slip at which pull is zero under a quarter of the weight, by a search on a grid
    slips = np.linspace(0.0, 0.6, 601)
    depth = np.linspace(0.001, 0.1, 4000)
    sunk = np.array([np.interp(load, wheel.forces(depth, np.full_like(depth, s))[1], depth) for s in slips])
    pull, _, torque = wheel.forces(sunk, slips)
    at = int(np.abs(pull).argmin())
    expected = (4.0 * torque[at] + 2.0 * rig.drive.gear_friction) / (mount.radius * (1.0 - slips[at]))
    assert table[30] == pytest.approx(expected, rel=0.02)
    finite = np.isfinite(table)
    assert (np.diff(table[finite]) >= 0.0).all()  # where it brakes, nothing comes back
    assert (np.diff(table[25:45]) > 0.0).all()
    assert finite[:45].all()
    assert not finite[-1]  # 30 degrees are too steep for this soil
    assert table[40] - table[30] > mass * 9.81 * math.sin(math.radians(10.0))


def test_the_command_writes_a_way_that_is_no_dearer_than_the_straight_one(tmp_path, capsys):
    arguments = ["path", "sim_scan", "--to", "3.4,0.2", "--most-roll", "25"]
    assert run([*arguments, "--out", str(tmp_path / "way"), "--json"]) == 0
    ways = json.loads(capsys.readouterr().out)
    assert ways == json.loads((tmp_path / "way" / "path.json").read_text())
    assert ways["least"]["energy_J"] <= 1.01 * ways["straight"]["energy_J"]
    assert ways["least"]["length_m"] >= math.hypot(3.4, 0.2) - 0.15
    assert (tmp_path / "way" / "path.png").stat().st_size > 10_000
    for wrong, words in (
        (["--to", "30,0"], "goal is at x 30 m"),
        (["--to", "3"], "X,Y in m"),
        (["--to", "3,0", "--set", "ground.kind=soil", "--set", "ground.scan=null"], "allowed: scan"),
    ):
        assert run(["path", "sim_scan", *wrong]) == 2
        assert words in capsys.readouterr().err


def test_a_rover_of_the_config_has_its_own_wheels():
    wheels = traverse_of(Rig(load_config("sim_scan"))).wheels
    assert wheels.shape == (4, 2)
    assert np.ptp(wheels[:, 1]) == pytest.approx(1.2)
