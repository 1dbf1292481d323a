"""How the ground holds the wheels of a rover at rest or in steady drive: sinkage, and forces along the ground."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from models.contact.ground import SLOWEST, Ground
from models.contact.ruts import NOBODY
from models.kernels.compiled import FloatArray
from models.statics.pull import resultant_in_rut
from models.vehicle import VehicleModel
from models.wheel import rut
from models.wheel.kernels import RADIUS, SLIP_MODULUS
from models.wheel.traction import against_travel, slip_and_slide

# A wheel is not deeper than this share of its radius; where its load wants more, the ground does not bear it.
_DEEPEST = 0.9
# Wheels that roll without slip hold this many times their load.
_HELD = 100.0


class Grip(NamedTuple):
    """How the wheels hold on to the ground at a sinkage, arrays (wheels,).

    Attributes:
        normal: force [N] from contact to wheel centre.
        cosine: of its inclination against travel.
        sine: of it.
        limit: of the force along the ground [N].
    """

    normal: FloatArray
    cosine: FloatArray
    sine: FloatArray
    limit: FloatArray


class GroundUnderWheels:
    """The ground of a vehicle, whichever kind it is.

    Args:
        vehicle: of it: ground and wheels.
    """

    def __init__(self, vehicle: VehicleModel) -> None:
        self._vehicle, soil = vehicle, vehicle.ground
        wheels = vehicle.chain.wheel_body.size
        self._ahead = [NOBODY] * wheels if soil is None or soil.ruts is None else soil.ruts.ahead.tolist()

    def shear(
        self, forward: FloatArray, sideways: FloatArray, rim: float, limit: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Forces ahead and to the left [N] of wheels that share their limits in the direction of their slip.

        At rest the ground is sheared and does not slide: the same law, of the shear over that of the limit.
        """
        modulus = 1.0
        if rim == 0.0:
            slip, slide = -forward, -sideways
        elif self._vehicle.ground is not None:
            (slip, slide), modulus = slips(forward, sideways, rim), float(self._vehicle.ground.wheel[SLIP_MODULUS])
        else:
            slip, slide = rim - forward, -sideways
            modulus = self._vehicle.compliant.friction_speed if self._vehicle.compliant is not None else abs(rim)
        total = np.hypot(slip, slide)
        share = limit * np.tanh(total / modulus) / np.maximum(total, 1e-12)
        return share * slip, share * slide

    def sink(self, load: FloatArray, rim: float, forward: FloatArray, sideways: FloatArray) -> tuple[FloatArray, Grip]:
        """Sinkages (wheels,) under these loads [N], and the grip there."""
        soil, firm, rigid = self._vehicle.ground, self._vehicle.compliant, self._vehicle.rigid
        if soil is not None:
            return self._sink_in_soil(soil, load, rim, forward, sideways)
        level, upright = np.zeros(len(load)), np.ones(len(load))
        if firm is not None:
            sinkage = (load / firm.law.stiffness) ** (1.0 / firm.law.exponent)
            return sinkage, Grip(load, upright, level, firm.friction * load)
        # without slip the shares of the wheels are not determined; here they are as the loads
        held = load * _HELD if rigid is not None and rigid.per_wheel > 1 else level
        return level, Grip(load, upright, level, held)

    def _sink_in_soil(
        self, soil: Ground, load: FloatArray, rim: float, forward: FloatArray, sideways: FloatArray
    ) -> tuple[FloatArray, Grip]:
        """The same on soil, each wheel in the rut of those ahead."""
        p, rows = soil.wheel, []
        left: list[float] = []
        share, _ = self.shear(forward, sideways, rim, np.ones(len(load)))
        for wheel, ahead in enumerate(self._ahead):
            before = 0.0 if ahead == NOBODY or rim == 0.0 else left[ahead]  # at rest it has left none
            moving = float(forward[wheel]) if rim else 0.0

            def grip(sinkage: float) -> tuple[float, float, float, float]:
                normal, cosine, sine, limit = resultant_in_rut(p, sinkage, before)  # noqa: B023
                return (*against_travel(normal, cosine, sine, moving, soil.slip_speed), limit)  # noqa: B023

            def over(sinkage: float) -> float:
                normal, cosine, sine, limit = grip(sinkage)
                return normal * cosine + share[wheel] * limit * sine - load[wheel]  # noqa: B023

            sinkage, deepest = rut.ground(p, before), _DEEPEST * p[RADIUS]
            if over(deepest) <= 0.0:
                sinkage = deepest
            elif load[wheel] > 0.0:
                sinkage = float(brentq(over, sinkage, deepest, xtol=1e-9))
            rows.append((sinkage, *grip(sinkage)))
            left.append(max(before, sinkage))
        sinkage, *grips = np.array(rows).T
        return sinkage, Grip(*grips)


def slips(forward: FloatArray, sideways: FloatArray, rim: float) -> tuple[FloatArray, FloatArray]:
    """Slip and slide (wheels,) of wheels with this speed of the rims [m/s]."""
    both = np.array([slip_and_slide(u, v, rim, SLOWEST)[:2] for u, v in zip(forward, sideways, strict=True)])
    return both[:, 0], both[:, 1]
