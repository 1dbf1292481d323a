"""Linearised stresses in closed form, Xu 2021 (24)-(32): the kernels behind the variant `xu`.

The normal and the shear stress rise linearly from the entry angle theta_1 to the angle theta_m of the largest stress
and fall linearly to 0 and to the cohesion c at the lowest point, where the contact ends. Misprints of the source:
(24) is (k_1 + k_2 b)(r/b)^n (cos(theta) - cos(theta_1))^n, the pressure of a Reece soil, here k r^n (...)^n with
the soil's k; (25) needs (1 - s) before sin(theta_1) - sin(theta); in (32) the cohesive term is c A without the width.
(31) uses torque/r as the horizontal force, which leaves out the compaction resistance and is too large by a factor of
1.5 or more. The horizontal resultant also has a closed form, with no more terms than (28), which is used here; his is
the torque over the radius.

The model holds for a driving wheel. The kernels take a slip below 0 as 0 and above 1 as 1; `models.wheel.xu_moving` is
the reading for a wheel that brakes, stands or reverses.
"""

import math

from models.kernels.compiled import FloatArray, kernel
from models.wheel.packed import (
    COHESION,
    EXPONENT,
    LATERAL_RATE,
    PEAK_OFFSET,
    PEAK_SLOPE,
    RADIUS,
    SHEAR_MODULUS,
    STIFFNESS,
    TAN_FRICTION,
    WIDTH,
)


@kernel
def one_less_sinc(x: float) -> float:
    """1 - sin(x)/x without cancellation, for |x| <= pi/2: x^2/6 - x^4/120 + ..."""
    square = x * x
    total = 1.0
    for i in range(10, 0, -1):
        total = 1.0 - square / ((2 * i + 2) * (2 * i + 3)) * total
    return square / 6.0 * total


@kernel
def one_less_cosine_over(x: float) -> float:
    """(1 - cos(x)) / x without cancellation."""
    return math.sin(0.5 * x) * (1.0 - one_less_sinc(0.5 * x))


@kernel
def peak(p: FloatArray, u: float, slip: float) -> tuple[float, float, float, float]:
    """Where the stresses are largest and how large, Xu 2021 (24), (25), (27).

    Args:
        p: Packed parameters, shape (SIZE,).
        u: Sinkage over radius [-], in (0, 1].
        slip: s [-], taken as 0 to 1.

    Returns:
        theta_1 and theta_m [rad], sigma_m and tau_m [Pa].
    """
    s = min(max(slip, 0.0), 1.0)
    entry, middle, normal = largest(p, u, s)
    shear = (p[COHESION] + normal * p[TAN_FRICTION]) * -math.expm1(-moved(p, entry, middle, s) / p[SHEAR_MODULUS])
    return entry, middle, normal, shear


@kernel
def largest(p: FloatArray, u: float, slip: float) -> tuple[float, float, float]:
    """theta_1 and theta_m [rad], and sigma_m [Pa]; arguments as `peak`, slip in [0, 1]."""
    entry = 2.0 * math.asin(math.sqrt(0.5 * u))
    middle = entry * (p[PEAK_OFFSET] + p[PEAK_SLOPE] * slip)
    # cos(theta_m) - cos(theta_1) as a product
    depth = 2.0 * p[RADIUS] * math.sin(0.5 * (entry + middle)) * math.sin(0.5 * (entry - middle))
    return entry, middle, p[STIFFNESS] * math.pow(depth, p[EXPONENT])


@kernel
def moved(p: FloatArray, entry: float, middle: float, slip: float) -> float:
    """Shear displacement of (25) at theta_m [m], its leading terms cancelled by hand; any slip.

    r ((theta_1 - theta_m) - (1 - s)(sin(theta_1) - sin(theta_m))).
    """
    mean, half = 0.5 * (entry + middle), 0.5 * (entry - middle)
    turned = 2.0 * math.sin(0.5 * mean) ** 2 + slip * math.cos(mean)
    return 2.0 * p[RADIUS] * (half * one_less_sinc(half) + math.sin(half) * turned)


@kernel
def moments(entry: float, middle: float) -> tuple[float, float]:
    """Integrals of the unit triangle over (0, theta_1) with its tip at theta_m, times cosine and times sine."""
    mean, half = 0.5 * (entry + middle), 0.5 * (entry - middle)
    rest = one_less_sinc(half)
    cosine = math.sin(mean) * (1.0 - rest) - one_less_cosine_over(middle)
    sine = 2.0 * math.sin(0.5 * mean) ** 2 + math.cos(mean) * rest - one_less_sinc(middle)
    return cosine, sine


@kernel
def normal_resultants(p: FloatArray, u: float) -> tuple[float, float]:
    """Vertical and horizontal resultant of the normal stress alone at slip 0 [N]; u in (0, 1]."""
    entry, middle, normal, _ = peak(p, u, 0.0)
    cosine, sine = moments(entry, middle)
    scale = p[RADIUS] * p[WIDTH] * normal
    return scale * cosine, scale * sine


@kernel
def wheel_forces(p: FloatArray, u: float, slip: float) -> tuple[float, float, float]:
    """Forces of a driving wheel, the integrals of the linear stresses (26): (28), the horizontal resultant, and (30).

    Args:
        p: Packed parameters, shape (SIZE,).
        u: Sinkage over radius [-], in (0, 1].
        slip: s [-], taken as 0 to 1.

    Returns:
        F_x [N] forward, F_z [N] upwards, torque [N m] where it resists forward spin.
    """
    entry, middle, normal, shear = peak(p, u, slip)
    cosine, sine = moments(entry, middle)
    c, patch = p[COHESION], p[RADIUS] * p[WIDTH]
    vertical = patch * (normal * cosine + shear * sine + c * one_less_sinc(middle))
    horizontal = patch * (shear * cosine + c * one_less_cosine_over(middle) - normal * sine)
    return horizontal, vertical, 0.5 * p[RADIUS] * patch * (shear * entry + c * middle)


@kernel
def lateral_force(p: FloatArray, limit: float, slip_angle: float) -> float:
    """Lateral force against sideways motion, Xu 2021 (32) corrected: (c A + N tan(friction angle))(1 - exp(-B alpha)).

    Args:
        p: Packed parameters, shape (SIZE,).
        limit: c A + N tan(friction angle) [N].
        slip_angle: alpha [rad], positive where the wheel drifts to the left.

    Returns:
        F_y [N], positive to the left.
    """
    return math.copysign(limit * math.expm1(-p[LATERAL_RATE] * abs(slip_angle)), -slip_angle)
