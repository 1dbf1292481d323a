"""Pull and torque of a rover's wheels on a soil that is searched, by the closed forms of models.wheel."""

from __future__ import annotations

import math
from typing import NamedTuple

from models.kernels.compiled import FloatArray, kernel
from models.wheel.kernels import resultant
from models.wheel.packed import (
    BOTH,
    COMPACTION,
    EXPONENT,
    HALF_FORCE,
    HYPERVOLUME_SCALE,
    LINEAR,
    RADIUS,
    REBOUND,
    SLIP_MODULUS,
    STIFFNESS,
    N,
)
from models.wheel.shear_law import share_of_limit
from models.wheel.traction import against_travel

# Rounds in which a sinkage is found, and the relative change that ends them.
_ROUNDS, _ENOUGH = 40, 1e-11
# Largest sinkage over the radius.
_DEEPEST = 0.95


class SoilWheels(NamedTuple):
    """Wheels on the soil that is searched.

    Attributes:
        wheel: packed parameters of the variant `exact`; its soil is changed by `set_soil`.
        front: (N,) of its polynomial, the part of the front half.
        slip_speed: below which compaction resistance fades [m/s].
        load: (wheels,) normal forces [N].
        slip: (wheels,) measured.
        depth: (wheels,) sinkages found last [m], where the next search begins.
        found: (2,) sum of the forward forces [N], and of the torques at the axles [N m].
    """

    wheel: FloatArray
    front: FloatArray
    slip_speed: float
    load: FloatArray
    slip: FloatArray
    depth: FloatArray
    found: FloatArray


@kernel
def set_soil(wheels: SoilWheels, stiffness: float, rebound: float, slip_modulus: float) -> None:
    """Put a soil under the wheels: what `models.wheel.packed.pack` computes of these three, for `exact`."""
    p = wheels.wheel
    p[STIFFNESS], p[REBOUND], p[SLIP_MODULUS] = stiffness, rebound, slip_modulus
    p[HALF_FORCE] = 0.5 * stiffness * p[HYPERVOLUME_SCALE]
    p[COMPACTION] = max(0.0, 2.0 / (p[EXPONENT] + 1.0) - rebound)
    part = math.sqrt(rebound)
    for i in range(N):
        p[BOTH + i] = wheels.front[i] + p[LINEAR + i] * part
        part *= rebound


@kernel
def drive(wheels: SoilWheels, forward: float, heavier: float) -> None:
    """Find the sum of the forward forces and that of the torques, at the measured slips.

    Args:
        wheels: on their soil.
        forward: speed of the rover [m/s].
        heavier: factor on all loads.
    """
    p, least = wheels.wheel, 1e-3 * wheels.wheel[RADIUS]
    power = 1.0 / (p[EXPONENT] + 0.5)  # the force is nearly this root's power of the depth
    ahead = torque = 0.0
    for wheel in range(wheels.load.size):
        load = heavier * wheels.load[wheel]
        if not load > 0.0:  # off the ground
            continue
        share = share_of_limit(p, wheels.slip[wheel])
        depth, traction, along = max(wheels.depth[wheel], least), 0.0, 0.0
        for _ in range(_ROUNDS):
            normal, cosine, sine, limit = resultant(p, depth)
            normal, cosine, sine = against_travel(normal, cosine, sine, forward, wheels.slip_speed)
            traction = limit * share
            along = traction * cosine - normal * sine
            borne = normal * cosine + traction * sine
            factor = math.pow(load / borne, power) if borne > 0.0 else 2.0
            depth = min(depth * factor, _DEEPEST * p[RADIUS])
            if abs(factor - 1.0) < _ENOUGH:
                break
        wheels.depth[wheel] = depth
        ahead += along
        torque += p[RADIUS] * traction
    wheels.found[0], wheels.found[1] = ahead, torque
