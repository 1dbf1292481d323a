"""The closed forms of Petersen 2012 as published, with misprints corrected, to reproduce and compare the thesis.

Known errors, measured against quadrature of the same column model (R 0.265 m, b 0.22 m, sinkage 2-100 mm):
- the hypervolume is a log-log regression, exact only at exponent 1: +12 % at 0.5, -14 % at 1.5;
- the plastic correction (4.28) cannot act at exponent 1, where the force halves as the rebound goes to 0. The force is
  up to 76 % too large at exponents 0.5-1.1 (39-58 % at rebound 0.1) and -20 to +94 % wrong at 1.5;
- the mean depth in the centroid is up to 30 % too small, which turns the force by a fraction of a percent only;
- k V_h turned by the centroid's angle loses 3-6 % of the vertical force at z/R 0.16-0.3.
Use it for the thesis's own figures; the `exact` variant has none of these errors and costs less.

The thesis leaves two choices open. The centroid's r_c,x is that of Tire III's equivalent volume (4.26) at exponent 1,
so the compaction resistance vanishes at rebound 1 (Figure 4.9). Its depth uses the elastic V_int: the mean depth of the
columns hardly depends on the rebound.
"""

import math
from functools import lru_cache

import numpy as np

from models.checks import Range, problem, refuse
from models.wheel import hypervolume
from models.wheel.soil import ALLOWED, EXPONENT

# Every number of the thesis that depends on the sampling of its regression uses this one (A_1 is 0.744 at 10 points).
POINTS = 1000

_LENGTH = Range(0.0, math.inf, "m", open_low=True)


@lru_cache(maxsize=8)
def _unit_regression(points: int) -> tuple[float, float]:
    """A_1 and V_int of a cylinder of radius 1 and width 1."""
    sinkage = np.arange(1, points + 1) / points
    volume = hypervolume.integral(sinkage, 1.0)
    contact = 2.0 * np.sqrt(sinkage * (2.0 - sinkage))
    slope, intercept = np.polynomial.polynomial.polyfit(np.log(volume), np.log(contact / volume), 1)[::-1]
    return -float(slope), math.exp(-float(intercept / slope))


def regression(radius: float, width: float, points: int = POINTS) -> tuple[float, float]:
    """Regresses the hypervolume coefficient of exponent 0 on volume, Petersen 2012 corrected (3.12), (3.14)-(3.19).

    ln c_v = a_0 + a_1 ln V with c_v = 2 a b / V (no width in print), A_1 = -a_1 and V_int = exp(-a_0 / a_1). Both are a
    matter of sampling: here `points` sinkages equally spaced over (0, R]. V scales with b R^2 and c_v with 1/R, so one
    regression at R = b = 1 serves every wheel, V_int = b R^(2 - 1/A_1) V_int(1, 1).

    Args:
        radius: R [m].
        width: b [m].
        points: Number of sinkages.

    Returns:
        A_1 [-] and V_int [a number that belongs to metres only: c_v = (V/V_int)^(A_1 (eta-1)) has the unit m^(eta-1)].

    Raises:
        ValueError: A length that is not above 0, or fewer than two points.
    """
    few = None if isinstance(points, int) and points >= 2 else f"points is {points!r}, allowed: a whole number from 2"
    refuse("regression", [problem("radius", radius, _LENGTH), problem("width", width, _LENGTH), few])
    a_1, unit_volume = _unit_regression(points)
    return a_1, unit_volume * width * radius ** (2.0 - 1.0 / a_1)


def plastic_factor(rebound: float) -> float:
    """Returns V_int,plastic / V_int [-] for a rebound gamma [-] in (0, 1], Petersen 2012 (4.28), (A.2)."""
    refuse("plastic_factor", [problem("rebound", rebound, ALLOWED["rebound"])])
    return -0.345 * rebound + 0.897 * math.sqrt(rebound) + 0.458


def centroid_shift(exponent: float, a_1: float) -> float:
    """Returns r_hc,x / r_c,x [-], Petersen 2012 (4.11), with V_int,hcx = (1 + (eta - 1)^2) V_int.

    Args:
        exponent: eta [-].
        a_1: A_1 of `regression` [-].
    """
    refuse(
        "centroid_shift",
        [problem("exponent", exponent, EXPONENT), problem("a_1", a_1, Range(0.0, math.inf, "", open_low=True))],
    )
    return float((1.0 + (exponent - 1.0) ** 2) ** (-a_1 * (exponent - 1.0)))
