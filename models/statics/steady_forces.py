"""Forces on a vehicle whose motion does not change any more: the equations of its steady states.

They are those of a step (models.vehicle.step) on soil or compliant ground, with the soil sheared as it is after a long
time, and the ruts as deep as the wheels ahead press them now. At rest that is a step from unsheared soil, so long that
the least speed shears it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.contact.compliant import CompliantGround, make_compliant_ground, push_compliant_ground
from models.contact.ground import Ground, look, push_ground, share_ahead
from models.contact.laws import make_law
from models.contact.ruts import NOBODY, Ruts, press, slip_by_speeds
from models.contact.wheel_slots import FORWARD, GroundContact
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace, fill_bias, place_bodies
from models.rover.factor import fold
from models.rover.points import body_position
from models.rover.queries import spread, spread_configuration
from models.rover.reduction import Chain
from models.terrain.surface import Terrain, clearance
from models.vehicle.model import VehicleModel, VehicleState
from models.wheel import flexible_rut
from models.wheel.packed import FLEXIBLE, SLIP_MODULUS, VARIANT
from models.wheel.shear_law import dug_by

# Soil is sheared for so long [s] that its traction is that of steady sliding (models.wheel.traction.shear_soil).
_LONG = 1e9
# Rigid ground is given as one that gives so far [m] under the weight, and whose wheels, if they roll on it without
# slip, hold so many times their load: their shares are those of a little slip.
_GIVE, _HELD = 1e-6, 100.0


class SteadyVehicle(NamedTuple):
    """A vehicle, its state, and its configuration (nq,) and velocity (nv,) over independent joints."""

    vehicle: VehicleModel
    state: VehicleState
    q: FloatArray
    v: FloatArray


def steady_ground(
    vehicle: VehicleModel, weight: float, speed: float
) -> tuple[Ground | None, CompliantGround | None, float]:
    """Soil or firm ground to take the forces of, and the speed that traction is a function of [m/s].

    Args:
        vehicle: on soil, firm, rigid or nonsmooth ground.
        weight: of it [N].
        speed: of its rims [m/s]; 0 is at rest.

    Raises:
        ValueError: no ground.
    """
    soil, compliant, rigid = vehicle.ground, vehicle.compliant, vehicle.rigid
    if soil is not None:
        if speed == 0.0 and soil.ruts is not None:  # where a rover is put down there are none yet
            soil = soil._replace(ruts=soil.ruts._replace(ahead=np.full_like(soil.ruts.ahead, NOBODY)))
        return soil, None, abs(speed) or soil.shear_displacement / _LONG
    if not vehicle.yields:
        held = rigid is None or rigid.per_wheel > 1
        law, friction = make_law("kelvin_voigt", weight / _GIVE, damping=0.0), _HELD if held else 0.0
        compliant = make_compliant_ground(law, friction, abs(speed) or 1.0)
    if compliant is None:
        raise ValueError("steady state of a rover: found no ground, allowed: soil, firm, rigid or nonsmooth ground")
    # friction that holds has the shares of a little slip; a wheel rolls on a circle through its grousers' tips
    return None, compliant._replace(bristles=None, grousers=None), abs(speed) or compliant.friction_speed


@kernel
def fill_forces(bound: BoundArguments[SteadyVehicle]) -> None:
    """Generalised forces (speeds,) in work.rhs, folded onto the independent joints, without drives and cylinders."""
    vehicle, state, q, v = unpack(bound)
    chain, work = vehicle.chain, state.work
    spread_configuration(chain, q, state.q)
    place_bodies(chain, state.q, work)
    spread(chain, v, state.v)
    fill_bias(chain, state.v, vehicle.gravity, work)
    for a in range(state.v.size):
        work.rhs[a] = state.torque[a] - work.rhs[a]
    for a in range(6):  # the base's speeds come first
        work.rhs[a] += state.pull[a]
    _push_soil(vehicle.ground, vehicle.terrain, chain, state)
    _push_compliant(vehicle.compliant, vehicle.terrain, chain, state)
    fold(chain, work.rhs)


@kernel
def _push_soil(ground: Ground | None, terrain: Terrain, chain: Chain, state: VehicleState) -> None:
    if ground is not None:
        _press_ruts(ground.ruts, ground, terrain, chain, state.q, state.ground, state.work)
        push_ground(chain, ground, terrain, state.q, _LONG, state.ground, state.work)


@kernel
def _push_compliant(compliant: CompliantGround | None, terrain: Terrain, chain: Chain, state: VehicleState) -> None:
    if compliant is not None:
        for wheel in range(chain.wheel_body.size):
            push_compliant_ground(chain, compliant, terrain, state.q, wheel, 0.0, state.ground, state.work)


@kernel
def _press_ruts(
    ruts: Ruts | None,
    ground: Ground,
    terrain: Terrain,
    chain: Chain,
    q: FloatArray,
    contact: GroundContact,
    work: Workspace,
) -> None:
    """Under each wheel the rut of those ahead on its track, as if they had always borne what they bear."""
    if ruts is not None:
        for wheel in range(chain.wheel_body.size):
            look(chain, terrain, q, wheel, contact, work)
        for wheel in range(chain.wheel_body.size):
            ahead, deepest, dug, wheels_ahead = ruts.ahead[wheel], 0.0, 0.0, 0
            while ahead != NOBODY:
                ahead, wheels_ahead = ruts.ahead[ahead], wheels_ahead + 1
            for steps in range(wheels_ahead, 0, -1):  # from the first wheel of the track on
                ahead = wheel
                for _ in range(steps):
                    ahead = ruts.ahead[ahead]
                over = clearance(terrain, body_position(q, work, chain.wheel_body[ahead]), ahead)
                sinkage = chain.wheel_radius[ahead] - over
                deepest = max(deepest, _pressed(ground.each, ground, ahead, sinkage, deepest, contact))
                slip = slip_by_speeds(ground.slip_speed, contact.scratch[ahead])
                dug = max(dug, dug_by(ground.wheel, slip, ground.wheel[SLIP_MODULUS]))
            x, y, _ = body_position(q, work, chain.wheel_body[wheel])
            press(ruts, wheel, x, y, deepest, dug)


@kernel
def _pressed(
    each: FloatArray | None, ground: Ground, wheel: int, sinkage: float, before: float, contact: GroundContact
) -> float:
    """Depth [m] to which a wheel presses the soil of a rut: its own sinkage, or of a flexible one that of its rim."""
    own = ground.wheel
    if each is not None:  # decided at compile time
        own = each[wheel]
    if own[VARIANT] != FLEXIBLE:
        return sinkage
    share = share_ahead(ground, contact.shear[wheel, 0], contact.scratch[wheel, FORWARD])
    _, _, _, _, pressed = flexible_rut.resultant(own, sinkage, before, share)
    return pressed
