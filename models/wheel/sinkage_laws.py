"""Pressure-sinkage laws with one interface: results of a plate or a wheel test, converted to a `Soil`.

Every law is p = k z^n with a k that may depend on the wheel, so each becomes the stiffness k of the hypervolumetric
model (as in Petersen 2012, 2.2.1); the rest of the package does not depend on the law.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

from models.checks import Range, problem, refuse
from models.wheel.soil import EXPONENT, LARGEST, Soil

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
