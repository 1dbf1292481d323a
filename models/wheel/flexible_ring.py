"""The rim of a flexible wheel: a thin inextensible ring that bends, held by springs to a rigid hub.

Petersen 2012, 5.2, corrected as in docs/reproduce/petersen_flexible_wheel.md. Angles are measured at the hub from the
lowest point, positive ahead; places in the wheel's plane are complex, x ahead + i z up. A point of the rim lies at
c - i (R + w) e^(i phi) + v e^(i phi): c is the ring's offset from the hub, w its radial deflection, outwards, and v the
one along the rim. The ring does not stretch: v' = -w, to first order. The shapes are sines and cosines of k phi from
k = 2 on: k = 1 bends nothing (w'' + w = 0) and is the translation c once more.

Soil under a rim of any shape: pressure of its columns, shear, and the force on each coordinate of a flexible ring.

The columns of soil are those of the rigid wheel's `exact`: Petersen 2012 (5.28) in compression, (5.29) in relaxation.
Pressure acts at right angles to the deflected rim and shear along it, on b |dp/dphi| dphi of surface; (5.15) has the
pressure itself in place of a force per radian. A point that lies behind a deeper one relaxes from that depth. So in
print the sign of the sinkage rate decides, which in steady motion is the same and in a vibrating one releases the soil
ahead of the wheel.

Shape of a flexible wheel at rest in itself: F(q_f) = 0 with the hub's motion given, Petersen 2012 (5.41)-(5.43).

The shape stands in space while the rim runs along it, as in steady rolling; (5.43) with all rates zero is the same
balance. Many wheels are solved at once, by Newton's method with the exact derivatives of the load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray
from models.wheel.soil import Soil

ComplexArray = npt.NDArray[np.complex128]

BENDING_STIFFNESS = Range(1e-6, 1e12, "N m^2")
HUB_STIFFNESS = Range(1.0, 1e12, "N/m a radian")
MOST_MODES = 12
_MASS = Range(0.0, 1e3, "kg/m")


@dataclass(frozen=True, slots=True)
class Ring:
    """The ring of a flexible wheel.

    Attributes:
        bending_stiffness: EI of the rim's section [N m^2], 1e-6 to 1e12.
        hub_stiffness: K of the springs between hub and rim [N/m for each radian of the rim], the same in all directions
            of the wheel's plane, Petersen 2012 (5.5); 1 to 1e12. The ring as a whole is held with 2 pi K.
        modes: Largest k of the bending shapes sin(k phi), cos(k phi), which begin at 2; 2 to 12.
        mass_per_length: rho A of the rim [kg/m], 0 to 1e3; for the full dynamics alone.

    Raises:
        ValueError: A value is out of range; all wrong ones are named at once.
    """

    bending_stiffness: float
    hub_stiffness: float
    modes: int = 5
    mass_per_length: float = 0.0

    def __post_init__(self) -> None:
        whole = isinstance(self.modes, int) and not isinstance(self.modes, bool) and 2 <= self.modes <= MOST_MODES
        refuse(
            "Ring",
            [
                problem("bending_stiffness", self.bending_stiffness, BENDING_STIFFNESS),
                problem("hub_stiffness", self.hub_stiffness, HUB_STIFFNESS),
                None if whole else f"modes is {self.modes!r}, allowed: a whole number in [2, {MOST_MODES}]",
                problem("mass_per_length", self.mass_per_length, _MASS),
            ],
        )

    @property
    def wave_numbers(self) -> FloatArray:
        """Wave numbers k of the shapes, shape (modes - 1,)."""
        return np.arange(2.0, self.modes + 1.0)

    @property
    def coordinates(self) -> int:
        """How many coordinates a deflected shape has: two of the offset, a_k of the sines, b_k of the cosines."""
        return 2 * self.modes

    def stiffnesses(self, radius: float) -> FloatArray:
        """Stiffness of each coordinate, from the bending and spring energy of Petersen 2012 (5.5).

        2 pi K of the offset, pi (EI/R^3 (k^2 - 1)^2 + K (1 + 1/k^2)) of a shape: the springs see w and v, and v is w/k.

        Args:
            radius: R [m].

        Returns:
            Shape (coordinates,) [N/m].
        """
        square = self.wave_numbers**2
        bending = self.bending_stiffness / radius**3 * (square - 1.0) ** 2
        each = math.pi * (bending + self.hub_stiffness * (1.0 + 1.0 / square))
        return np.concatenate((np.full(2, 2.0 * math.pi * self.hub_stiffness), each, each))


def displacements(ring: Ring, angle: FloatArray) -> tuple[ComplexArray, ComplexArray]:
    """What each coordinate does to points of the rim.

    Args:
        ring: The ring.
        angle: phi of the points, from the lowest one [rad], shape (...).

    Returns:
        Displacement of each point for one unit of each coordinate [-], and its derivative over phi, both of shape
        (..., coordinates).
    """
    order, turn = ring.wave_numbers, np.exp(1j * angle)[..., None]
    phase = angle[..., None] * order
    sine, cosine = np.sin(phase), np.cos(phase)
    still = np.ones_like(turn)
    place = np.concatenate(
        (still, 1j * still, turn * (cosine / order - 1j * sine), turn * (-sine / order - 1j * cosine)), -1
    )
    # w' - v of the two shapes; along the rim nothing changes: v' + w = 0
    lean = order - 1.0 / order
    slope = np.concatenate((0.0 * still, 0.0 * still, -1j * lean * cosine * turn, 1j * lean * sine * turn), -1)
    return place, slope


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


def columns(soil: Soil, depth: FloatArray, before: FloatArray | float = 0.0) -> Columns:
    """Pressure of the soil's columns under a rim that has passed over them, Petersen 2012 (5.28), (5.29).

    Soil pressed before is loaded along the line on which it was relieved, as in `models.wheel.rut`.

    Args:
        soil: The soil.
        depth: Of the rim's points under the undisturbed ground [m], shape (n, points), from the front to the back.
        before: Depth to which earlier wheels have pressed the soil [m], a shape that broadcasts.
    """
    eta, gamma = soil.exponent, soil.rebound
    deepest = np.maximum.accumulate(np.maximum(depth, before), axis=1)
    loading = (depth >= deepest) & (depth > 0.0)
    at = np.maximum.accumulate(np.where(loading, np.arange(depth.shape[1]), 0), axis=1)
    deep = np.maximum(deepest, 1e-15)
    law = soil.stiffness * deep**eta
    left = (depth - (1.0 - gamma) * deep) / (gamma * deep)  # of the relaxation: 1 at the deepest point, 0 at the exit
    touching = (left > 0.0) & (deepest > 0.0)
    line = law / (gamma * deep)
    by_depth = np.where(touching, np.where(loading, eta * law / deep, line), 0.0)
    relaxing = touching & ~loading & (deepest > before)
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


POINTS = 128
# The rim is looked at over so many times the angle at which the undeflected circle meets the ground.
_MARGIN = 1.25
_MOST_STEPS = 60
_LARGEST_STEP = 0.02  # radii
_CONVERGED = 1e-9  # radii
# Steps that do not get smaller [radii], where the deepest point is between two points of the rim.
_BETWEEN_POINTS = 2e-5
_OUTER_STEPS = 12


class NoEquilibriumError(ValueError):
    """No shape of the ring balances the soil: the ring is too soft for the sinkage."""


class Rims(NamedTuple):
    """Wheels of one ring at given sinkages, and the points of their rims; arrays begin with the wheels, (n, ...).

    Attributes:
        ring, radius, width, soil: Of all of them; radius and width [m].
        sinkage: Of the hub: R less its height over the undisturbed ground [m], shape (n,).
        before: Depth to which earlier wheels have pressed the soil [m], shape (n,).
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
    before: FloatArray
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
        return (
            place,
            slope,
            columns(self.soil, (self.sinkage - self.radius)[:, None] - place.imag, self.before[:, None]),
        )


def rims(
    ring: Ring,
    radius: float,
    width: float,
    soil: Soil,
    sinkage: FloatArray,
    points: int = POINTS,
    before: FloatArray | None = None,
) -> Rims:
    """Wheels with the hub at the sinkages (n,) [m], each in (0, R) and below the rut's bottom; see `Rims`."""
    before = np.zeros_like(sinkage) if before is None else before
    entry = 2.0 * np.arcsin(np.sqrt(0.5 * (sinkage - (1.0 - soil.rebound) * before) / radius))
    angle = _MARGIN * entry[:, None] * np.linspace(1.0, -1.0, points)
    places, slopes = displacements(ring, angle)
    turn = radius * np.exp(1j * angle)
    surface = width * (angle[:, :1] - angle[:, 1:2])
    return Rims(ring, radius, width, soil, sinkage, before, angle, surface, places, slopes, -1j * turn, turn)


def balance(
    wheels: Rims, share: FloatArray, start: FloatArray | None = None, weight: float = 0.0, steps: int | None = None
) -> FloatArray:
    """The shape in which the ring's stiffness balances pressure and shear.

    Args:
        wheels: The wheels.
        share: Of the shear strength that is mobilised, -1 to 1, positive forward; broadcast to the points'.
        start: Coordinates to begin from [m], shape (n, coordinates); None: undeflected.
        weight: Of the ring [N].
        steps: How many at most, None: 60; after them a shape counts that is as exact as the points of the rim allow.

    Returns:
        Coordinates [m], shape (n, coordinates).

    Raises:
        NoEquilibriumError: None was found.
    """
    stiffness, largest = wheels.ring.stiffnesses(wheels.radius), _LARGEST_STEP * wheels.radius
    shape = np.zeros((wheels.sinkage.size, stiffness.size)) if start is None else start
    missing, slope = _imbalance(wheels, shape, share, stiffness, weight)
    for _ in range(steps or _MOST_STEPS):
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
    if size.max() < _BETWEEN_POINTS * wheels.radius:
        return shape
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


def balance_at_slip(wheels: Rims, slip: FloatArray, shear_modulus: float) -> tuple[FloatArray, FloatArray]:
    """The same with the shear of Janosi and Hanamoto at a slip, Petersen 2012 (5.30)-(5.33), corrected.

    Soil is sheared from where the rim meets it on, by what the rim has run ahead of it: the integral of the sliding
    speed along the rim over phi/omega, j = R (phi_1 - phi) - v/omega (x_1 - x).

    Args:
        wheels: The wheels.
        slip: 1 - v/(R omega) when driving, R omega/v - 1 when braking [-], above -1, shape (n,).
        shear_modulus: K_x [m].

    Returns:
        Coordinates [m], shape (n, coordinates), and the share of the shear strength at each point (n, points).

    Raises:
        NoEquilibriumError: None was found.
    """
    shape = np.zeros((slip.size, wheels.ring.coordinates))
    for _ in range(_OUTER_STEPS):  # shape and shear in turn: shear changes the shape little
        share, before = _share_at_slip(wheels, shape, slip, shear_modulus), shape
        shape = balance(wheels, share, shape)
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
