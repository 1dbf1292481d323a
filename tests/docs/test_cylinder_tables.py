"""Tables of docs/explanation/cylinders.md: arm and torque of the assumed linkage, times of the assumed valve."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from hil.config import load_config
from hil.config.cylinder_parameters import cylinder, linkage, pneumatics
from models.actuators.compressible import fill_with_gas, make_gas
from models.actuators.linkage import piston
from models.actuators.pneumatic import make_cylinders, mount_cylinders
from models.rover import rcp

PAGE = "docs/explanation/cylinders.md"
GIVEN = load_config("sim_impact", ["cylinders.model=compressible", "cylinders.linkage={}"]).cylinders
SUPPLY_PA = GIVEN.supply_kPa * 1e3
PSI_30 = 30 * 6894.757  # Pa
STEP_S = 1e-4


def angle_at(extension_m):
    """The joint's angle with the rod so far out, by bisection: the length grows with the angle."""
    low, high = -0.6, 0.6
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if piston(linkage(GIVEN), middle)[0] < extension_m else (low, middle)
    return low


def test_arm_and_torque_are_those_of_the_table(pages):
    row = r"^\| (0\.\d+) m\S* ?\w* \| (-?[\d.]+)(?: degrees)? \| ([\d.]+) m \| ([\d.]+) N m \|$"
    rows = re.findall(row, pages[PAGE], re.MULTILINE)
    for share, (length, degrees, arm, torque) in zip((0.0, 0.5, 1.0), rows, strict=True):
        extension_m = share * GIVEN.stroke_mm * 1e-3
        assert GIVEN.linkage.retracted_m + extension_m == pytest.approx(float(length), abs=6e-4)
        angle = angle_at(extension_m)
        assert math.degrees(angle) == pytest.approx(float(degrees), abs=0.06)
        found = piston(linkage(GIVEN), angle)[1]
        assert found == pytest.approx(float(arm), abs=6e-5)
        assert found * cylinder(GIVEN).area * PSI_30 == pytest.approx(float(torque), abs=0.06)


def pressures(begin_Pa, *, fed):
    """Gauge pressure of a chamber in mid-stroke, by step, from a command on."""
    state, rover = make_cylinders(2, SUPPLY_PA), rcp()
    mounts = mount_cylinders(rover, ("left_bogie", "right_bogie"), cylinder(GIVEN), linkage(GIVEN))
    q = rover.neutral()
    gas = make_gas(pneumatics(GIVEN), SUPPLY_PA, mounts, state, q[mounts.speed + 1])
    state.valve[:, 0] = 1.0
    found = []
    for step in range(6000):
        if step == 3000:
            state.valve[:, 0] = 0.0
        fill_with_gas(gas, mounts, state, q, STEP_S)
        found.append(state.pressure[0, 0])
    part = np.array(found[:3000] if fed else found[3000:])
    assert part[0] == pytest.approx(begin_Pa, abs=1e-3 * SUPPLY_PA)
    return part


@pytest.mark.parametrize(("what", "begin_Pa"), [("fill", 0.0), ("vent", SUPPLY_PA)])
def test_a_chamber_fills_and_vents_in_the_times_of_the_table(pages, what, begin_Pa):
    (cells,) = re.findall(rf"^\| {what} \| (.+) \|$", pages[PAGE], re.MULTILINE)
    stated_ms = [float(cell.removesuffix(" ms")) for cell in cells.split(" | ")]
    way = pressures(begin_Pa, fed=what == "fill") / SUPPLY_PA
    done = way if what == "fill" else 1.0 - way
    found_ms = [1e3 * STEP_S * (np.argmax(done > share) + 1) for share in (0.001, 0.63, 0.9, 0.99)]
    assert found_ms == pytest.approx(stated_ms, abs=1.0)
