"""The soil under a wheel: five numbers of the hypervolumetric model and the shear of Mohr and Coulomb."""

import math
from dataclasses import dataclass, field, fields

from models.wheel.checks import Range, problem, refuse

# Most soils lie in 0.25-1.75 (Petersen 2012, 3.2.1); the hypervolume's fit is proven from 0.3 on.
EXPONENT = Range(0.3, 1.75, "")
# Far above any soil and low enough that no force can overflow.
LARGEST = 1e18

ALLOWED = {
    "stiffness": Range(0.0, LARGEST, "N/m^(2+exponent)", open_low=True),
    "exponent": EXPONENT,
    "cohesion": Range(0.0, LARGEST, "Pa"),
    "friction_angle": Range(0.0, math.pi / 2, "rad", open_high=True),
    "rebound": Range(0.0, 1.0, "", open_low=True),
    "slip_modulus": Range(0.0, math.inf, "", open_low=True),
}


@dataclass(frozen=True, slots=True)
class Soil:
    """A soil of pressure stiffness * depth^exponent in compression, relaxing linearly behind the wheel's lowest point.

    Attributes:
        stiffness: k of Bernstein-Goriatchkin's p = k z^n, Petersen 2012 (2.1), (3.3) [N/m^(2+exponent)], in (0, 1e18].
        exponent: n or eta there [-], 0.3 to 1.75.
        cohesion: c of the shear limit, Petersen 2012 (4.30) [Pa], 0 to 1e18.
        friction_angle: Internal friction angle of the shear limit, Petersen 2012 (4.30) [rad], in [0, pi/2).
        rebound: gamma, the part of the sinkage that springs back behind the wheel, Petersen 2012 (4.25) [-], in (0, 1].
        slip_modulus: K of the traction's tanh(slip/K), Petersen 2012 (4.30) [-], > 0.

    Raises:
        ValueError: A value is not a finite number in its range; all wrong ones are named at once.
    """

    stiffness: float
    exponent: float
    cohesion: float = field(default=0.0, kw_only=True)
    friction_angle: float = field(kw_only=True)
    rebound: float = field(kw_only=True)
    slip_modulus: float = field(kw_only=True)

    def __post_init__(self) -> None:
        refuse("Soil", [problem(name, getattr(self, name), allowed) for name, allowed in ALLOWED.items()])
        for entry in fields(self):  # an int or a numpy scalar becomes a plain float, so equal soils print alike
            object.__setattr__(self, entry.name, float(getattr(self, entry.name)))
