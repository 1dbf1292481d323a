"""Compiled wheel-soil forces on scalars, over one packed parameter vector per wheel, for use inside other kernels.

Frame of all of them: the wheel's contact frame, x along the heading, z along the ground's normal out of the soil.
A sinkage z <= 0 gives exactly zero force, z > R counts as z = R, and a NaN comes out as NaN.
"""

import math

import numpy as np

from models.compiled import FloatArray, kernel
from models.wheel import hypervolume, published
from models.wheel.soil import Soil

VARIANTS = ("exact", "published")

# Indices of the packed vector.
VARIANT = 0  # 0 exact, 1 published
RADIUS = 1  # R [m]
WIDTH = 2  # b [m]
EXPONENT = 3  # eta [-]
REBOUND = 4  # gamma [-]
COHESION = 5  # c [Pa]
TAN_FRICTION = 6  # tan of the internal friction angle [-]
SLIP_MODULUS = 7  # K [-]
PLASTIC_STIFFNESS = 8  # k (V_int,plastic / V_int)^(-A_1 (eta-1)) [N/m^(2+eta)]
HYPERVOLUME_SCALE = 9  # b R^(eta+1) [m^(eta+2)]
HALF_FORCE = 10  # k b R^(eta+1) / 2 [N]
COMPACTION = 11  # 2 (1/(eta+1) - gamma/2), not below 0 [-]
SLOPE = 12  # A_1 [-]
LOG_INTERSECTION = 13  # ln(b R^2 / V_int), V_int in metres [-]
CENTROID_SHIFT = 14  # r_hc,x / r_c,x [-]
WHOLE = 15  # P(u) of eta: both halves in compression
N = hypervolume.COEFFICIENTS
BOTH = WHOLE + N  # P(u) of the front half, of eta or of 1 for `published`, plus the linear rear half
LINEAR = BOTH + N  # P(u) of eta = 1
SIZE = LINEAR + N


def pack(radius: float, width: float, soil: Soil, variant: str) -> FloatArray:
    """Packs wheel and soil for the kernels; everything that does not depend on the sinkage is computed here.

    Args:
        radius: R [m], > 0.
        width: b [m], > 0.
        soil: The soil.
        variant: "exact" or "published".

    Returns:
        Parameters, shape (SIZE,), laid out by the indices of this module.
    """
    eta, gamma = soil.exponent, soil.rebound
    p = np.empty(SIZE)
    p[VARIANT] = VARIANTS.index(variant)
    p[RADIUS], p[WIDTH], p[EXPONENT], p[REBOUND] = radius, width, eta, gamma
    p[COHESION], p[TAN_FRICTION] = soil.cohesion, math.tan(soil.friction_angle)
    p[SLIP_MODULUS] = soil.slip_modulus
    p[HYPERVOLUME_SCALE] = width * radius ** (eta + 1.0)
    p[HALF_FORCE] = 0.5 * soil.stiffness * p[HYPERVOLUME_SCALE]
    p[COMPACTION] = max(0.0, 2.0 / (eta + 1.0) - gamma)
    a_1, intersection = published.regression(radius, width)
    p[SLOPE] = a_1
    p[LOG_INTERSECTION] = math.log(width * radius**2 / intersection)
    p[PLASTIC_STIFFNESS] = soil.stiffness * published.plastic_factor(gamma) ** (-a_1 * (eta - 1.0))
    p[CENTROID_SHIFT] = published.centroid_shift(eta, a_1)
    p[WHOLE : WHOLE + N] = hypervolume.fit(eta)
    p[LINEAR : LINEAR + N] = hypervolume.fit(1.0)
    # The rear half is k b z^(eta-1)/gamma A(gamma z) with A = R^2/2 (gamma u)^(3/2) P_1(gamma u); taking the front
    # half's k b R^(eta+1)/2 u^(eta+1/2) out leaves sqrt(gamma) P_1(gamma u), again a polynomial in u.
    front = WHOLE if variant == "exact" else LINEAR
    p[BOTH : BOTH + N] = p[front : front + N] + p[LINEAR : LINEAR + N] * gamma ** (np.arange(N) + 0.5)
    return p


@kernel
def _polynomial(p: FloatArray, start: int, u: float) -> float:
    """Polynomial whose coefficients start at index `start`; even and odd powers apart wait half as long as Horner."""
    square = u * u
    even = p[start + N - 2]
    odd = p[start + N - 1]
    for i in range(N - 4, -1, -2):
        even = even * square + p[start + i]
        odd = odd * square + p[start + i + 1]
    return float(even + u * odd)


@kernel
def _relative_sinkage(p: FloatArray, z: float) -> float:
    """Sinkage over radius [-], at most 1; `not >` lets a NaN through."""
    return float(z / p[RADIUS]) if not z > p[RADIUS] else 1.0


@kernel
def _exact(p: FloatArray, u: float) -> tuple[float, float]:
    """Vertical force [N] and horizontal over vertical [-] of Tire III by exact integrals, u > 0."""
    root = math.sqrt(u)
    both = _polynomial(p, BOTH, u)
    return p[HALF_FORCE] * math.pow(u, p[EXPONENT]) * root * both, p[COMPACTION] * root / both


@kernel
def _published(p: FloatArray, u: float) -> tuple[float, float]:
    """Symmetric hypervolume [m^(eta+2)] and tangent of the force's angle [-] by the published closed forms, u > 0."""
    gamma, radius = p[REBOUND], p[RADIUS]
    root = math.sqrt(u)
    area = u * root * _polynomial(p, LINEAR, u)  # V / (b R^2)
    if area == 0.0:  # underflow at z below 1e-200 R: 0 times an infinite coefficient would be NaN
        return 0.0, 0.0
    power = p[SLOPE] * (math.log(area) + p[LOG_INTERSECTION])  # ln (V/V_int)^A_1
    coefficient = math.exp(power * (p[EXPONENT] - 1.0))
    # Centroid of the equivalent volume of (4.26) at exponent 1: f in front, (f - (1-gamma) z)/gamma behind.
    moment = 0.5 * (1.0 - gamma) - u * (1.0 - gamma * gamma) / 6.0
    across = p[CENTROID_SHIFT] * radius * 2.0 * root * moment / _polynomial(p, BOTH, u)
    # The volume hangs below the ground by half the f^eta-weighted mean depth, c_v(eta+1)/c_v(eta) = (V/V_int)^A_1.
    down = radius * (1.0 - u) + 0.5 * math.exp(power)
    return coefficient * p[WIDTH] * radius * radius * area, across / down


@kernel
def hypervolume_symmetric(p: FloatArray, z: float) -> float:
    """Hypervolume of the whole, unrelaxed contact, Petersen 2012 (3.4).

    Args:
        p: Packed parameters, shape (SIZE,).
        z: Sinkage [m].

    Returns:
        V_h [m^(eta+2)]; by (3.20) with the elastic V_int for `published`.
    """
    if z <= 0.0:
        return 0.0
    u = _relative_sinkage(p, z)
    if p[VARIANT] == 0.0:
        return float(p[HYPERVOLUME_SCALE] * math.pow(u, p[EXPONENT]) * math.sqrt(u) * _polynomial(p, WHOLE, u))
    return _published(p, u)[0]


@kernel
def normal_resultants(p: FloatArray, z: float) -> tuple[float, float]:
    """Vertical and horizontal resultant of the normal pressure, Tire III of Petersen 2012 (4.26).

    For `exact` both are integrals of the column model: V = k b (R^(eta+1) I(u, eta)/2 + z^(eta-1)/gamma A(gamma z)) and
    H = k b z^(eta+1) (1/(eta+1) - gamma/2), Bekker's compaction resistance less what the rear half gives back.
    For gamma > 2/(eta+1) the model would push the wheel forward from nothing; H is clamped to 0 there.
    For `published` they are F_n cos(phi) and F_n sin(phi).

    Args:
        p: Packed parameters, shape (SIZE,).
        z: Sinkage [m].

    Returns:
        V [N] upwards and H [N] against forward motion, both >= 0.
    """
    if z <= 0.0:
        return 0.0, 0.0
    u = _relative_sinkage(p, z)
    if p[VARIANT] == 0.0:
        vertical, tangent = _exact(p, u)
        return vertical, vertical * tangent
    volume, tangent = _published(p, u)
    vertical = p[PLASTIC_STIFFNESS] * volume / math.sqrt(1.0 + tangent * tangent)
    return vertical, vertical * tangent


@kernel
def shear_limit(p: FloatArray, z: float, normal_force: float) -> float:
    """Largest tangential force the soil can take, Petersen 2012 (4.30): A c + F_n tan(friction angle).

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
        half = 0.5 * _relative_sinkage(p, z)
        # arccos(1 - u) = 2 arcsin(sqrt(u/2)) keeps all digits as u -> 0
        angles = 2.0 * (math.asin(math.sqrt(half)) + math.asin(math.sqrt(p[REBOUND] * half)))
        limit += p[COHESION] * p[WIDTH] * p[RADIUS] * angles
    return float(limit)


@kernel
def resultant(p: FloatArray, z: float) -> tuple[float, float, float, float]:
    """Size and direction of the normal resultant, and the shear limit that goes with it.

    For `exact` F_n = hypot(V, H) and phi = atan2(H, V) of `normal_resultants`. For `published` F_n = k V_h, Petersen
    2012 (3.20) with (4.28), and phi = arctan(r_hc,x / |r_hc,z|), (4.6), mended: |r_hc,z| = R - z + (V/V_int)^A_1 / 2.

    Args:
        p: Packed parameters, shape (SIZE,).
        z: Sinkage [m].

    Returns:
        F_n [N], cos(phi), sin(phi) [-] and F_shear_max [N]; (0, 1, 0, 0) for z <= 0. The normal force on the wheel is
        F_n (-sin(phi), cos(phi)) in (x, z).
    """
    if z <= 0.0:
        return 0.0, 1.0, 0.0, 0.0
    u = _relative_sinkage(p, z)
    if p[VARIANT] == 0.0:
        force, tangent = _exact(p, u)
        stretch = math.sqrt(1.0 + tangent * tangent)
        force *= stretch
    else:
        volume, tangent = _published(p, u)
        stretch = math.sqrt(1.0 + tangent * tangent)
        force = p[PLASTIC_STIFFNESS] * volume
    cosine = 1.0 / stretch
    return force, cosine, tangent * cosine, shear_limit(p, z, force)


@kernel
def wheel_forces(p: FloatArray, z: float, slip: float) -> tuple[float, float, float]:
    """Force of the soil on the wheel and torque about the axle, Petersen 2012 (4.30)-(4.32) with the arctan mended.

    Args:
        p: Packed parameters, shape (SIZE,).
        z: Sinkage [m].
        slip: 1 - v_x/(R omega) when driving [-]; negative when braking.

    Returns:
        F_x [N] forward, F_z [N] upwards, and torque R F_t [N m], positive where it resists forward spin.
    """
    if z <= 0.0:
        return 0.0, 0.0, 0.0
    normal, cosine, sine, limit = resultant(p, z)
    tangential = limit * math.tanh(slip / p[SLIP_MODULUS])
    return (
        tangential * cosine - normal * sine,
        normal * cosine + tangential * sine,
        p[RADIUS] * tangential,
    )
