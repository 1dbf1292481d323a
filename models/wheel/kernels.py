"""Compiled wheel-soil forces on scalars, over one packed parameter vector per wheel, for use inside other kernels.

Frame of all of them: the wheel's contact frame, x along the heading, z along the ground's normal out of the soil.
A sinkage z <= 0 gives exactly zero force, z > R counts as z = R, and a NaN comes out as NaN.
"""

import math

from models.kernels.compiled import FloatArray, kernel
from models.wheel import crown_table, flexible_table, xu
from models.wheel.packed import (
    BOTH,
    CENTROID_SHIFT,
    COHESION,
    COLUMNS,
    COMPACTION,
    CROWNED,
    DIGGING,
    EXPONENT,
    FLEXIBLE,
    HALF_FORCE,
    HYPERVOLUME_SCALE,
    LINEAR,
    LOG_INTERSECTION,
    PASSIVE_COHESIVE,
    PASSIVE_WEIGHT,
    PLASTIC_STIFFNESS,
    PUBLISHED,
    RADIUS,
    REBOUND,
    SLIP_MODULUS,
    SLOPE,
    TAN_FRICTION,
    VARIANT,
    WHOLE,
    WIDTH,
    XU,
    N,
)
from models.wheel.shear_law import dug_by, on_dug, share_of_limit

__all__ = [
    "RADIUS", "SLIP_MODULUS", "bulldozing", "flexible_resultant", "flexible_resultants", "hypervolume_symmetric",
    "normal_resultants", "polynomial", "relative_sinkage",
    "resultant", "resultant_at_slip", "shear_limit", "wheel_forces",
]  # fmt: skip


@kernel
def polynomial(p: FloatArray, start: int, u: float) -> float:
    """Returns the polynomial in u whose N coefficients start at index `start` of p.

    Even and odd powers are summed separately, which halves the dependency chain of Horner's scheme.
    """
    square = u * u
    even = p[start + N - 2]
    odd = p[start + N - 1]
    for i in range(N - 4, -1, -2):
        even = even * square + p[start + i]
        odd = odd * square + p[start + i + 1]
    return float(even + u * odd)


@kernel
def relative_sinkage(p: FloatArray, z: float) -> float:
    """Returns sinkage over radius [-], at most 1; `not >` lets a NaN through. p and z as everywhere here."""
    return float(z / p[RADIUS]) if not z > p[RADIUS] else 1.0


@kernel
def _exact(p: FloatArray, u: float) -> tuple[float, float]:
    """Vertical force [N] and horizontal over vertical [-] of Tire I, II or III by exact integrals, u > 0."""
    root = math.sqrt(u)
    both = polynomial(p, BOTH, u)
    return p[HALF_FORCE] * math.pow(u, p[EXPONENT]) * root * both, p[COMPACTION] * root / both


@kernel
def _published(p: FloatArray, u: float) -> tuple[float, float]:
    """Symmetric hypervolume [m^(eta+2)] and tangent of the force's angle [-] by the published closed forms, u > 0."""
    gamma, radius = p[REBOUND], p[RADIUS]
    root = math.sqrt(u)
    area = u * root * polynomial(p, LINEAR, u)  # V / (b R^2)
    if area == 0.0:  # underflow at z below 1e-200 R: 0 times an infinite coefficient would be NaN
        return 0.0, 0.0
    power = p[SLOPE] * (math.log(area) + p[LOG_INTERSECTION])  # ln (V/V_int)^A_1
    coefficient = math.exp(power * (p[EXPONENT] - 1.0))
    # Centroid of the equivalent volume of (4.26) at exponent 1: f in front, (f - (1-gamma) z)/gamma behind.
    moment = 0.5 * (1.0 - gamma) - u * (1.0 - gamma * gamma) / 6.0
    across = p[CENTROID_SHIFT] * radius * 2.0 * root * moment / polynomial(p, BOTH, u)
    # The volume hangs below the ground by half the f^eta-weighted mean depth, c_v(eta+1)/c_v(eta) = (V/V_int)^A_1.
    down = radius * (1.0 - u) + 0.5 * math.exp(power)
    return coefficient * p[WIDTH] * radius * radius * area, across / down


@kernel
def _flexible(p: FloatArray, u: float, share: float) -> tuple[float, float, float]:
    """`_tabled` of a flexible wheel: the cylinder is the undeflected wheel at the same height of the hub."""
    cylinder = _exact(p, u)  # before the quotients: after them, a tenth more time was seen
    less, resisting, covered, _ = flexible_table.quotients(p, u, share)
    return _tabled(p, u, cylinder, less, max(resisting, 0.0), covered)


@kernel
def _crowned(p: FloatArray, u: float) -> tuple[float, float, float]:
    """`_tabled` of a crowned wheel."""
    cylinder = _exact(p, u)
    less, resisting, covered = crown_table.quotients(p, u)
    return _tabled(p, u, cylinder, less, resisting, covered)


@kernel
def _tabled(
    p: FloatArray, u: float, cylinder: tuple[float, float], less: float, resisting: float, covered: float
) -> tuple[float, float, float]:
    """Vertical force [N], horizontal over vertical [-] and contact area [m^2], u > 0: a cylinder's times quotients."""
    vertical, tangent = cylinder
    half = 0.5 * u
    angles = 2.0 * (math.asin(math.sqrt(half)) + math.asin(math.sqrt(p[REBOUND] * half)))
    return vertical * less, tangent * resisting / less, covered * p[WIDTH] * p[RADIUS] * angles


@kernel
def _composed(p: FloatArray, vertical: float, tangent: float, area: float) -> tuple[float, float, float, float]:
    """F_n [N], cos(phi), sin(phi) [-] and F_shear_max [N] of what `_tabled` gives."""
    stretch = math.sqrt(1.0 + tangent * tangent)
    force, cosine = vertical * stretch, 1.0 / stretch
    return force, cosine, tangent * cosine, p[COHESION] * area + force * p[TAN_FRICTION]


@kernel
def flexible_resultants(p: FloatArray, z: float, share: float) -> tuple[float, float]:
    """`normal_resultants` of a flexible wheel whose tangential force takes a share of its limit.

    Args:
        p: Packed parameters with the table, shape (flexible_table.SIZE,).
        z: Sinkage of the hub [m].
        share: Tangential force over its limit, -1 to 1, positive in the direction of travel.

    Returns:
        V [N] upwards and H [N] against forward motion.
    """
    if z <= 0.0:
        return 0.0, 0.0
    vertical, tangent, _ = _flexible(p, relative_sinkage(p, z), share)
    return vertical, vertical * tangent


@kernel
def flexible_resultant(p: FloatArray, z: float, share: float) -> tuple[float, float, float, float]:
    """`resultant` of a flexible wheel whose tangential force takes a share of its limit; arguments as above.

    Returns:
        F_n [N], cos(phi), sin(phi) [-] and F_shear_max [N], as `resultant`.
    """
    if z <= 0.0:
        return 0.0, 1.0, 0.0, 0.0
    vertical, tangent, area = _flexible(p, relative_sinkage(p, z), share)
    return _composed(p, vertical, tangent, area)


@kernel
def hypervolume_symmetric(p: FloatArray, z: float) -> float:
    """Hypervolume of the whole, unrelaxed contact, Petersen 2012 (3.4).

    Args:
        p: Packed parameters, shape (SIZE,).
        z: Sinkage [m].

    Returns:
        V_h [m^(eta+2)], exact but for `published`: there by (3.20) with the elastic V_int.
    """
    if z <= 0.0:
        return 0.0
    u = relative_sinkage(p, z)
    if p[VARIANT] == PUBLISHED:
        return _published(p, u)[0]
    return float(p[HYPERVOLUME_SCALE] * math.pow(u, p[EXPONENT]) * math.sqrt(u) * polynomial(p, WHOLE, u))


@kernel
def normal_resultants(p: FloatArray, z: float) -> tuple[float, float]:
    """Vertical and horizontal resultant of the normal pressure.

    For `exact`, Tire III of Petersen 2012 (4.26), both are integrals of the column model:
    V = k b (R^(eta+1) I(u, eta)/2 + z^(eta-1)/gamma A(gamma z)) and H = k b z^(eta+1) (1/(eta+1) - gamma/2), Bekker's
    compaction resistance less what the rear half gives back.
    For gamma > 2/(eta+1) the model would push the wheel forward from nothing; H is clamped to 0 there.
    Tire I, (4.17), has H = k b ((1-gamma) z)^(eta+1) / (eta+1) and Tire II, (4.19),
    H = k b z^(eta+1) (1 - gamma^(eta+1)) / (eta+1); neither needs a clamp.
    For `published` they are F_n cos(phi) and F_n sin(phi); for `xu` the integrals of (26) without shear, at slip 0; for
    a flexible wheel those without tangential force; for a crowned one those of `exact` times the table's quotients.

    Args:
        p: Packed parameters, shape (SIZE,).
        z: Sinkage [m].

    Returns:
        V [N] upwards and H [N] against forward motion, both >= 0.
    """
    if z <= 0.0:
        return 0.0, 0.0
    u = relative_sinkage(p, z)
    if p[VARIANT] == COLUMNS:
        vertical, tangent = _exact(p, u)
        return vertical, vertical * tangent
    if p[VARIANT] == XU:
        return xu.normal_resultants(p, u)
    if p[VARIANT] == FLEXIBLE:
        return flexible_resultants(p, z, 0.0)
    if p[VARIANT] == CROWNED:
        vertical, tangent, _ = _crowned(p, u)
        return vertical, vertical * tangent
    volume, tangent = _published(p, u)
    vertical = p[PLASTIC_STIFFNESS] * volume / math.sqrt(1.0 + tangent * tangent)
    return vertical, vertical * tangent


@kernel
def shear_limit(p: FloatArray, z: float, normal_force: float) -> float:
    """Largest tangential force that the soil can bear, Petersen 2012 (4.30): A c + F_n tan(friction angle).

    The patch A = b R (theta_1 + theta_2) reaches from the entry angle of z to the exit angle of gamma z (Figure 4.1).

    Args:
        p: Packed parameters, shape (SIZE,).
        z: Sinkage [m].
        normal_force: F_n [N].

    Returns:
        F_shear_max [N].
    """
    if z <= 0.0:
        return 0.0
    limit = normal_force * p[TAN_FRICTION]
    if p[COHESION] > 0.0:
        half = 0.5 * relative_sinkage(p, z)
        # arccos(1 - u) = 2 arcsin(sqrt(u/2)) keeps all digits as u -> 0
        angles = 2.0 * (math.asin(math.sqrt(half)) + math.asin(math.sqrt(p[REBOUND] * half)))
        limit += p[COHESION] * p[WIDTH] * p[RADIUS] * angles
    return float(limit)


@kernel
def resultant(p: FloatArray, z: float) -> tuple[float, float, float, float]:
    """Size and direction of the normal resultant, and its shear limit.

    F_n = hypot(V, H) and phi = atan2(H, V) of `normal_resultants`. For `published` F_n = k V_h, Petersen 2012 (3.20)
    with (4.28), and phi = arctan(r_hc,x / |r_hc,z|), (4.6), corrected: |r_hc,z| = R - z + (V/V_int)^A_1 / 2.

    Args:
        p: Packed parameters, shape (SIZE,).
        z: Sinkage [m].

    Returns:
        F_n [N], cos(phi), sin(phi) [-] and F_shear_max [N]; (0, 1, 0, 0) for z <= 0. The normal force on the wheel is
        F_n (-sin(phi), cos(phi)) in (x, z).
    """
    if z <= 0.0:
        return 0.0, 1.0, 0.0, 0.0
    u = relative_sinkage(p, z)
    if p[VARIANT] == COLUMNS:
        force, tangent = _exact(p, u)
        stretch = math.sqrt(1.0 + tangent * tangent)
        force *= stretch
    elif p[VARIANT] == XU:
        force, against = xu.normal_resultants(p, u)
        tangent = against / force if force > 0.0 else 0.0  # both underflow at a sinkage below 1e-200 R
        stretch = math.sqrt(1.0 + tangent * tangent)
        force *= stretch
    elif p[VARIANT] == FLEXIBLE:
        return flexible_resultant(p, z, 0.0)
    elif p[VARIANT] == CROWNED:
        vertical, tangent, area = _crowned(p, u)
        return _composed(p, vertical, tangent, area)
    else:
        volume, tangent = _published(p, u)
        stretch = math.sqrt(1.0 + tangent * tangent)
        force = p[PLASTIC_STIFFNESS] * volume
    cosine = 1.0 / stretch
    return force, cosine, tangent * cosine, shear_limit(p, z, force)


@kernel
def resultant_at_slip(p: FloatArray, z: float, slip: float) -> tuple[float, float, float, float]:
    """`resultant` in steady motion at a slip, which digs where the soil has slip sinkage (models.wheel.shear_law)."""
    normal, cosine, sine, limit = resultant(p, z)
    if p[DIGGING] > 0.0:
        normal, limit = on_dug(p, dug_by(p, slip, p[SLIP_MODULUS]), normal, limit)
    return normal, cosine, sine, limit


@kernel
def bulldozing(p: FloatArray, depth: float) -> float:
    """Resistance [N] of the soil that the wheel pushes ahead of it, in any direction (soil.passive_pressure).

    Args:
        p: Packed parameters, shape (SIZE,).
        depth: Of the rim below the soil ahead of it [m].
    """
    if depth <= 0.0:
        return 0.0
    height = p[RADIUS] * relative_sinkage(p, depth)
    return float(height * (p[PASSIVE_COHESIVE] + p[PASSIVE_WEIGHT] * height))


@kernel
def wheel_forces(p: FloatArray, z: float, slip: float) -> tuple[float, float, float]:
    """Force of the soil on the wheel and torque about the axle, Petersen 2012 (4.30)-(4.32) with the arctan corrected.

    For `xu` the integrals of his linear stresses, normal and shear, instead; they hold for slip 0 to 1.

    Args:
        p: Packed parameters, shape (SIZE,).
        z: Sinkage [m].
        slip: 1 - v_x/(R omega) when driving [-]; negative when braking.

    Returns:
        F_x [N] forward, F_z [N] upwards, and torque R F_t [N m], positive where it resists forward spin.
    """
    if z <= 0.0:
        return 0.0, 0.0, 0.0
    if p[VARIANT] == XU:
        return xu.wheel_forces(p, relative_sinkage(p, z), slip)
    share = share_of_limit(p, slip)
    if p[VARIANT] == FLEXIBLE:
        normal, cosine, sine, limit = flexible_resultant(p, z, min(max(share, -1.0), 1.0))
    else:
        normal, cosine, sine, limit = resultant_at_slip(p, z, slip)
    tangential = limit * share
    return (
        tangential * cosine - normal * sine - bulldozing(p, z),
        normal * cosine + tangential * sine,
        p[RADIUS] * tangential,
    )
