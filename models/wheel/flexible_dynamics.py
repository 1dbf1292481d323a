"""The full flexible wheel in the plane: hub, ring and bending shapes in motion, Petersen 2012 (5.1)-(5.40), corrected.

Slow and readable, for single wheels; a rover runs on the tabled shape (`models.wheel.flexible_table`). Shapes turn with
the wheel: a point psi of the rim stands at phi = psi - theta, theta positive forward. Coordinates are x, z of the hub,
theta, the ring's offset c, then a_k and b_k. With v' = -w the kinetic energy of the ring's mass rho A is, without that
of its middle, pi rho A R / 2 of ((1 + 1/k^2) (a'^2 + b'^2 + omega^2 (a^2 + b^2)) - 4 omega (a' b - b' a)/k).
"""

import math
from typing import NamedTuple

import numpy as np

from models.gravity import GRAVITY_MPS2
from models.kernels.compiled import FloatArray
from models.wheel.flexible_ring import Ring, columns, displacements, shear_share, shear_strength
from models.wheel.soil import Soil

POINTS = 720
# Only points within this angle of the lowest one are looked at [rad].
_LOOKED_AT = 1.2
X, Z, TURN, OFFSET, SHAPES = 0, 1, 2, 3, 5


class MovingWheel(NamedTuple):
    """A wheel and what holds it; the numbers of a scaled one have no unit.

    Attributes:
        radius, width: [m].
        soil: The soil, with a shear modulus.
        ring: The ring, with its mass per length.
        hub_mass: M [kg].
        hub_inertia: J [kg m^2].
        damping: C_f of (5.27), share of the pressure for each m/s of sinking [s/m].
        gravity: [m/s^2].
    """

    radius: float
    width: float
    soil: Soil
    ring: Ring
    hub_mass: float
    hub_inertia: float
    damping: float
    gravity: float = GRAVITY_MPS2


class _Scales(NamedTuple):
    """Units of the scaled equations, Petersen 2012 (5.34)-(5.40), (5.35) corrected: length, time, force."""

    length: float
    time: float
    force: float


class Motion(NamedTuple):
    """A run, each of shape (steps, ...).

    Attributes:
        coordinates: x, z, theta, offset, a_k, b_k; (steps, 5 + 2 (modes - 1)).
        pull, vertical: Force of the soil ahead and up [N].
        torque: Of the soil about the ring's middle, positive where it resists forward spin [N m].
        soil_sinkage: Of the rim's deepest point [m].
    """

    coordinates: FloatArray
    pull: FloatArray
    vertical: FloatArray
    torque: FloatArray
    soil_sinkage: FloatArray


def scaled(wheel: MovingWheel) -> tuple[MovingWheel, _Scales]:
    """The wheel in units of R, T* = sqrt(rho A R^3 / alpha) and alpha/R, alpha = EI/R.

    (5.40) prints K_r R^2 / alpha, which is right for exponent 1 and a force per radian; for a pressure and any exponent
    the soil's stiffness scales with R^(n + 3) / alpha and the width with 1/R. A flexural rigidity and a mass per length
    of 1 are left.

    Returns:
        The wheel without units, and the units.
    """
    length, ring, soil = wheel.radius, wheel.ring, wheel.soil
    alpha = ring.bending_stiffness / length
    time, force = math.sqrt(ring.mass_per_length * length**3 / alpha), alpha / length
    mass = ring.mass_per_length * length
    assert soil.shear_modulus is not None
    return (
        MovingWheel(
            1.0,
            wheel.width / length,
            Soil(
                soil.stiffness * length ** (soil.exponent + 2.0) / force,
                soil.exponent,
                cohesion=soil.cohesion * length**2 / force,
                friction_angle=soil.friction_angle,
                rebound=soil.rebound,
                slip_modulus=soil.slip_modulus,
                shear_modulus=soil.shear_modulus / length,
            ),
            Ring(1.0, ring.hub_stiffness * length / force, ring.modes, 1.0),
            wheel.hub_mass / mass,
            wheel.hub_inertia / (mass * length**2),
            wheel.damping * length / time,
            wheel.gravity * time**2 / length,
        ),
        _Scales(length, time, force),
    )


class FlexibleDynamics:
    """Equations of motion (5.7)-(5.13) of one wheel and their integration.

    Args:
        wheel: The wheel.
        points: Of the rim, evenly spaced.
    """

    def __init__(self, wheel: MovingWheel, points: int = POINTS) -> None:
        if wheel.soil.shear_modulus is None:
            raise ValueError("FlexibleDynamics: soil.shear_modulus is None, allowed: a length in m")
        if wheel.ring.mass_per_length <= 0.0:
            raise ValueError("FlexibleDynamics: ring.mass_per_length is 0, allowed: a positive number of kg/m")
        self.wheel, order = wheel, wheel.ring.wave_numbers
        self.q, self.v = np.zeros((2, SHAPES + 2 * order.size))
        self.q[Z] = wheel.radius
        self._points = 2.0 * np.pi * np.arange(points) / points
        self._sheared = np.zeros(points)
        # of points that have not turned; turned they are the same, times e^(-i theta)
        places, slopes = displacements(wheel.ring, self._points)
        self._places, self._slopes = places[:, 2:], slopes[:, 2:]
        self._order, self._stiffness = order, wheel.ring.stiffnesses(wheel.radius)
        self._masses = self._constant_masses()

    def _constant_masses(self) -> FloatArray:
        """Mass matrix of the undeflected wheel."""
        wheel, shapes = self.wheel, self._order.size
        whole = 2.0 * np.pi * wheel.ring.mass_per_length * wheel.radius
        own = 0.5 * whole * (1.0 + 1.0 / self._order**2)
        masses = np.diag(np.concatenate((np.zeros(SHAPES), own, own)))
        for hub, ring in ((X, OFFSET), (Z, OFFSET + 1)):
            masses[hub, hub] = wheel.hub_mass + whole
            masses[hub, ring] = masses[ring, hub] = masses[ring, ring] = whole
        masses[TURN, TURN] = wheel.hub_inertia + whole * wheel.radius**2
        assert masses.shape == (SHAPES + 2 * shapes,) * 2
        return masses

    def _shapes(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        return values[SHAPES : SHAPES + self._order.size], values[SHAPES + self._order.size :]

    def _masses_and_bias(self) -> tuple[FloatArray, FloatArray]:
        """M(q), and what stands on its side of M q'' + bias = Q: inertia that goes with speeds, springs, weight."""
        wheel, masses = self.wheel, self._masses.copy()
        each = np.pi * wheel.ring.mass_per_length * wheel.radius
        (a, b), (a_rate, b_rate), spin = self._shapes(self.q), self._shapes(self.v), self.v[TURN]
        order, own = self._order, each * (1.0 + 1.0 / self._order**2)
        masses[TURN, TURN] += own @ (a**2 + b**2)
        crossing = 2.0 * each / order
        masses[TURN, SHAPES:] = masses[SHAPES:, TURN] = np.concatenate((-crossing * b, crossing * a))
        bias = np.zeros(self.q.size)
        bias[Z] = wheel.gravity * (wheel.hub_mass + 2.0 * each)
        bias[OFFSET + 1] = wheel.gravity * 2.0 * each
        bias[TURN] = 2.0 * spin * own @ (a * a_rate + b * b_rate)
        along = np.concatenate(
            (-2.0 * crossing * spin * b_rate - own * spin**2 * a, 2.0 * crossing * spin * a_rate - own * spin**2 * b)
        )
        bias[SHAPES:] = along
        bias[OFFSET:] += self._stiffness * self.q[OFFSET:]
        return masses, bias

    def energy(self) -> float:
        """Kinetic and potential energy (5.4), (5.5) [J], the soil left out."""
        masses, _ = self._masses_and_bias()
        wheel, deflection = self.wheel, self.q[OFFSET:]
        ring = 2.0 * np.pi * wheel.ring.mass_per_length * wheel.radius
        high = wheel.hub_mass * self.q[Z] + ring * (self.q[Z] + self.q[OFFSET + 1])
        return float(0.5 * self.v @ masses @ self.v + 0.5 * self._stiffness @ deflection**2 + wheel.gravity * high)

    def _soil(self, dt: float) -> tuple[FloatArray, float]:
        """Generalised forces (5.18)-(5.24) of the soil, and the largest depth; the soil's shear goes on by dt."""
        wheel, q, v, spin = self.wheel, self.q, self.v, self.v[TURN]
        angle = np.mod(self._points - q[TURN] + np.pi, 2.0 * np.pi) - np.pi
        near = np.flatnonzero(np.abs(angle) < _LOOKED_AT)
        near = near[np.argsort(-angle[near])]  # from the front to the back, as the columns' memory needs them
        turn, back = np.exp(1j * angle[near]), np.exp(-1j * q[TURN])
        places, slopes = back * self._places[near], back * self._slopes[near]
        about = -1j * wheel.radius * turn + places @ q[SHAPES:]
        slope = wheel.radius * turn + slopes @ q[SHAPES:]
        speed = v[X] + 1j * v[Z] + v[OFFSET] + 1j * v[OFFSET + 1] + places @ v[SHAPES:] - 1j * spin * about
        depth = -(q[Z] + q[OFFSET + 1] + about.imag)
        soil = columns(wheel.soil, depth[None, :])
        pressure = soil.pressure[0] * np.maximum(1.0 - wheel.damping * speed.imag, 0.0)
        sliding = -(speed * np.conj(slope)).real / np.abs(slope)
        sheared = np.where(pressure > 0.0, self._sheared[near] + dt * sliding, 0.0)
        self._sheared[:] = 0.0
        self._sheared[near] = sheared
        assert wheel.soil.shear_modulus is not None
        shear = shear_share(sheared, wheel.soil.shear_modulus) * shear_strength(wheel.soil, pressure)
        force = (1j * pressure + shear) * slope * (wheel.width * 2.0 * np.pi / self._points.size)
        total = force.sum()
        out = np.zeros(q.size)
        out[X] = out[OFFSET] = total.real
        out[Z] = out[OFFSET + 1] = total.imag
        out[TURN] = (force * np.conj(-1j * about)).real.sum()
        out[SHAPES:] = (np.conj(places) * force[:, None]).real.sum(0)
        return out, float(soil.deepest[0, -1])

    def run(
        self, seconds: float, dt: float, hub: tuple[float, float, float], driven: tuple[int, ...] = (X, TURN)
    ) -> Motion:
        """Integrates by the symplectic Euler method.

        Args:
            seconds: Length of the run [s].
            dt: Step [s]; stable below 2 over the largest natural frequency.
            hub: F_hX, F_hZ [N] and T_h [N m] on the hub, ahead, up, and positive where it spins forward.
            driven: Coordinates that keep their speed: of a single-wheel bed the hub's place and the wheel's turn.
        """
        steps = round(seconds / dt)
        coordinates, rest = np.empty((steps, self.q.size)), np.empty((steps, 4))
        free = np.setdiff1d(np.arange(self.q.size), driven)
        for step in range(steps):
            soil, deepest = self._soil(dt)
            masses, bias = self._masses_and_bias()
            load = soil - bias
            load[:3] += hub
            self.v[free] += dt * np.linalg.solve(masses[np.ix_(free, free)], load[free])
            self.q += dt * self.v
            coordinates[step] = self.q
            rest[step] = soil[X], soil[Z], -soil[TURN], deepest
        return Motion(coordinates, *rest.T)
