"""The exact wheel by compiled quadrature of its pressure, to check and time the closed forms against: the same law.

The pressure is that of Tire III, Petersen 2012 (4.26); the tangential force is the share of its limit, (4.30). The
contact is split at its lowest point, where the pressure has a kink, into an entry and an exit half, each with its own
Gauss-Legendre rule. In the entry half theta = theta_1 (1 - s^3) takes the branch point of depth^eta to the end of a
smooth function; the exit half is smooth as it is.
"""

import math

import numpy as np
from numpy.polynomial.legendre import leggauss

from models.kernels.compiled import FloatArray, kernel
from models.wheel.kernels import shear_limit
from models.wheel.packed import EXPONENT, RADIUS, REBOUND, STIFFNESS, WIDTH
from models.wheel.shear_law import share_of_limit

GRADING = 3


def _rule(nodes: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre on (0, 1)."""
    x, w = leggauss(nodes)
    return np.asarray(0.5 * (x + 1.0)), np.asarray(0.5 * w)


_NODES, _WEIGHTS = _rule(11)  # one node fewer misses 1e-8
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
    """Forces of a wheel: `kernels.wheel_forces` of the variant `exact`, by quadrature.

    Args:
        p: Packed parameters of the variant "exact", shape (packed.SIZE,).
        z: Sinkage [m], at most the radius.
        slip: 1 - v_x/(R omega) when driving [-]; negative when braking.

    Returns:
        F_x [N] forward, F_z [N] upwards, torque [N m] where it resists forward spin; 0 for z <= 0.
    """
    if z <= 0.0:
        return 0.0, 0.0, 0.0
    relative = z / p[RADIUS]
    entry = 2.0 * math.asin(math.sqrt(0.5 * relative))
    leave = 2.0 * math.asin(math.sqrt(0.5 * p[REBOUND] * relative))
    vertical, against = front(p, entry, entry)
    stiffness = p[STIFFNESS] * math.pow(z, p[EXPONENT] - 1.0) / p[REBOUND] * p[RADIUS] * p[RADIUS] * p[WIDTH]
    for i in range(_EXIT_NODES.size):
        angle = leave * _EXIT_NODES[i]
        pressure = stiffness * 2.0 * math.sin(0.5 * (leave + angle)) * math.sin(0.5 * (leave - angle))
        part = _EXIT_WEIGHTS[i] * leave * pressure
        vertical += part * math.cos(angle)
        against -= part * math.sin(angle)
    against = max(0.0, against)  # as `kernels.normal_resultants` clamps it
    normal = math.hypot(vertical, against)
    tangential = shear_limit(p, z, normal) * share_of_limit(p, slip)
    cosine, sine = vertical / normal, against / normal
    return tangential * cosine - normal * sine, normal * cosine + tangential * sine, p[RADIUS] * tangential
