"""Shape of a flexible wheel at rest in itself: F(q_f) = 0 with the hub's motion given, Petersen 2012 (5.41)-(5.43).

The shape stands in space while the rim runs along it, as in steady rolling; (5.43) with all rates zero is the same
balance. Many wheels are solved at once, by Newton's method with the exact derivatives of the load.
"""

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray
from models.wheel.flexible_load import Columns, Resultants, columns, resultants, shear_share, shear_strength
from models.wheel.flexible_ring import ComplexArray, Ring, displacements
from models.wheel.soil import Soil

POINTS = 128
# The rim is looked at over so many times the angle at which the undeflected circle meets the ground.
_MARGIN = 1.25
_MOST_STEPS = 60
_LARGEST_STEP = 0.02  # radii
_CONVERGED = 1e-9  # radii
_OUTER_STEPS = 12


class NoEquilibriumError(ValueError):
    """No shape of the ring balances the soil: the ring is too soft for the sinkage."""


class Rims(NamedTuple):
    """Wheels of one ring at given sinkages, and the points of their rims; arrays begin with the wheels, (n, ...).

    Attributes:
        ring, radius, width, soil: Of all of them; radius and width [m].
        sinkage: Of the hub: R less its height over the undisturbed ground [m], shape (n,).
        angle: Of the points, front to back [rad], shape (n, points).
        surface: Width times the angle of one point [m], shape (n, 1).
        places, slopes: `displacements` of the points.
        place, slope: Of the undeflected rim [m], shape (n, points).
    """

    ring: Ring
    radius: float
    width: float
    soil: Soil
    sinkage: FloatArray
    angle: FloatArray
    surface: FloatArray
    places: ComplexArray
    slopes: ComplexArray
    place: ComplexArray
    slope: ComplexArray

    def at(self, shape: FloatArray) -> tuple[ComplexArray, ComplexArray, Columns]:
        """Places and slopes of the points with coordinates `shape` (n, coordinates) [m], and the soil under them."""
        place = self.place + (self.places @ shape[..., None])[..., 0]
        slope = self.slope + (self.slopes @ shape[..., None])[..., 0]
        return place, slope, columns(self.soil, (self.sinkage - self.radius)[:, None] - place.imag)


def rims(ring: Ring, radius: float, width: float, soil: Soil, sinkage: FloatArray, points: int = POINTS) -> Rims:
    """Wheels with the hub at the sinkages (n,) [m], each in (0, R); see `Rims`."""
    entry = 2.0 * np.arcsin(np.sqrt(0.5 * sinkage / radius))
    angle = _MARGIN * entry[:, None] * np.linspace(1.0, -1.0, points)
    places, slopes = displacements(ring, angle)
    turn = radius * np.exp(1j * angle)
    surface = width * (angle[:, :1] - angle[:, 1:2])
    return Rims(ring, radius, width, soil, sinkage, angle, surface, places, slopes, -1j * turn, turn)


def balance(wheels: Rims, share: FloatArray, start: FloatArray | None = None, weight: float = 0.0) -> FloatArray:
    """The shape in which the ring's stiffness balances pressure and shear.

    Args:
        wheels: The wheels.
        share: Of the shear strength that is mobilised, -1 to 1, positive forward; broadcast to the points'.
        start: Coordinates to begin from [m], shape (n, coordinates); None: undeflected.
        weight: Of the ring [N].

    Returns:
        Coordinates [m], shape (n, coordinates).

    Raises:
        NoEquilibriumError: None was found.
    """
    stiffness, largest = wheels.ring.stiffnesses(wheels.radius), _LARGEST_STEP * wheels.radius
    shape = np.zeros((wheels.sinkage.size, stiffness.size)) if start is None else start
    missing, slope = _imbalance(wheels, shape, share, stiffness, weight)
    for _ in range(_MOST_STEPS):
        step = np.linalg.solve(slope, -missing[..., None])[..., 0]
        size = np.abs(step).max(1)
        step *= np.minimum(1.0, largest / np.maximum(size, 1e-300))[:, None]
        if size.max() < _CONVERGED * wheels.radius:
            return shape
        error, length = (missing**2 / stiffness).sum(1), np.ones(len(shape))
        for _ in range(6):
            trial = shape + length[:, None] * step
            missing, slope = _imbalance(wheels, trial, share, stiffness, weight)
            worse = ((missing**2 / stiffness).sum(1) > error) & (size > _CONVERGED * wheels.radius)
            if not worse.any():
                break
            length[worse] *= 0.4
        shape = trial
    raise NoEquilibriumError(
        f"flexible wheel: no shape balances the soil at a hub sinkage of {float(wheels.sinkage[size.argmax()]):.3g} m "
        f"with bending stiffness {wheels.ring.bending_stiffness:g} N m^2 and hub stiffness "
        f"{wheels.ring.hub_stiffness:g} N/m a radian; take a stiffer ring or fewer modes"
    )


def _imbalance(
    wheels: Rims, shape: FloatArray, share: FloatArray, stiffness: FloatArray, weight: float
) -> tuple[FloatArray, FloatArray]:
    """Force of the ring less that of soil and weight (n, coordinates) [N], and its derivative over the coordinates."""
    _, slope, soil = wheels.at(shape)
    tangent = np.tan(wheels.soil.friction_angle) * share
    stress = 1j * soil.pressure + share * shear_strength(wheels.soil, soil.pressure)
    deeper = -wheels.places.imag
    made = np.take_along_axis(deeper, soil.deepest_at[..., None], 1)
    pressing = soil.by_depth[..., None] * deeper + soil.by_deepest[..., None] * made
    change = ((1j + tangent) * slope * wheels.surface)[..., None] * pressing
    change += (stress * wheels.surface)[..., None] * wheels.slopes
    moved = np.conj(wheels.places).transpose(0, 2, 1)
    load = (moved @ (stress * slope * wheels.surface)[..., None])[..., 0].real
    load[:, 1] -= weight
    return shape * stiffness - load, np.diag(stiffness) - (moved @ change).real


def balance_at_slip(
    wheels: Rims, slip: FloatArray, shear_modulus: float, start: FloatArray | None = None, weight: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """The same with the shear of Janosi and Hanamoto at a slip, Petersen 2012 (5.30)-(5.33), corrected.

    Soil is sheared from where the rim meets it on, by what the rim has run ahead of it: the integral of the sliding
    speed along the rim over phi/omega, j = R (phi_1 - phi) - v/omega (x_1 - x).

    Args:
        wheels: The wheels.
        slip: 1 - v/(R omega) when driving, R omega/v - 1 when braking [-], above -1, shape (n,).
        shear_modulus: K_x [m].
        start: As `balance` takes it.
        weight: As `balance` takes it.

    Returns:
        Coordinates [m], shape (n, coordinates), and the share of the shear strength at each point (n, points).

    Raises:
        NoEquilibriumError: None was found.
    """
    shape = np.zeros((slip.size, wheels.ring.coordinates)) if start is None else start
    for _ in range(_OUTER_STEPS):  # shape and shear in turn: shear changes the shape little
        share, before = _share_at_slip(wheels, shape, slip, shear_modulus), shape
        shape = balance(wheels, share, shape, weight)
        if np.abs(shape - before).max() < 1e-6 * wheels.radius:
            break
    return shape, share


def _share_at_slip(wheels: Rims, shape: FloatArray, slip: FloatArray, shear_modulus: float) -> FloatArray:
    place, _, soil = wheels.at(shape)
    ratio = np.where(slip >= 0.0, 1.0 - slip, 1.0 / (1.0 + np.minimum(slip, 0.0)))[:, None]  # v / (R omega)
    first = (soil.deepest > 0.0).argmax(1)[:, None]
    met_at, met = np.take_along_axis(wheels.angle, first, 1), np.take_along_axis(place.real, first, 1)
    return shear_share(wheels.radius * (met_at - wheels.angle) - ratio * (met - place.real), shear_modulus)


def resultants_of(wheels: Rims, shape: FloatArray, share: FloatArray) -> Resultants:
    """Resultants of a shape (n, coordinates) [m] with a share of the shear strength mobilised, as in `balance`."""
    place, slope, soil = wheels.at(shape)
    return resultants(place, slope, wheels.surface, soil, share * shear_strength(wheels.soil, soil.pressure))
