"""One wheel on one soil as a vector of numbers, the argument of this package's kernels, and how it is filled.

The variants that integrate the column model exactly (Tire I to III) differ in the coefficients of one polynomial and in
the factor of the compaction resistance, so they share one kernel at one cost.
"""

import math

import numpy as np

from models.kernels.compiled import FloatArray
from models.wheel import hypervolume, published
from models.wheel.soil import Soil

# Tire III is the default; its name "exact" stands for the exact integrals of the model of Petersen 2012 (4.26).
VARIANTS = ("exact", "tire_1", "tire_2", "published", "xu")
SYNONYMS = {"tire_3": "exact"}
COLUMNS, PUBLISHED, XU = 0.0, 1.0, 2.0  # values of p[VARIANT]
FLEXIBLE = 3.0  # the same, with the table of models.wheel.flexible_table behind the rigid wheel's numbers
CROWNED = 4.0  # the same with that of models.wheel.crown_table
_KIND = {"exact": COLUMNS, "tire_1": COLUMNS, "tire_2": COLUMNS, "published": PUBLISHED, "xu": XU}

# Indices of the packed vector.
VARIANT = 0  # COLUMNS, PUBLISHED, XU, FLEXIBLE or CROWNED
RADIUS = 1  # R, effective [m]
WIDTH = 2  # b [m]
EXPONENT = 3  # eta [-]
REBOUND = 4  # gamma [-]; 0 for XU, whose contact ends at the lowest point
COHESION = 5  # c [Pa]
TAN_FRICTION = 6  # tan of the internal friction angle [-]
SLIP_MODULUS = 7  # K [-]
PLASTIC_STIFFNESS = 8  # k (V_int,plastic / V_int)^(-A_1 (eta-1)) [N/m^(2+eta)]
HYPERVOLUME_SCALE = 9  # b R^(eta+1) [m^(eta+2)]
HALF_FORCE = 10  # k b R^(eta+1) / 2 [N]
COMPACTION = 11  # 2 H / (k b z^(eta+1)), not below 0 [-]
SLOPE = 12  # A_1 [-]
LOG_INTERSECTION = 13  # ln(b R^2 / V_int), V_int in metres [-]
CENTROID_SHIFT = 14  # r_hc,x / r_c,x [-]
WHOLE = 15  # P(u) of eta: both halves in compression
N = hypervolume.COEFFICIENTS
BOTH = WHOLE + N  # P(u) of the front half, of eta or of 1 for `published`, plus the rear half
LINEAR = BOTH + N  # P(u) of eta = 1
STIFFNESS = LINEAR + N  # k [N/m^(2+eta)]
SHEAR_MODULUS = STIFFNESS + 1  # K_x [m]; this and the next three are NaN where the soil does not define them
PEAK_OFFSET = STIFFNESS + 2  # c_1 [-]
PEAK_SLOPE = STIFFNESS + 3  # c_2 [-]
LATERAL_RATE = STIFFNESS + 4  # B [1/rad]
# Of y over ln((1 + exp(2 s/K))/2) [-]; 0: traction is tanh(s/K); below 0: 1 - exp(-s/K), models.wheel.shear_law.
SHEAR_RATE = STIFFNESS + 5
SHEAR_RESIDUAL = STIFFNESS + 6  # K_r [-]
SHEAR_HUMP = STIFFNESS + 7  # c [-]
DIGGING = STIFFNESS + 8  # a (eta + 1/2) of models.wheel.shear_law [-]; 0: slip does not dig
PASSIVE_COHESIVE = STIFFNESS + 9  # b times that of soil.PassivePressure [N/m]; 0, as the next: nothing is pushed ahead
PASSIVE_WEIGHT = STIFFNESS + 10  # b/2 times it [N/m^2]
SPEED_EXPONENT = STIFFNESS + 11  # m of models.wheel.traction.modulus_factor [-]; 0: K is the same at all speeds
SPEED = STIFFNESS + 12  # v_0 there [m/s]
SIZE = STIFFNESS + 13


def _rear(variant: str, eta: float, gamma: float) -> tuple[FloatArray, float]:
    """The rear half and the horizontal resultant of a column variant, relative to the front half.

    Returns:
        Polynomial in u that joins P(u) of the front half, shape (N,), and 2 H / (k b z^(eta+1)), not clamped.
    """
    powers = np.arange(N)
    if variant == "tire_1":  # the front's own law, cut off where the profile is (1 - gamma) z deep: (4.17)
        return 2.0 * np.array(hypervolume.fit_of_cut(eta, gamma)), 2.0 * (1.0 - gamma) ** (eta + 1.0) / (eta + 1.0)
    if variant == "tire_2":  # the front's law on the depth less (1 - gamma) z: (4.19)
        scaled = np.array(hypervolume.fit(eta)) * gamma ** (powers + eta + 0.5)
        return scaled, 2.0 * (1.0 - gamma ** (eta + 1.0)) / (eta + 1.0)
    # The rear half is k b z^(eta-1)/gamma A(gamma z) with A = R^2/2 (gamma u)^(3/2) P_1(gamma u); taking the front
    # half's k b R^(eta+1)/2 u^(eta+1/2) out leaves sqrt(gamma) P_1(gamma u), again a polynomial in u: (4.26)
    return np.array(hypervolume.fit(1.0)) * gamma ** (powers + 0.5), 2.0 / (eta + 1.0) - gamma


def _shear(soil: Soil) -> tuple[float, float, float]:
    """Rate, residual and factor of the hump, see `models.wheel.shear_law`; 1 and 0 at the end without a peak."""
    if soil.shear_residual is None:
        return -1.0 if soil.shear == "exponential" else 0.0, 1.0, 0.0
    residual, at_peak = soil.shear_residual, math.log(0.5 * (1.0 + math.exp(2.0)))
    if soil.shear == "wong":
        return 1.0 / at_peak, residual, math.e**2 / (math.e - 1.0) - math.e * residual
    root = math.sqrt(1.0 - residual)
    return math.log1p(1.0 / root) / at_peak, residual, (1.0 + root) ** 2


def pack(radius: float, width: float, soil: Soil, variant: str) -> FloatArray:
    """Packs wheel and soil for the kernels; everything that does not depend on the sinkage is computed here.

    Args:
        radius: R [m], > 0.
        width: b [m], > 0.
        soil: The soil.
        variant: One of VARIANTS.

    Returns:
        Parameters, shape (SIZE,), laid out by the indices of this module.
    """
    eta, gamma = soil.exponent, soil.rebound
    p = np.empty(SIZE)
    p[VARIANT] = _KIND[variant]
    p[RADIUS], p[WIDTH], p[EXPONENT] = radius, width, eta
    p[REBOUND] = 0.0 if variant == "xu" else gamma
    p[COHESION], p[TAN_FRICTION] = soil.cohesion, math.tan(soil.friction_angle)
    p[SLIP_MODULUS] = soil.slip_modulus
    p[HYPERVOLUME_SCALE] = width * radius ** (eta + 1.0)
    p[HALF_FORCE] = 0.5 * soil.stiffness * p[HYPERVOLUME_SCALE]
    a_1, intersection = published.regression(radius, width)
    p[SLOPE] = a_1
    p[LOG_INTERSECTION] = math.log(width * radius**2 / intersection)
    p[PLASTIC_STIFFNESS] = soil.stiffness * published.plastic_factor(gamma) ** (-a_1 * (eta - 1.0))
    p[CENTROID_SHIFT] = published.centroid_shift(eta, a_1)
    p[WHOLE : WHOLE + N] = hypervolume.fit(eta)
    p[LINEAR : LINEAR + N] = hypervolume.fit(1.0)
    rear, compaction = _rear(variant, eta, gamma)
    p[COMPACTION] = max(0.0, compaction)
    front = LINEAR if variant == "published" else WHOLE
    p[BOTH : BOTH + N] = p[front : front + N] + rear
    p[STIFFNESS] = soil.stiffness
    unknown = math.nan
    p[SHEAR_MODULUS] = unknown if soil.shear_modulus is None else soil.shear_modulus
    p[PEAK_OFFSET] = unknown if soil.peak_offset is None else soil.peak_offset
    p[PEAK_SLOPE] = unknown if soil.peak_slope is None else soil.peak_slope
    p[LATERAL_RATE] = unknown if soil.lateral_rate is None else soil.lateral_rate
    p[SHEAR_RATE], p[SHEAR_RESIDUAL], p[SHEAR_HUMP] = _shear(soil)
    p[DIGGING] = soil.slip_sinkage * (eta + 0.5)
    cohesive, weight = soil.bulldozing or (0.0, 0.0)
    p[PASSIVE_COHESIVE], p[PASSIVE_WEIGHT] = width * cohesive, 0.5 * width * weight
    p[SPEED_EXPONENT], p[SPEED] = soil.slip_modulus_exponent, soil.slip_modulus_speed
    return p


def pack_tabled(radius: float, width: float, soil: Soil, kind: float, table: FloatArray) -> FloatArray:
    """Packs a wheel of the kind FLEXIBLE or CROWNED: the numbers of "exact", and its table behind them."""
    rigid = pack(radius, width, soil, "exact")
    rigid[VARIANT] = kind
    return np.concatenate((rigid, table))
