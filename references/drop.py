"""A mass dropped on a contact, with the integrator of the plant's step: the restitution that a law gives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.checks import Range, problem, refuse
from models.contact.laws import Law, law_force, law_problems
from models.kernels.compiled import FloatArray, kernel


class Drop(NamedTuple):
    """Histories (times,) from first touch to parting.

    Attributes:
        depth: [m].
        rate: [m/s], positive into the contact.
        force: [N].
        dt: step [s].
    """

    depth: FloatArray
    rate: FloatArray
    force: FloatArray
    dt: float

    @property
    def restitution(self) -> float:
        """Speed of parting over speed of touching."""
        return float(-self.rate[-1] / self.rate[0])


def drop(law: Law, mass: float, speed: float, *, weight: float = 0.0, dt: float = 1e-4, longest: float = 1.0) -> Drop:
    """Simulate a mass that hits a contact at a speed and rebounds.

    Args:
        law: of the contact.
        mass: [kg].
        speed: at first touch [m/s].
        weight: constant load on the contact [N]; 0 for an impact alone.
        dt: step of semi-implicit Euler [s].
        longest: contact time after which the mass counts as at rest on the surface [s].

    Raises:
        ValueError: a value out of range, or a mass that has not parted by `longest`.
    """
    above = Range(0.0, np.inf, "SI", open_low=True)
    refuse(
        "drop test",
        [
            *law_problems(law),
            problem("mass", mass, above),
            problem("speed", speed, above),
            problem("weight", weight, Range(0.0, np.inf, "N")),
            problem("dt", dt, above),
            problem("longest", longest, Range(dt, 1e8 * dt, "s")),
        ],
    )
    history = np.zeros((3, int(longest / dt) + 1))
    steps = _fall(law, mass, speed, weight, dt, history)
    if steps == 0:
        raise ValueError(f"drop test: longest is {longest} s, allowed: more, or less weight than {weight} N")
    depth, rate, force = (row[:steps].copy() for row in history)
    return Drop(depth, rate, force, dt)


@kernel
def _fall(law: Law, mass: float, speed: float, weight: float, dt: float, history: FloatArray) -> int:
    """Fill depth, rate and force (3, times) until parting; the number of times, 0 if it does not part."""
    depth, rate = 0.0, speed
    for i in range(history.shape[1]):
        force = law_force(law, depth, rate, speed)
        history[0, i], history[1, i], history[2, i] = depth, rate, force
        if i > 0 and depth <= 0.0:
            return i + 1
        rate += dt * (weight - force) / mass
        depth += dt * rate
    return 0
