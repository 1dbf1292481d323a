"""Whether the rover of a config stands within what its models hold for; asked before a run is armed."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.optimize import brentq

from hil.config.rig import Rig
from hil.messages.check import Check
from hil.safety.equilibrium_checks import kept_statics
from models.contact.ground import wheel_of
from models.kernels.compiled import FloatArray
from models.plant.put_down import standing_on_mesh
from models.statics import NoSteadyStateError
from models.terrain.mesh_contacts import touches
from models.terrain.surface import surface
from models.validity import DEPTH, SINKAGE, VALIDITIES, Validity
from models.vehicle import VehicleModel
from models.vehicle.invariants import make_invariants
from models.wheel.kernels import RADIUS, normal_resultants
from models.wheel.packed import EXPONENT, FLEXIBLE, VARIANT

# The wheel-soil law is asked down to this sinkage, in radii; deeper, its power law is continued.
_DEEPEST = 0.8
# A flexible wheel's sinkage is its hub's, deflection included.
_RIM = "set wheel.ring.hub_stiffness_Npm and wheel.ring.bending_stiffness_Nm2 to these wheels; "
# Share by which the loads of a rover at rest may miss its weight: what is left after it has settled for 2 s.
_AT_REST = 0.05


@kept_statics
def validity_checks(rig: Rig) -> Sequence[Check]:
    """Sinkage of the wheel with the largest load; none without weight. Raises ValueError with what is out of range."""
    rover, vehicle, state = rig.nominal.assemble()
    weight_N = make_invariants(rover, vehicle, state).weight
    if weight_N <= 0.0:
        return ()
    radii_m = rig.config.wheel_radii_m
    try:
        loads_N = rig.resting_loads_N
    except NoSteadyStateError:  # the mean of a rover that does not stand on all its wheels
        loads_N = (weight_N / len(radii_m),) * len(radii_m)
    return _sinkage_checks(radii_m, vehicle, loads_N)


def rest_share(rig: Rig) -> float:
    """Share by which the loads of a rover at rest may miss its weight.

    On a scan the loads are not parallel, and wheels that stand may push against each other. With a load N on a slope t
    and a traction between -N tan t and N tan t, the ground bears N cos t (1 - tan^2 t) to N / cos t of the weight.
    """
    ground = rig.nominal.ground
    if ground.relief is None and ground.mesh is None:
        return _AT_REST
    rover, terrain = rig.nominal.make_rover(), ground.terrain
    places = rover.wheel_positions(rover.neutral())[:, :2].tolist()
    if ground.mesh is None:
        steepest = min(surface(terrain, x, y)[1][2] for x, y in places)  # cosine of the slope
    else:
        radii = rover.chain.wheel_radius.tolist()
        wheels = zip(places, radii, strict=True)
        centres = [(x, y, standing_on_mesh(ground.mesh, x, y, radius)) for (x, y), radius in wheels]
        steepest = max(min(one.normal[2] for one in touches(ground.mesh, centres, radii, 1e-3)), 0.1)
    return _AT_REST + 1.5 * (1.0 / steepest**2 - 1.0)


def rest_checks(standing_N: float, weight_N: float, share: float = _AT_REST) -> list[Check]:
    """Whether the rover twin has come to rest: the sum of its loads against its weight, both [N]; none without weight.

    The twin has settled already when it is made, so this is asked of it, and not of the config. `share` is that of
    `rest_share`.
    """
    if weight_N <= 0.0:
        return []
    missed = abs(standing_N - weight_N) / weight_N
    found, allowed = f"{standing_N:.0f} N", f"the weight, {weight_N:.0f} N, within {share:.0%}"
    to_do = "give the ground a damping (soil.damping_spm, ground.damping_Nspm) with which the rover comes to rest"
    return [Check("sum of the twin's wheel loads at rest", missed <= share, found, allowed, to_do)]


def _sinkage_checks(radii_m: Sequence[float], vehicle: VehicleModel, loads_N: Sequence[float]) -> list[Check]:
    """Of the wheel that sinks deepest for its radius."""
    ground, compliant = vehicle.ground, vehicle.compliant
    if ground is None and compliant is None:
        return []
    depths_m, flexible = [], []
    for number, load_N in enumerate(loads_N):
        if ground is not None:
            wheel = wheel_of(ground, number)
            depths_m.append(soil_sinkage_m(wheel, load_N))
            flexible.append(wheel[VARIANT] == FLEXIBLE)
        elif compliant is not None:
            depths_m.append((load_N / compliant.law.stiffness) ** (1.0 / compliant.law.exponent))
            flexible.append(False)
    worst = max(range(len(radii_m)), key=lambda number: depths_m[number] / radii_m[number])
    validity = VALIDITIES[DEPTH if ground is None else SINKAGE]
    return [_sinkage_check(validity, depths_m[worst], radii_m[worst], _RIM if flexible[worst] else "")]


def soil_sinkage_m(wheel: FloatArray, load_N: float) -> float:
    """Sinkage [m] of a wheel on soil under a load.

    Args:
        wheel: its parameters (`parameters` of models.wheel.RigidWheel or FlexibleWheel).
        load_N: on it. Soil too soft for it at 0.8 radii is continued by its power law, z^(n + 1/2).
    """
    deepest_m = _DEEPEST * float(wheel[RADIUS])
    carried_N = normal_resultants(wheel, deepest_m)[0]
    if load_N >= carried_N:
        return float(deepest_m * (load_N / carried_N) ** (1.0 / (float(wheel[EXPONENT]) + 0.5)))
    return float(brentq(lambda z: normal_resultants(wheel, z)[0] - load_N, 0.0, deepest_m, xtol=1e-12))


def _sinkage_check(validity: Validity, sinkage_m: float, radius_m: float, rim: str = "") -> Check:
    radii = sinkage_m / radius_m
    found = f"{sinkage_m:.3g} m, {radii:.2g} radii"
    keys = " or ".join(validity.keys)
    to_do = f"{rim}set {keys} to this ground; on ground as soft, no model of this program tells the loads"
    return Check("sinkage at rest", radii <= validity.limit, found, f"at most {validity.limit:g} radii ({keys})", to_do)
