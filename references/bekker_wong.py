"""A rigid wheel by the classic integrals of Bekker, Reece, Wong, Janosi and Hanamoto: another law than `models.wheel`.

The radial stress is k (R (cos theta - cos theta_1))^n ahead of the angle of largest stress theta_m, and mirrors that
behind it, down to the exit angle (Wong and Reece 1967); shear stress grows with the displacement of the rim along the
contact (Janosi and Hanamoto 1961). The soil contact model of Chrono integrates the same pressure and shear laws over a
mesh of the ground. Written here from the equations of Petersen 2012, (4.2)-(4.5), and of Xu 2021, (24)-(27).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

# Gauss-Legendre on each side of theta_m; 40 nodes are within 1e-6 of 200.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


@dataclass(frozen=True)
class BekkerWong:
    """A wheel on a soil.

    Attributes:
        radius: R [m].
        width: b [m].
        stiffness: k [N/m^(n+2)].
        exponent: n [-].
        cohesion: c [Pa].
        friction_angle: phi [rad].
        shear_displacement: K_x [m].
        peak_offset, peak_slope: c_1, c_2 of theta_m = (c_1 + c_2 |slip|) theta_1; 0.4 and 0.15 are usual for sand.
        exit_share: theta_2 over theta_1; 0: contact ends at the lowest point.
        slip_exponent: n_1 of n + n_1 |slip|, by which a slipping wheel sinks further (Ding et al. 2010).
    """

    radius: float
    width: float
    stiffness: float
    exponent: float
    cohesion: float
    friction_angle: float
    shear_displacement: float
    peak_offset: float = 0.4
    peak_slope: float = 0.15
    exit_share: float = 0.0
    slip_exponent: float = 0.0

    def forces(self, sinkage: float, slip: float) -> tuple[float, float, float]:
        """Pull [N], vertical force [N] and torque [N m] at a sinkage [m] and a slip [-] of -1 (braked) to below 1."""
        entry = math.acos(1.0 - sinkage / self.radius)
        leave = -self.exit_share * entry
        peak = min(self.peak_offset + self.peak_slope * abs(slip), 0.99) * entry
        angles, weights = (
            np.concatenate(
                [0.5 * (high - low) * part + shift for low, high, shift in self._sides(leave, peak, entry, at)]
            )
            for part, at in ((_NODES, True), (_WEIGHTS, False))
        )
        front = np.where(angles >= peak, angles, entry - (angles - leave) / (peak - leave) * (entry - peak))
        depth = self.radius * (np.cos(front) - math.cos(entry))
        stress = self.stiffness * np.maximum(depth, 0.0) ** (self.exponent + self.slip_exponent * abs(slip))
        if slip >= 0.0:
            moved = self.radius * (entry - angles - (1.0 - slip) * (math.sin(entry) - np.sin(angles)))
        else:  # the rim turns by (1 + slip) of the distance
            moved = self.radius * ((1.0 + slip) * (entry - angles) - (math.sin(entry) - np.sin(angles)))
        shear = (self.cohesion + stress * math.tan(self.friction_angle)) * np.sign(moved)
        shear = shear * -np.expm1(-np.abs(moved) / self.shear_displacement)
        area = self.radius * self.width * weights
        pull = float(area @ (shear * np.cos(angles) - stress * np.sin(angles)))
        vertical = float(area @ (stress * np.cos(angles) + shear * np.sin(angles)))
        return pull, vertical, float(self.radius * (area @ shear))

    def under(self, load: float, slip: float) -> tuple[float, float, float]:
        """Pull [N], torque [N m] and sinkage [m] under a load [N]; a wheel that sinks to 0.95 R is given there."""
        deepest = 0.95 * self.radius
        if self.forces(deepest, slip)[1] < load:
            pull, _, torque = self.forces(deepest, slip)
            return pull, torque, deepest
        depth = float(brentq(lambda z: self.forces(z, slip)[1] - load, 1e-7, deepest, xtol=1e-10))
        pull, _, torque = self.forces(depth, slip)
        return pull, torque, depth

    @staticmethod
    def _sides(leave: float, peak: float, entry: float, at: bool) -> list[tuple[float, float, float]]:
        """Returns the ends of both halves, and their middles where places and not weights are asked for."""
        return [(low, high, 0.5 * (low + high) if at else 0.0) for low, high in ((leave, peak), (peak, entry))]
