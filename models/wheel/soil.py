"""The soil under a wheel: parameters of the hypervolumetric model, of Mohr-Coulomb shear, and of other models."""

import math
from dataclasses import dataclass, field, fields, replace

from models.checks import Range, problem, refuse

# Most soils lie in 0.25-1.75 (Petersen 2012, 3.2.1); the hypervolume's fit is verified from 0.3 on.
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
    "shear_modulus": Range(1e-9, 1e9, "m"),
    "peak_offset": Range(0.0, 1.0, ""),
    "peak_slope": Range(0.0, 1.0, ""),
    "lateral_rate": Range(0.0, 1e9, "1/rad"),
    "shear_residual": Range(0.0, 0.99, ""),
    "slip_sinkage": Range(0.0, 10.0, ""),
}
# Needed by one model each, and None where the soil does not define them.
OPTIONAL = frozenset({"shear_modulus", "peak_offset", "peak_slope", "lateral_rate", "shear_residual"})
# Laws of the shear stress over displacement; the first has no peak.
SHEAR_LAWS = ("janosi_hanamoto", "oida", "wong")


@dataclass(frozen=True, slots=True, repr=False)
class Soil:
    """A soil of pressure stiffness * depth^exponent in compression, relaxing linearly behind the wheel's lowest point.

    Attributes:
        stiffness: k of Bernstein-Goriatchkin's p = k z^n, Petersen 2012 (2.1), (3.3) [N/m^(2+exponent)], in (0, 1e18].
        exponent: n or eta there [-], 0.3 to 1.75.
        cohesion: c of the shear limit, Petersen 2012 (4.30) [Pa], 0 to 1e18.
        friction_angle: Internal friction angle of the shear limit, Petersen 2012 (4.30) [rad], in [0, pi/2).
        rebound: gamma, the part of the sinkage that springs back behind the wheel, Petersen 2012 (4.25) [-], in (0, 1].
        slip_modulus: K of the traction's tanh(slip/K), Petersen 2012 (4.30) [-], > 0; of a soil whose shear stress
            peaks the slip of the peak.
        shear_modulus: K_x of Janosi and Hanamoto, Petersen 2012 (4.2), k of Xu 2021 (25) [m], 1e-9 to 1e9; for
            quadrature of the stresses and for `xu`.
        peak_offset: c_1 of the angle of largest stress, (c_1 + c_2 slip) theta_1, Xu 2021 (27) [-], 0 to 1; for `xu`.
        peak_slope: c_2 there [-], 0 to 1; c_1 + c_2 is below 1 under a wheel of `xu`.
        lateral_rate: B of the lateral force, Xu 2021 (32) [1/rad], 0 to 1e9; for the lateral force of `xu`.
        shear: law of the shear stress, Petersen 2012, 2.2.2: "janosi_hanamoto", which nears the limit, or "oida" or
            "wong", which peak and fall; see `models.wheel.shear_law`.
        shear_residual: K_r, shear stress far beyond the peak over the limit [-], 0 to 0.99; for these two, which need
            it, and only for them.
        slip_sinkage: a of the digging by slip, see `models.wheel.digging` [-], 0 to 10; 0: slip does not dig.

    Raises:
        ValueError: A value is not a finite number in its range; all wrong ones are named at once.

    Example:
        >>> Soil(1.783e6, 0.75, friction_angle=0.52, rebound=0.07, slip_modulus=0.185).exponent
        0.75
        >>> Soil(1.783e6, 0.1, friction_angle=0.52, rebound=0.07, slip_modulus=0.185)
        Traceback (most recent call last):
            ...
        ValueError: ...exponent is 0.1...
    """

    stiffness: float
    exponent: float
    cohesion: float = field(default=0.0, kw_only=True)
    friction_angle: float = field(kw_only=True)
    rebound: float = field(kw_only=True)
    slip_modulus: float = field(kw_only=True)
    shear_modulus: float | None = field(default=None, kw_only=True)
    peak_offset: float | None = field(default=None, kw_only=True)
    peak_slope: float | None = field(default=None, kw_only=True)
    lateral_rate: float | None = field(default=None, kw_only=True)
    shear: str = field(default=SHEAR_LAWS[0], kw_only=True)
    shear_residual: float | None = field(default=None, kw_only=True)
    slip_sinkage: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ALLOWED}
        given = {name: value for name, value in given.items() if value is not None or name not in OPTIONAL}
        refuse("Soil", [*(problem(name, value, ALLOWED[name]) for name, value in given.items()), self._shear_problem()])
        for name, value in given.items():  # an int or a numpy scalar becomes a plain float, so equal soils print alike
            object.__setattr__(self, name, float(value))

    def _shear_problem(self) -> str | None:
        if self.shear not in SHEAR_LAWS:
            return f"shear is {self.shear!r}, allowed: one of {SHEAR_LAWS}"
        peaks = self.shear != SHEAR_LAWS[0]
        if peaks is (self.shear_residual is not None):
            return None
        allowed = "a number" if peaks else "None"
        return f"shear_residual is {self.shear_residual}, allowed with shear {self.shear!r}: {allowed}"

    def __repr__(self) -> str:
        others = [one for one in fields(self)[2:] if getattr(self, one.name) != one.default]
        values = [
            repr(self.stiffness),
            repr(self.exponent),
            *(f"{one.name}={getattr(self, one.name)!r}" for one in others),
        ]
        return f"Soil({', '.join(values)})"


def sheared_by_grousers(soil: Soil, height: float, width: float) -> Soil:
    """The soil as grousers shear it: Bekker's factors for the sides of the sheared block, on friction and cohesion.

    H = A c (1 + 2 h/b) + W tan(phi) (1 + 0.64 (h/b) arctan(b/h)), as NASA's terramechanics of the lunar terrain vehicle
    (Li and Bingham) prints it, with the whole contact for the area of one grouser times their number.

    Args:
        soil: Under the wheel.
        height: h of the grousers over the rim [m]; 0: the soil as it is.
        width: b of the wheel [m], > 0.
    """
    if height == 0.0:
        return soil
    share = height / width
    friction = math.tan(soil.friction_angle) * (1.0 + 0.64 * share * math.atan2(1.0, share))
    return replace(soil, friction_angle=math.atan(friction), cohesion=soil.cohesion * (1.0 + 2.0 * share))


def tabled_soil_problem(soil: object) -> str | None:
    """Returns what is wrong with the soil of a wheel whose table has quotients to "exact", or None.

    With more rebound the columns behind a wheel would push it forward from nothing (models.wheel.kernels).
    """
    if not isinstance(soil, Soil):
        return f"soil is {soil!r}, allowed: a Soil"
    return problem("soil.rebound", soil.rebound, Range(0.0, 2.0 / (soil.exponent + 1.0), "= 2/(exponent + 1)"))
