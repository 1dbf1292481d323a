"""The column model of Tire III by brute-force quadrature: slow, short, and what the fast forms are tested against.

Every column of soil under the wheel answers with a pressure that depends on its own depth only, Petersen 2012 (4.26),
with the profile sqrt(R^2 - x^2) (misprinted with a plus). Over the contact angle, x = R sin(theta), the pressure acts
vertically on dx = R cos(theta) dtheta and horizontally on dz = R sin(theta) dtheta: the normal parts of (4.4), (4.5).
"""

import math
from collections.abc import Callable

from scipy.integrate import quad

from models.wheel.soil import Soil


def contact_angle(radius: float, sinkage: float) -> float:
    """Returns theta_1 = arccos(1 - z/R) [rad], where a wheel of this sinkage meets the ground, without cancellation."""
    return 2.0 * math.asin(math.sqrt(0.5 * sinkage / radius))


def depth(angle: float, radius: float, sinkage: float) -> float:
    """Returns the column depth R (cos(theta) - cos(theta_1)) [m], Petersen 2012 (4.1), as a product."""
    limit = contact_angle(radius, sinkage)
    return 2.0 * radius * math.sin(0.5 * (limit + angle)) * math.sin(0.5 * (limit - angle))


def integrate(function: Callable[[float], float], limit: float) -> float:
    """Integrates a function of the angle over (0, limit) to 1e-12 or better.

    theta = limit sin(w) spreads the end of the contact, where depth^eta has a branch point.
    """

    def spread(w: float) -> float:
        return function(limit * math.sin(w)) * limit * math.cos(w)

    return float(quad(spread, 0.0, math.pi / 2, epsabs=0.0, epsrel=1e-13, limit=500)[0])


def hypervolume(radius: float, width: float, exponent: float, sinkage: float) -> float:
    """Returns the symmetric hypervolume [m^(eta+2)], Petersen 2012 (3.4), for 0 < sinkage <= radius, all in metres."""
    limit = contact_angle(radius, sinkage)
    half = integrate(lambda angle: math.pow(depth(angle, radius, sinkage), exponent) * radius * math.cos(angle), limit)
    return 2.0 * width * half


def normal_resultants(radius: float, width: float, soil: Soil, sinkage: float) -> tuple[float, float]:
    """Integrates the pressure of Petersen 2012 (4.26), front and rear half apart.

    Args:
        radius: R [m].
        width: b [m].
        soil: The soil; stiffness, exponent and rebound count here.
        sinkage: z [m], 0 < z <= R.

    Returns:
        Vertical resultant [N] upwards and horizontal resultant [N] against forward motion; the latter is not clamped.
    """
    rebound_sinkage = soil.rebound * sinkage  # the rear half loses contact where the profile is (1 - gamma) z deep
    relaxation = soil.stiffness * math.pow(sinkage, soil.exponent - 1.0) / soil.rebound  # (4.25)

    def front(angle: float) -> float:
        return soil.stiffness * math.pow(depth(angle, radius, sinkage), soil.exponent)

    def rear(angle: float) -> float:
        return relaxation * depth(angle, radius, rebound_sinkage)

    entry, leave = contact_angle(radius, sinkage), contact_angle(radius, rebound_sinkage)
    vertical = integrate(lambda t: front(t) * math.cos(t), entry) + integrate(lambda t: rear(t) * math.cos(t), leave)
    horizontal = integrate(lambda t: front(t) * math.sin(t), entry) - integrate(lambda t: rear(t) * math.sin(t), leave)
    return width * radius * vertical, width * radius * horizontal
