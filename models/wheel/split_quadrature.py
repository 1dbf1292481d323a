"""The stresses of Wong, Reece, Janosi and Hanamoto by compiled quadrature, to time the closed forms against.

Petersen 2012 (4.2), (4.4), (4.5) with the pressure of Tire III, (4.26), the same model as `references.wheel_stresses`.
The contact is split at its lowest point, where the pressure has a kink, into an entry and an exit half, each with its
own Gauss-Legendre rule. In the entry half theta = theta_1 (1 - s^3) takes the branch point of depth^eta, and the steep
start of the shear, to the end of a smooth function; the exit half is smooth as it is. Within 1e-8 of the reference for
sinkages up to the radius, exponents 0.3 to 1.75, any rebound, slip 0 to 1 and shear moduli from R/30 upwards.
"""

import math

import numpy as np
from numpy.polynomial.legendre import leggauss

from models.kernels.compiled import FloatArray, kernel
from models.wheel.packed import COHESION, EXPONENT, RADIUS, REBOUND, SHEAR_MODULUS, STIFFNESS, TAN_FRICTION, WIDTH

GRADING = 3


def _rule(nodes: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre on (0, 1)."""
    x, w = leggauss(nodes)
    return np.asarray(0.5 * (x + 1.0)), np.asarray(0.5 * w)


_NODES, _WEIGHTS = _rule(11)  # one node fewer misses 1e-8 here and in the next, and barely reaches it in the last
_SHEAR_NODES, _SHEAR_WEIGHTS = _rule(15)
_EXIT_NODES, _EXIT_WEIGHTS = _rule(8)


@kernel
def front(p: FloatArray, entry: float, upper: float) -> tuple[float, float]:
    """Resultants of the compressed soil from the lowest point up to an angle ahead of it.

    Args:
        p: Packed parameters, shape (packed.SIZE,).
        entry: theta_1 [rad], where the depth is 0.
        upper: Where the integral ends [rad], in [0, entry].

    Returns:
        Vertical and horizontal force [N] of k depth^eta over (0, upper).
    """
    start = math.pow(1.0 - upper / entry, 1.0 / GRADING)
    sine_entry, cosine_entry = math.sin(entry), math.cos(entry)
    vertical = horizontal = 0.0
    for i in range(_NODES.size):
        s = start + (1.0 - start) * _NODES[i]
        half = 0.5 * entry * s * s * s
        sine, cosine = math.sin(half), math.cos(half)
        depth = 2.0 * sine * (sine_entry * cosine - cosine_entry * sine)  # cos(theta) - cos(theta_1), theta_1 - 2 half
        part = _WEIGHTS[i] * s * s * math.pow(depth, p[EXPONENT])
        vertical += part * (depth + cosine_entry)
        horizontal += part * (sine_entry * (1.0 - 2.0 * sine * sine) - cosine_entry * 2.0 * sine * cosine)
    scale = p[STIFFNESS] * math.pow(p[RADIUS], p[EXPONENT] + 1.0) * p[WIDTH] * GRADING * entry * (1.0 - start)
    return scale * vertical, scale * horizontal


@kernel
def wheel_forces(p: FloatArray, z: float, slip: float) -> tuple[float, float, float]:
    """Forces of a driving wheel with normal and shear stress, Petersen 2012 (4.2)-(4.5) with the pressure of (4.26).

    Args:
        p: Packed parameters of the variant "exact", shape (packed.SIZE,), its soil with a shear modulus.
        z: Sinkage [m], at most the radius.
        slip: 1 - v_x/(R omega) [-], 0 to 1: below 0 the shear changes its sign inside the contact, which this rule does
            not resolve.

    Returns:
        F_x [N] forward, F_z [N] upwards, torque [N m] where it resists forward spin; 0 for z <= 0.
    """
    if z <= 0.0:
        return 0.0, 0.0, 0.0
    radius, tangent, c = p[RADIUS], p[TAN_FRICTION], p[COHESION]
    relative, modulus = z / radius, p[SHEAR_MODULUS] / radius
    entry = 2.0 * math.asin(math.sqrt(0.5 * relative))
    leave = 2.0 * math.asin(math.sqrt(0.5 * p[REBOUND] * relative))
    sine_entry, cosine_entry = math.sin(entry), math.cos(entry)
    stiffness = p[STIFFNESS] * math.pow(radius, p[EXPONENT])
    longitudinal = vertical = torque = 0.0
    for i in range(_SHEAR_NODES.size):
        s = _SHEAR_NODES[i]
        half = 0.5 * entry * s * s * s
        sine_half, cosine_half = math.sin(half), math.cos(half)
        depth = 2.0 * sine_half * (sine_entry * cosine_half - cosine_entry * sine_half)
        cosine = depth + cosine_entry
        sine = sine_entry * (1.0 - 2.0 * sine_half * sine_half) - cosine_entry * 2.0 * sine_half * cosine_half
        pressure = stiffness * math.pow(depth, p[EXPONENT])
        displacement = 2.0 * half - (1.0 - slip) * (sine_entry - sine)  # over R
        shear = (c + pressure * tangent) * -math.expm1(-displacement / modulus)
        part = _SHEAR_WEIGHTS[i] * GRADING * s * s * entry
        longitudinal += part * (shear * cosine - pressure * sine)
        vertical += part * (pressure * cosine + shear * sine)
        torque += part * shear
    stiffness = p[STIFFNESS] * math.pow(z, p[EXPONENT] - 1.0) / p[REBOUND] * radius
    for i in range(_EXIT_NODES.size):
        angle = leave * _EXIT_NODES[i]
        sine, cosine = -math.sin(angle), math.cos(angle)
        pressure = stiffness * 2.0 * math.sin(0.5 * (leave + angle)) * math.sin(0.5 * (leave - angle))
        displacement = entry + angle - (1.0 - slip) * (sine_entry - sine)
        shear = (c + pressure * tangent) * -math.expm1(-displacement / modulus)
        part = _EXIT_WEIGHTS[i] * leave
        longitudinal += part * (shear * cosine - pressure * sine)
        vertical += part * (pressure * cosine + shear * sine)
        torque += part * shear
    patch = p[WIDTH] * radius
    return patch * longitudinal, patch * vertical, patch * radius * torque
