"""Rut memory: a wheel on soil compacted by earlier wheels. An option in addition to `models.wheel.kernels`.

Soil once pressed down to z_0 has sprung back to (1 - gamma) z_0. A following wheel meets it there, loads it along the
line on which it was relieved, Petersen 2012 (4.25) and Figure 4.6, and from z_0 on along the law of fresh soil, (4.1);
behind it the soil relaxes from the deepest point reached so far, (4.26). So each column stores one number.

All sinkages are measured from the undisturbed ground. The state of a rut is `deepest`, the largest sinkage of the
earlier wheels; after a wheel it is the larger of that and the wheel's sinkage. Variant "exact" only.
"""

import math

from models.kernels.compiled import FloatArray, kernel
from models.wheel import kernels, split_quadrature
from models.wheel.kernels import polynomial
from models.wheel.packed import (
    COHESION,
    COMPACTION,
    EXPONENT,
    LINEAR,
    RADIUS,
    REBOUND,
    STIFFNESS,
    TAN_FRICTION,
    WIDTH,
)


@kernel
def ground(p: FloatArray, deepest: float) -> float:
    """Returns the depth below the undisturbed ground at which the next wheel touches the soil, (1 - gamma) z_0 [m]."""
    return (1.0 - p[REBOUND]) * max(deepest, 0.0)


@kernel
def _angle(p: FloatArray, depth: float) -> float:
    """Angle [rad] between the lowest point of the rim and the points `depth` [m] above it, at most to the axle."""
    return 2.0 * math.asin(math.sqrt(0.5 * min(depth / p[RADIUS], 1.0)))


@kernel
def _segment(p: FloatArray, depth: float) -> float:
    """Half the area of the rim's segment of that height [m^2], Petersen 2012 (4.26)'s A, without cancellation."""
    if depth <= 0.0:
        return 0.0
    u = min(depth / p[RADIUS], 1.0)
    return 0.5 * p[RADIUS] * p[RADIUS] * u * math.sqrt(u) * polynomial(p, LINEAR, u)


@kernel
def normal_resultants(p: FloatArray, z: float, deepest: float) -> tuple[float, float]:
    """Vertical and horizontal resultant of the normal pressure in a rut.

    Up to z_0 the soil is elastic and linear: V is that of two equal halves, H is 0. Beyond, H is that of fresh soil
    minus the work of the earlier wheels, and V is closed except for the pressure below z_0, which needs quadrature.

    Args:
        p: Packed parameters of the variant "exact", shape (packed.SIZE,).
        z: Sinkage below the undisturbed ground [m], at most the radius.
        deepest: z_0 [m]; <= 0 is fresh soil.

    Returns:
        V [N] upwards and H [N] against forward motion.
    """
    if deepest <= 0.0:
        return kernels.normal_resultants(p, z)
    free = z - ground(p, deepest)
    if free <= 0.0:
        return 0.0, 0.0
    eta, gamma, width = p[EXPONENT], p[REBOUND], p[WIDTH]
    reload = p[STIFFNESS] * math.pow(deepest, eta - 1.0) / gamma * width
    if z <= deepest:
        return 2.0 * reload * _segment(p, free), 0.0
    fresh = _angle(p, z - deepest)  # below this angle the soil is deeper than z_0
    virgin, _ = split_quadrature.front(p, _angle(p, z), fresh)
    # ahead of it the line, up to where the wheel meets the rut: the whole segment less what lies over fresh soil
    edge = p[RADIUS] * math.sin(fresh)
    loaded = reload * (_segment(p, free) - _segment(p, z - deepest) - gamma * deepest * edge)
    relieved = p[STIFFNESS] * math.pow(z, eta - 1.0) / gamma * width * _segment(p, gamma * z)
    spent = math.pow(z, eta + 1.0) - math.pow(deepest, eta + 1.0)
    return virgin + loaded + relieved, 0.5 * p[COMPACTION] * p[STIFFNESS] * width * spent


@kernel
def resultant(p: FloatArray, z: float, deepest: float) -> tuple[float, float, float, float]:
    """Size and direction of the normal resultant and the shear limit in a rut, like `models.wheel.kernels.resultant`.

    Args:
        p: Packed parameters of the variant "exact", shape (packed.SIZE,).
        z: Sinkage below the undisturbed ground [m], at most the radius.
        deepest: z_0 [m]; <= 0 is fresh soil.

    Returns:
        F_n [N], cos(phi), sin(phi) [-] and F_shear_max [N]; (0, 1, 0, 0) where the wheel does not reach the rut.
    """
    if deepest <= 0.0:
        return kernels.resultant(p, z)
    vertical, horizontal = normal_resultants(p, z, deepest)
    return composed(p, vertical, horizontal, patch(p, z, deepest))


@kernel
def patch(p: FloatArray, z: float, deepest: float) -> float:
    """Returns the area of the contact [m^2]; arguments as of `normal_resultants`."""
    free = z - ground(p, deepest)
    if free <= 0.0:
        return 0.0
    return float(p[WIDTH] * p[RADIUS] * (_angle(p, free) + _angle(p, min(free, p[REBOUND] * z))))


@kernel
def composed(p: FloatArray, vertical: float, horizontal: float, area: float) -> tuple[float, float, float, float]:
    """Returns F_n [N], cos(phi), sin(phi) [-] and F_shear_max [N] of resultants [N] and an area [m^2]."""
    force = math.sqrt(vertical * vertical + horizontal * horizontal)
    if force == 0.0:
        return 0.0, 1.0, 0.0, 0.0
    return force, vertical / force, horizontal / force, p[COHESION] * area + force * p[TAN_FRICTION]
