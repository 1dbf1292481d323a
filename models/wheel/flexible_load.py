"""Soil under a rim of any shape: pressure of its columns, shear, and the force on each coordinate of a flexible ring.

The columns of soil are those of the rigid wheel's `exact`: Petersen 2012 (5.28) in compression, (5.29) in relaxation.
Pressure acts at right angles to the deflected rim and shear along it, on b |dp/dphi| dphi of surface; (5.15) has the
pressure itself in place of a force per radian. A point that lies behind a deeper one relaxes from that depth. So in
print the sign of the sinkage rate decides, which in steady motion is the same and in a vibrating one releases the soil
ahead of the wheel.
"""

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray
from models.wheel.flexible_ring import ComplexArray
from models.wheel.soil import Soil


class Columns(NamedTuple):
    """Soil under points of a rim, each array of shape (n, points), from the front to the back.

    Attributes:
        pressure: [Pa].
        by_depth: Its derivative over the depth of the same column [Pa/m].
        by_deepest: Its derivative over the largest depth that the column has had [Pa/m].
        deepest: That depth [m].
        deepest_at: Index of the point that made it.
    """

    pressure: FloatArray
    by_depth: FloatArray
    by_deepest: FloatArray
    deepest: FloatArray
    deepest_at: np.ndarray


def columns(soil: Soil, depth: FloatArray) -> Columns:
    """Pressure of the soil's columns under a rim that has passed over them, Petersen 2012 (5.28), (5.29).

    Args:
        soil: The soil.
        depth: Of the rim's points under the undisturbed ground [m], shape (n, points), from the front to the back.
    """
    eta, gamma = soil.exponent, soil.rebound
    deepest = np.maximum.accumulate(np.maximum(depth, 0.0), axis=1)
    loading = (depth >= deepest) & (depth > 0.0)
    at = np.maximum.accumulate(np.where(loading, np.arange(depth.shape[1]), 0), axis=1)
    deep = np.maximum(deepest, 1e-15)
    law = soil.stiffness * deep**eta
    left = (depth - (1.0 - gamma) * deep) / (gamma * deep)  # of the relaxation: 1 at the deepest point, 0 at the exit
    touching = (left > 0.0) & (deepest > 0.0)
    line = law / (gamma * deep)
    by_depth = np.where(touching, np.where(loading, eta * law / deep, line), 0.0)
    relaxing = touching & ~loading
    by_deepest = np.where(relaxing, line * ((eta - 1.0) * (depth / deep - 1.0 + gamma) - (1.0 - gamma)), 0.0)
    return Columns(np.where(touching, law * np.minimum(left, 1.0), 0.0), by_depth, by_deepest, deepest, at)


def shear_share(displacement: FloatArray, modulus: float) -> FloatArray:
    """Share of the shear strength that is mobilised, Janosi and Hanamoto, Petersen 2012 (5.30).

    Args:
        displacement: j of the soil against the direction of the force [m], any shape.
        modulus: K_x [m].
    """
    share: FloatArray = np.copysign(-np.expm1(-np.abs(displacement) / modulus), displacement)
    return share


def shear_strength(soil: Soil, pressure: FloatArray) -> FloatArray:
    """Mohr and Coulomb, (5.31) [Pa]; 0 where nothing touches. (5.30) multiplies it by the pressure once more."""
    return np.where(pressure > 0.0, soil.cohesion + pressure * np.tan(soil.friction_angle), 0.0)


class Resultants(NamedTuple):
    """What the soil does to a wheel, each of shape (n,).

    Attributes:
        vertical, resistance: Resultants of the pressure [N]: up, and against forward motion.
        area: Of the contact [m^2].
        longitudinal, upward: Force with shear, ahead and up [N].
        torque: Moment about the hub [N m], positive where it resists forward spin.
        deepest: Largest depth of the rim in the soil [m].
    """

    vertical: FloatArray
    resistance: FloatArray
    area: FloatArray
    longitudinal: FloatArray
    upward: FloatArray
    torque: FloatArray
    deepest: FloatArray


def resultants(
    place: ComplexArray, slope: ComplexArray, surface: FloatArray, soil: Columns, shear: FloatArray
) -> Resultants:
    """Sums pressure and shear over the rim.

    Args:
        place: Points of the rim about the hub [m], shape (n, points).
        slope: Derivative of the place over the angle [m].
        surface: Width times the angle of each point [m], a shape that broadcasts.
        soil: Under these points.
        shear: Shear stress along the rim, positive forward at the lowest point [Pa].
    """
    normal, along = soil.pressure * surface * 1j * slope, shear * surface * slope
    force = normal + along
    pressed, whole = normal.sum(1), force.sum(1)
    return Resultants(
        pressed.imag,
        -pressed.real,
        (np.where(soil.pressure > 0.0, np.abs(slope), 0.0) * surface).sum(1),
        whole.real,
        whole.imag,
        (force * np.conj(1j * place)).real.sum(1),
        soil.deepest[:, -1],
    )
