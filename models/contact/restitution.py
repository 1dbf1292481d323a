"""From a wanted restitution to a law's damping, and from the damping to the resulting restitution.

The laws of MacMahon 2016 (5.5), (5.6), (5.8), (5.10) are all F = k delta^p (1 + c rate/onset). With u = rate/onset,
m u du/(1 + c u) = -k delta^p d(delta)/onset^2, and depth begins and ends at zero, so u from 1 to -e makes
integral u/(1 + c u) du = 0, that is

    c (1 + e) = ln((1 + c)/(1 - c e)).

Mass, stiffness, exponent and speed drop out. It is (5.9) with c = d/e, so Gonthier's law gives the wanted e, and
the others give the e that solves it for their c. All refuse a value out of range with a ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq

from models.checks import Range, problem, refuse

_RESTITUTION = Range(0.0, 1.0, "", open_low=True)
_NOT_NEGATIVE = Range(0.0, math.inf, "")
_POSITIVE = Range(0.0, math.inf, "SI", open_low=True)


def gonthier_factor(restitution: float) -> float:
    """Gonthier's d/e of a restitution in (0, 1], MacMahon 2016 (5.9), whose second e is Euler's number.

    The trivial root d = 0 is divided out: near it the equation reads d^2/2 (1 - 1/e^2) + d^3/3 (1 + 1/e^3).
    """
    refuse("Gonthier's law", [problem("restitution", restitution, _RESTITUTION)])
    e = restitution
    near = 1.5 * (1.0 / e**2 - 1.0) / (1.0 + 1.0 / e**3)  # d by those two terms: too small, and right as e -> 1
    if near < 1e-6 and e > 0.5:
        return near / e

    def excess(d: float) -> float:
        return (math.log1p(d / e) - math.log1p(-d) - d * (1.0 + 1.0 / e)) / d**2

    # below e of about 0.03 the root is 1 - exp(-1/e), to double precision 1
    return _root(excess, 1e-3 * near, math.nextafter(1.0, 0.0)) / e


def hysteretic_restitution(factor: float) -> float:
    """The e that a law with factor c = `factor` >= 0 gives; see the module's docstring."""
    refuse("hysteretic law", [problem("factor", factor, _NOT_NEGATIVE)])
    c = factor
    if c < 1e-7:
        return 1.0 - 2.0 / 3.0 * c  # first order of the same equation

    def excess(e: float) -> float:
        return (math.log1p(c) - math.log1p(-c * e) - c * (1.0 + e)) / c**2

    return _root(excess, 0.0, min(1.0, math.nextafter(1.0, 0.0) / c * (1.0 - 1e-15)))


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function turns positive; `high` where it does so only within rounding of it."""
    return high if rising(high) <= 0.0 else float(brentq(rising, low, high, xtol=1e-15))


def kelvin_voigt_restitution(damping_ratio: float) -> float:
    """The e of a mass on spring and damper that separate at zero force: exp(-2 z acos(z)/sqrt(1 - z^2)).

    The force of (5.2) is zero again at the time t with cos(w t) = 2 z^2 - 1, where the speed is -onset exp(-z w_0 t).
    The closed form holds for z = b/(2 sqrt(k m)) > 1 with acosh and sqrt(z^2 - 1).
    """
    refuse("kelvin_voigt", [problem("damping_ratio", damping_ratio, _NOT_NEGATIVE)])
    z = damping_ratio
    if abs(z - 1.0) < 1e-8:
        return math.exp(-2.0)
    if z < 1.0:
        return math.exp(-2.0 * z * math.acos(z) / math.sqrt(1.0 - z * z))
    return math.exp(-2.0 * z * math.acosh(z) / math.sqrt(z * z - 1.0))


def kelvin_voigt_damping(stiffness: float, mass: float, restitution: float) -> float:
    """Damping b [N s/m] that sends `mass` [kg] back from `stiffness` [N/m] with a restitution in (0, 1]."""
    refuse(
        "kelvin_voigt",
        [
            problem("stiffness", stiffness, _POSITIVE),
            problem("mass", mass, _POSITIVE),
            problem("restitution", restitution, _RESTITUTION),
        ],
    )
    if restitution == 1.0:
        return 0.0
    # acosh(z) > ln z and z > sqrt(z^2 - 1), so e < 1/z^2: the upper end is past the root
    highest = max(2.0, 1.0 / math.sqrt(restitution))
    ratio = brentq(lambda z: kelvin_voigt_restitution(z) - restitution, 0.0, highest, xtol=1e-15)
    return float(2.0 * ratio * math.sqrt(stiffness * mass))
