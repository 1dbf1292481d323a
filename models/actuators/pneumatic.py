"""Double-acting air cylinders on the side bogies (MacMahon 2016, 6.1)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.compiled import FloatArray, kernel
from models.wheel.checks import Range, problem, refuse


class Cylinder(NamedTuple):
    """One cylinder, its valve and its lever; both sides are alike.

    Attributes:
        area: piston area [m^2]; bore 38.1 mm.
        supply: regulated gauge pressure [Pa]; 0-207 kPa (30 psi).
        fill_time: time constant of filling through a quarter-inch line [s], an assumption.
        vent_time: time constant of venting to atmosphere [s], an assumption.
        lever: arm of the cylinder about the bogie pivot [m].
    """

    area: float
    supply: float
    fill_time: float
    vent_time: float
    lever: float


def check_cylinder(cylinder: Cylinder) -> None:
    """Raises ValueError with everything that is out of range: above 0 all, `supply` 0 or more."""
    refuse(
        "cylinder",
        [
            problem(name, value, Range(0.0, math.inf, "", open_low=name != "supply"))
            for name, value in cylinder._asdict().items()
        ],
    )


class CylinderState(NamedTuple):
    """Two cylinders, port and starboard, arrays (2, 2) over [cylinder, (extend, retract) chamber].

    Attributes:
        valve: 1.0 where the valve is powered and feeds the chamber, 0.0 where it is open to atmosphere.
        pressure: gauge pressure [Pa].
    """

    valve: FloatArray
    pressure: FloatArray


def make_cylinders() -> CylinderState:
    """Allocate two cylinders with both ports open to atmosphere: bogies passive."""
    return CylinderState(np.zeros((2, 2)), np.zeros((2, 2)))


@kernel
def bogie_torque(cylinder: Cylinder, state: CylinderState, side: int, dt: float) -> float:
    """Advance one cylinder by dt [s] and return its torque on the bogie [N m], positive pressing the front down."""
    for chamber in range(2):
        powered = state.valve[side, chamber] > 0.0
        target = cylinder.supply if powered else 0.0
        time = cylinder.fill_time if powered else cylinder.vent_time
        state.pressure[side, chamber] += (target - state.pressure[side, chamber]) * (1.0 - np.exp(-dt / time))
    return (state.pressure[side, 0] - state.pressure[side, 1]) * cylinder.area * cylinder.lever
