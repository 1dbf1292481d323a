"""The stresses under a wheel by brute-force quadrature: slow and readable, to test the fast forms against.

Angles are measured at the axle from the lowest point, positive ahead; the wheel meets the soil at theta_1 and leaves it
at -theta_2 (Petersen 2012, Figure 4.1). The pressure of every column of soil depends only on the depth of that
column, on the profile sqrt(R^2 - x^2) (misprinted with a plus). Over the angle, x = R sin(theta), the pressure acts
vertically on R cos(theta) dtheta and horizontally on R sin(theta) dtheta.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import quad

from models.checks import Range, problem, refuse
from models.wheel.soil import EXPONENT, Soil

_LENGTH = Range(0.0, math.inf, "m", open_low=True)
Stress = Callable[[float], float]  # angle [rad] -> stress [Pa]


def _check(radius: float, width: float, sinkage: float, *others: str | None) -> None:
    errors = [problem("radius", radius, _LENGTH), problem("width", width, _LENGTH)]
    deep = problem("sinkage", sinkage, Range(0.0, radius, "m", open_low=True))
    refuse("quadrature", [*errors, deep, *others])


def contact_angle(radius: float, sinkage: float) -> float:
    """Returns theta_1 = arccos(1 - z/R) [rad], where a wheel of this sinkage meets the ground, without cancellation."""
    return 2.0 * math.asin(math.sqrt(0.5 * sinkage / radius))


def depth(angle: float, radius: float, sinkage: float) -> float:
    """Returns the column depth R (cos(theta) - cos(theta_1)) [m], Petersen 2012 (4.1), as a product."""
    limit = contact_angle(radius, sinkage)
    return 2.0 * radius * math.sin(0.5 * (limit + angle)) * math.sin(0.5 * (limit - angle))


def integrate(function: Callable[[float], float], limit: float, floor: float = 0.0) -> float:
    """Integrates a function of the angle over (0, limit) to 1e-12 or better, or to the error `floor`.

    theta = limit sin(w) spreads the end of the contact, where depth^eta has a branch point.
    """

    def spread(w: float) -> float:
        return function(limit * math.sin(w)) * limit * math.cos(w)

    return float(quad(spread, 0.0, math.pi / 2, epsabs=floor, epsrel=1e-13, limit=500)[0])


def hypervolume(radius: float, width: float, exponent: float, sinkage: float) -> float:
    """Returns the symmetric hypervolume [m^(eta+2)], Petersen 2012 (3.4), for 0 < sinkage <= radius, all in metres.

    Raises:
        ValueError: A value out of range; the exponent is above -1.
    """
    _check(radius, width, sinkage, problem("exponent", exponent, Range(-1.0, math.inf, "", open_low=True)))
    limit = contact_angle(radius, sinkage)
    half = integrate(lambda angle: math.pow(depth(angle, radius, sinkage), exponent) * radius * math.cos(angle), limit)
    return 2.0 * width * half


def bekker_hypervolume(radius: float, width: float, exponent: float, sinkage: float) -> float:
    """Returns Bekker's approximation of the symmetric hypervolume [m^(eta+2)], Petersen 2012 (3.23), (3.26), doubled.

    In print it is given for the whole contact but holds for the front half only. Up to 15 % from quadrature (exponents
    0.5 to 1.5, sinkages to 0.38 R); for comparison only, no variant uses it.

    Args:
        radius: R [m].
        width: b [m].
        exponent: eta [-], 0.3 to 1.75.
        sinkage: z [m], 0 to R.

    Raises:
        ValueError: A value out of range.
    """
    refuse(
        "bekker_hypervolume",
        [
            problem("radius", radius, _LENGTH),
            problem("width", width, _LENGTH),
            problem("exponent", exponent, EXPONENT),
            problem("sinkage", sinkage, Range(0.0, radius, "m")),
        ],
    )
    return 2.0 * math.sqrt(2.0 * radius) * width / 3.0 * sinkage ** (exponent + 0.5) * (3.0 - exponent)


def pressure(radius: float, soil: Soil, sinkage: float, variant: str = "exact") -> Stress:
    """The normal stress under the wheel.

    Args:
        radius: R [m].
        soil: The soil; stiffness, exponent and rebound count here.
        sinkage: z [m], 0 < z <= R.
        variant: "tire_1", Petersen 2012 (4.17): one law up to the cut; "tire_2", (4.19): behind the lowest
            point the law takes the depth less (1 - gamma) z; "exact", Tire III, (4.26): a straight line falls from
            the largest pressure to 0 at that depth.
    """
    rebound_sinkage = soil.rebound * sinkage  # the rear half loses contact where the profile is (1 - gamma) z deep

    def front(angle: float) -> float:
        return soil.stiffness * math.pow(depth(angle, radius, sinkage), soil.exponent)

    def rear(angle: float) -> float:
        if variant == "tire_1":
            return front(angle)
        remaining = depth(angle, radius, rebound_sinkage)
        if variant == "tire_2":
            return soil.stiffness * math.pow(max(remaining, 0.0), soil.exponent)
        return soil.stiffness * math.pow(sinkage, soil.exponent - 1.0) / soil.rebound * remaining  # (4.25)

    return lambda angle: front(angle) if angle >= 0.0 else rear(angle)


def mobilised(soil: Soil, displacement: float) -> float:
    """Shear stress over its limit, at a displacement over that of the soil's law.

    Janosi and Hanamoto 1961, Petersen 2012 (2.7); Wong 1983; Oida 1979 with its constants found here from what they are
    for: the largest stress is the limit, at a displacement of 1.
    """
    if soil.shear_residual is None:
        return -math.expm1(-displacement)
    residual = soil.shear_residual
    if soil.shear == "wong":
        hump = 1.0 + (1.0 / (residual * (1.0 - math.exp(-1.0))) - 1.0) * math.exp(1.0 - displacement)
        return residual * hump * -math.expm1(-displacement)
    # residual (1 + a y)(1 - y) is largest at y = (a - 1)/(2a), and there residual (1 + a)^2/(4a), which shall be 1
    a = max(np.roots([1.0, 2.0 - 4.0 / residual, 1.0]).real)
    y = ((a - 1.0) / (2.0 * a)) ** displacement
    return float(residual * (1.0 + a * y) * (1.0 - y))


def shear(radius: float, soil: Soil, sinkage: float, slip: float, normal: Stress) -> Stress:
    """The shear stress of the soil's law with the limit of Mohr and Coulomb, Petersen 2012 (2.6), (4.2).

    The soil has been sheared by what the rim has run ahead of it since it met it at theta_1 (in print the integral runs
    over the whole contact): j = R (theta_1 - theta - (v/(R omega)) (sin(theta_1) - sin(theta))).

    Args:
        radius: R [m].
        soil: The soil; cohesion, friction angle, law of the shear and shear modulus count here. The modulus is K_x of
            Janosi and Hanamoto, or the displacement of the peak.
        sinkage: z [m], 0 < z <= R.
        slip: 1 - v/(R omega) when driving, (4.3); R omega/v - 1 when braking, > -1 [-].
        normal: The normal stress.

    Raises:
        ValueError: The soil has no shear modulus.
    """
    if soil.shear_modulus is None:
        raise ValueError("Soil: shear_modulus is None, allowed for stresses by quadrature: a length in m")
    modulus = soil.shear_modulus
    entry = contact_angle(radius, sinkage)
    ratio = 1.0 - slip if slip >= 0.0 else 1.0 / (1.0 + slip)  # v / (R omega)

    def stress(angle: float) -> float:
        displacement = radius * (entry - angle - ratio * (math.sin(entry) - math.sin(angle)))
        limit = soil.cohesion + normal(angle) * math.tan(soil.friction_angle)
        return math.copysign(limit * mobilised(soil, abs(displacement) / modulus), displacement)

    return stress


def resultants(
    radius: float, width: float, soil: Soil, sinkage: float, normal: Stress, tangential: Stress
) -> tuple[float, float, float]:
    """Integrates the stresses over the contact, Petersen 2012 (4.4) and (4.5), front and rear apart.

    Returns:
        F_x [N] forward, F_z [N] upwards, and the torque of the shear about the axle [N m].
    """
    entry, leave = contact_angle(radius, sinkage), contact_angle(radius, soil.rebound * sinkage)

    def halves(function: Stress, floor: float = 0.0) -> tuple[float, float]:
        return integrate(function, entry, floor), integrate(lambda angle: function(-angle), leave, floor)

    upward = sum(halves(lambda t: normal(t) * math.cos(t)))
    backward = sum(halves(lambda t: normal(t) * math.sin(t)))
    floor = 1e-13 * upward  # braking shear changes its sign and may sum to zero
    forward = sum(halves(lambda t: tangential(t) * math.cos(t), floor)) - backward
    upward += sum(halves(lambda t: tangential(t) * math.sin(t), floor))
    return width * radius * forward, width * radius * upward, width * radius**2 * sum(halves(tangential, floor))


def normal_resultants(
    radius: float, width: float, soil: Soil, sinkage: float, variant: str = "exact"
) -> tuple[float, float]:
    """Integrates the normal stress of a tire model alone.

    Args:
        radius: R [m].
        width: b [m].
        soil: The soil; stiffness, exponent and rebound count here.
        sinkage: z [m], 0 < z <= R.
        variant: As `pressure` takes it.

    Returns:
        Vertical resultant [N] upwards and horizontal resultant [N] against forward motion; the latter is not clamped.

    Raises:
        ValueError: A value out of range.
    """
    _check(radius, width, sinkage)
    normal = pressure(radius, soil, sinkage, variant)
    forward, upward, _ = resultants(radius, width, soil, sinkage, normal, lambda _: 0.0)
    return upward, -forward


def wheel_forces(
    radius: float, width: float, soil: Soil, sinkage: float, slip: float, variant: str = "exact"
) -> tuple[float, float, float]:
    """Integrates normal and shear stress, Petersen 2012 (4.1)-(4.5).

    Args:
        radius: R [m].
        width: b [m].
        soil: The soil, with a shear modulus.
        sinkage: z [m], 0 < z <= R.
        slip: As `shear` takes it [-].
        variant: As `pressure` takes it.

    Returns:
        F_x [N] forward (the drawbar pull), F_z [N] upwards, torque [N m], positive where it resists forward spin.

    Raises:
        ValueError: A value out of range, or a soil without shear modulus.
    """
    _check(radius, width, sinkage, problem("slip", slip, Range(-1.0, math.inf, "", open_low=True)))
    normal = pressure(radius, soil, sinkage, variant)
    return resultants(radius, width, soil, sinkage, normal, shear(radius, soil, sinkage, slip, normal))
