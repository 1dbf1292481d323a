"""The soil under a wheel: parameters of the hypervolumetric model, of Mohr-Coulomb shear, and of other models.

Pressure-sinkage laws with one interface: results of a plate or a wheel test, converted to a `Soil`.

Every law is p = k z^n with a k that may depend on the wheel, so each becomes the stiffness k of the hypervolumetric
model (as in Petersen 2012, 2.2.1); the rest of the package does not depend on the law.

The soils quoted by the sources, by name, each with only the values of its source.

No source prints a friction angle, a cohesion or a shear modulus (all figures were made with some), so a preset is not a
`Soil` yet: `Preset.soil` asks for what is missing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple

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
    "slip_modulus_exponent": Range(-2.0, 2.0, ""),
    "slip_modulus_speed": Range(0.0, 1e3, "m/s", open_low=True),
}
_UNIT_WEIGHT = Range(0.0, 1e6, "N/m^3", open_low=True)
# Needed by one model each, and None where the soil does not define them.
OPTIONAL = frozenset({"shear_modulus", "peak_offset", "peak_slope", "lateral_rate", "shear_residual"})
# Laws of the shear stress over displacement, and those of them that peak.
SHEAR_LAWS = ("janosi_hanamoto", "exponential", "oida", "wong")
PEAKING_LAWS = SHEAR_LAWS[2:]


class PassivePressure(NamedTuple):
    """What soil bears that is pushed ahead: a force of `cohesive` h + `weight` h^2/2 per width, over a height h.

    Attributes:
        cohesive: [Pa].
        weight: [N/m^3].
    """

    cohesive: float
    weight: float


def passive_pressure(cohesion: float, friction_angle: float, unit_weight: float) -> PassivePressure:
    """Passive earth pressure on a smooth, vertical face: Rankine 1857, with the cohesion of Bell 1915.

    F/b = N gamma h^2/2 + 2 c sqrt(N) h, N = tan^2(45 deg + phi/2), below level ground. The cohesive term is that of
    Hegedus 1960, as Ishigami et al. 2007 print it for an angle of 45 deg - phi/2. Soil that heaps up ahead adds to the
    other one; it is not counted.

    Args:
        cohesion: c [Pa], 0 to 1e18.
        friction_angle: phi [rad], in [0, pi/2).
        unit_weight: gamma of the soil [N/m^3], in (0, 1e6].

    Raises:
        ValueError: A number is out of its range.
    """
    given = {"cohesion": cohesion, "friction_angle": friction_angle}
    problems = [problem(name, value, ALLOWED[name]) for name, value in given.items()]
    refuse("passive_pressure", [*problems, problem("unit_weight", unit_weight, _UNIT_WEIGHT)])
    root = math.tan(math.pi / 4 + friction_angle / 2)
    return PassivePressure(2.0 * cohesion * root, root * root * unit_weight)


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
        shear: law of the shear stress, Petersen 2012, 2.2.2: "janosi_hanamoto" and "exponential", which near the limit,
            or "oida" or "wong", which peak and fall; see `models.wheel.shear_law`.
        shear_residual: K_r, shear stress far beyond the peak over the limit [-], 0 to 0.99; for these two, which need
            it, and only for them.
        slip_sinkage: a of the digging by slip, see `models.wheel.shear_law` [-], 0 to 10; 0: slip does not dig.
        bulldozing: `passive_pressure` of the soil that the wheel pushes ahead; None: it pushes none.
        slip_modulus_exponent: m of K (v_x/v_0)^m, the slip modulus at a forward speed, see
            `models.wheel.traction.modulus_factor` [-], -2 to 2; 0: traction does not depend on the speed.
        slip_modulus_speed: v_0 there [m/s], in (0, 1000].

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
    bulldozing: PassivePressure | None = field(default=None, kw_only=True)
    slip_modulus_exponent: float = field(default=0.0, kw_only=True)
    slip_modulus_speed: float = field(default=0.1, kw_only=True)

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ALLOWED}
        given = {name: value for name, value in given.items() if value is not None or name not in OPTIONAL}
        refuse("Soil", [*(problem(name, value, ALLOWED[name]) for name, value in given.items()), self._shear_problem()])
        for name, value in given.items():  # an int or a numpy scalar becomes a plain float, so equal soils print alike
            object.__setattr__(self, name, float(value))

    def _shear_problem(self) -> str | None:
        if self.slip_modulus_exponent and self.slip_sinkage:
            return f"slip_modulus_exponent is {self.slip_modulus_exponent:g}, allowed with slip_sinkage: 0"
        if self.shear not in SHEAR_LAWS:
            return f"shear is {self.shear!r}, allowed: one of {SHEAR_LAWS}"
        peaks = self.shear in PEAKING_LAWS
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


def sheared_by_rim(soil: Soil, share: float) -> Soil:
    """The soil as a smooth rim shears it: it slides on the rim before it shears within.

    Args:
        soil: Under the wheel.
        share: Friction of soil on the rim over that within the soil, and adhesion over cohesion [-], in (0, 1]; 2/3 is
            usual for smooth metal.
    """
    if share == 1.0:
        return soil
    return replace(
        soil, friction_angle=math.atan(share * math.tan(soil.friction_angle)), cohesion=share * soil.cohesion
    )


def tabled_soil_problem(soil: object) -> str | None:
    """Returns what is wrong with the soil of a wheel whose table has quotients to "exact", or None.

    With more rebound the columns behind a wheel would push it forward from nothing (models.wheel.kernels).
    """
    if not isinstance(soil, Soil):
        return f"soil is {soil!r}, allowed: a Soil"
    if soil.bulldozing is not None:
        return f"soil.bulldozing is {soil.bulldozing}, allowed: None"
    return problem("soil.rebound", soil.rebound, Range(0.0, 2.0 / (soil.exponent + 1.0), "= 2/(exponent + 1)"))


_LENGTH = Range(1e-6, 1e6, "m")
_MODULUS = Range(0.0, LARGEST, "")
_RANGES = {"exponent": EXPONENT, "diameter_exponent": Range(-10.0, 10.0, "")}


@dataclass(frozen=True, slots=True)
class SinkageLaw(ABC):
    """A law p = k z^n [Pa] of the sinkage z [m].

    Attributes:
        exponent: n [-], 0.3 to 1.75.

    Raises:
        ValueError: A value is not a finite number in its range (moduli: 0 to 1e18); all wrong ones are named at once.
    """

    exponent: float

    def __post_init__(self) -> None:
        wrong = [problem(e.name, getattr(self, e.name), _RANGES.get(e.name, _MODULUS)) for e in fields(self)]
        refuse(type(self).__name__, wrong)

    @abstractmethod
    def _stiffness(self, radius: float, width: float, /) -> float:
        """The law's k [N/m^(2+n)] under a wheel of that radius and width [m]."""

    def stiffness(self, radius: float, width: float) -> float:
        """Returns k [N/m^(2+n)] under a wheel.

        Args:
            radius: R [m], 1e-6 to 1e6.
            width: b, of the wheel or of the test's plate [m], 1e-6 to 1e6.

        Raises:
            ValueError: A length is out of range, or the law gives no stiffness in (0, 1e18].
        """
        refuse(type(self).__name__, [problem("radius", radius, _LENGTH), problem("width", width, _LENGTH)])
        stiffness = self._stiffness(radius, width)
        refuse(type(self).__name__, [problem("its stiffness", stiffness, Range(0.0, LARGEST, "", open_low=True))])
        return stiffness

    def pressure(self, sinkage: float, radius: float, width: float) -> float:
        """Returns p [Pa] at a sinkage [m], 0 where it is not positive; radius and width as for `stiffness`.

        Raises:
            ValueError: The sinkage is not finite, or as for `stiffness`.
        """
        refuse(type(self).__name__, [problem("sinkage", sinkage, Range(-math.inf, math.inf, "m"))])
        return self.stiffness(radius, width) * max(sinkage, 0.0) ** self.exponent

    def soil(self, radius: float, width: float, **others: Any) -> Soil:
        """Returns the soil a wheel of this radius and width [m] meets; `others` are the keywords of `Soil`."""
        return Soil(self.stiffness(radius, width), self.exponent, **others)


@dataclass(frozen=True, slots=True)
class BernsteinGoriatchkin(SinkageLaw):
    """p = k z^n, Petersen 2012 (2.1).

    Attributes:
        modulus: k [N/m^(2+n)].
    """

    modulus: float

    def _stiffness(self, _radius: float, _width: float, /) -> float:
        return self.modulus


@dataclass(frozen=True, slots=True)
class Bekker(SinkageLaw):
    """p = (k_c/b + k_phi) z^n, Petersen 2012 (2.2).

    Attributes:
        cohesive_modulus: k_c [N/m^(1+n)].
        frictional_modulus: k_phi [N/m^(2+n)].
    """

    cohesive_modulus: float
    frictional_modulus: float

    def _stiffness(self, _radius: float, width: float, /) -> float:
        return self.cohesive_modulus / width + self.frictional_modulus


@dataclass(frozen=True, slots=True)
class Reece(SinkageLaw):
    """p = (c k'_c + gamma b k''_phi) (z/b)^n, Petersen 2012 (2.3), where the b after gamma is missing in print.

    Xu 2021 (24) is the same with k_1 = c k'_c and k_2 = gamma k''_phi.

    Attributes:
        cohesion: c [Pa].
        specific_weight: gamma of the soil [N/m^3].
        cohesive_modulus: k'_c [-].
        frictional_modulus: k''_phi [-].
    """

    cohesion: float
    specific_weight: float
    cohesive_modulus: float
    frictional_modulus: float

    def _stiffness(self, _radius: float, width: float, /) -> float:
        strength = self.cohesion * self.cohesive_modulus + self.specific_weight * width * self.frictional_modulus
        return strength / width**self.exponent


@dataclass(frozen=True, slots=True)
class Ishigami(Reece):
    """p = (c k'_c + gamma b k''_phi) (R/b)^n (cos(theta) - cos(theta_s))^n, Petersen 2012 (2.4).

    In print (z/b)^n stands for (R/b)^n, the exponent of the cosines and a b are missing. On a wheel
    z = R (cos(theta) - cos(theta_s)), so the stiffness is Reece's: the column model already integrates over the
    curvature that (2.4) adds to a plate's law.
    """

    def pressure_at(self, angle: float, static_angle: float, radius: float, width: float) -> float:
        """Returns p [Pa] at an angle of the rim.

        Args:
            angle: theta from the lowest point [rad].
            static_angle: theta_s, where the contact ends [rad].
            radius: R [m].
            width: b [m].

        Raises:
            ValueError: An angle is not within -pi/2 to pi/2, or as for `stiffness`.
        """
        allowed = Range(-math.pi / 2, math.pi / 2, "rad")
        wrong = [problem("angle", angle, allowed), problem("static_angle", static_angle, allowed)]
        refuse("Ishigami", [*wrong, problem("radius", radius, _LENGTH)])
        return self.pressure(radius * (math.cos(angle) - math.cos(static_angle)), radius, width)


@dataclass(frozen=True, slots=True)
class MeirionGriffithSpenko(SinkageLaw):
    """p = k D^m z^n, Petersen 2012 (2.5), for wheels of small diameter D.

    Attributes:
        modulus: k [N/m^(2+n+m)].
        diameter_exponent: m [-], -10 to 10.
    """

    modulus: float
    diameter_exponent: float

    def _stiffness(self, radius: float, _width: float, /) -> float:
        return self.modulus * (2.0 * radius) ** self.diameter_exponent


_NEEDED = tuple(entry.name for entry in fields(Soil) if entry.default is MISSING)


@dataclass(frozen=True, slots=True)
class Preset:
    """A soil as a source quotes it.

    Attributes:
        source: Source of the numbers.
        law: Its pressure-sinkage law; None where the source has none.
        known: Keywords of `Soil` the source gives.
        radius: R of the wheel it was quoted with [m]; NaN where not given.
        width: b of that wheel [m]; NaN where not given.
    """

    source: str
    law: SinkageLaw | None
    known: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    radius: float = math.nan
    width: float = math.nan

    def soil(self, radius: float, width: float, **others: float) -> Soil:
        """Returns the soil under a wheel, completed by the values that the source does not give.

        Args:
            radius: R [m].
            width: b [m].
            others: Keywords of `Soil`; they may replace quoted values too.

        Raises:
            ValueError: Something that `Soil` needs is neither quoted nor given, or a value is out of range.

        Example:
            >>> soil = PRESETS["juno_run_1"].soil(0.28, 0.2, friction_angle=0.5)
            >>> soil.stiffness, soil.exponent, soil.rebound
            (207000.0, 0.583, 0.0674)
        """
        values: dict[str, Any] = {**self.known, **others}
        if self.law is not None:
            values = {"stiffness": self.law.stiffness(radius, width), "exponent": self.law.exponent, **values}
        missing = [name for name in _NEEDED if name not in values]
        refuse("Preset", [f"{name} is missing ({self.source} does not give it), allowed: a number" for name in missing])
        return Soil(**values)


_JUNO_RADIUS = 11.0 * 0.0254  # 22-inch wheels


def _juno(table: str, modulus: float, exponent: float, rebound: float, slip_modulus: float) -> Preset:
    known = MappingProxyType({"rebound": rebound, "slip_modulus": slip_modulus})
    law = BernsteinGoriatchkin(exponent, modulus)
    return Preset(f"Petersen 2012, Table {table}, identified by drawbar pull", law, known, _JUNO_RADIUS)


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "dry_sand": Preset(
            "Petersen 2012, Table 3.1, dry sand", BernsteinGoriatchkin(0.75, 1.783e6), radius=0.265, width=0.22
        ),
        "small_wheel_sand": Preset(
            "Petersen 2012, Table 3.2, dry sand under a small wheel",
            MeirionGriffithSpenko(0.8, 1.604e6, 0.39),
            radius=0.085,
            width=0.085,
        ),
        "dlr_quartz_sand": Preset(
            "Petersen 2012, 4.2.5, DLR single-wheel bed, fine dry quartz sand",
            None,
            MappingProxyType({"rebound": 0.025, "slip_modulus": 0.185}),
            radius=0.125,
            width=0.1,
        ),
        # Table 6.1 prints 2.07E0^5 for 2.07e5; its rebound is a fraction, although the heading says percent
        "juno_run_1": _juno("6.1", 2.07e5, 0.583, 0.0674, 0.689),
        "juno_run_2": _juno("6.2", 1.58e5, 0.501, 0.0813, 0.819),
        "juno_run_3": _juno("6.3", 1.47e5, 0.533, 0.0834, 0.794),
    }
)
