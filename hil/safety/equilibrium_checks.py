"""Whether the rover of a config stands and drives on all its wheels, within what its models hold for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from scipy.optimize import brentq

from hil.config.rig import Rig
from hil.config.schema.rover import tree_on_rig
from hil.messages.fault import Check
from hil.safety.limits import Limit
from models.contact.ground import wheel_of
from models.kernels.compiled import FloatArray
from models.plant.put_down import standing_on_mesh
from models.rover.locks import hanging
from models.statics import NoSteadyStateError, RoverStatics, SteadyRover, tilt_of
from models.terrain.mesh_contacts import touches
from models.terrain.surface import surface
from models.validity import DEPTH, SINKAGE, VALIDITIES, Validity
from models.vehicle import VehicleModel
from models.vehicle.invariants import make_invariants
from models.wheel.kernels import RADIUS, normal_resultants
from models.wheel.packed import EXPONENT, FLEXIBLE, VARIANT

P = ParamSpec("P")
T = TypeVar("T")
# Results that are kept for each question, the newest.
_KEPT = 16
# What the nominal rover at rest and in a steady drive depends on.
_ASKED: dict[str, Any] = {
    **dict.fromkeys(
        ("experiment", "rover", "ground", "soil", "wheel", "slope", "drives", "cylinders"),
        True,
    ),
    "plant": {"substep_us"},
}


def kept_statics(compute: Callable[Concatenate[Rig, P], T]) -> Callable[Concatenate[Rig, P], T]:
    """The same function, whose newest results are kept: its callers share them, and do not change them.

    Further arguments count by their repr.
    """
    known: dict[str, T] = {}

    def kept(rig: Rig, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = f"{rig.config.model_dump_json(include=_ASKED)}{args!r}{kwargs!r}"
        result = known.pop(key) if key in known else compute(rig, *args, **kwargs)
        known[key] = result  # the newest last
        while len(known) > _KEPT:
            del known[next(iter(known))]
        return result

    kept.__doc__ = compute.__doc__
    return kept


class _PredictedState(NamedTuple):
    """One state of the nominal rover, in the models' units."""

    words: str  #: which one, for people
    why_not: str = ""  #: why there is none, then all else is 0; "": it exists
    wheel: str = ""  #: name of the wheel that bears least
    load: float = 0.0  #: of that wheel [N]
    joint: str = ""  #: name of the suspension joint nearest to a stop, or beyond it; "": none has stops
    angle: float = 0.0  #: of that joint [rad]
    stop: float = 0.0  #: the stop [rad]
    tilt: float = 0.0  #: of the main body to the horizontal [rad]
    clearance: float = 0.0  #: of the main body over the ground [m]; infinity: it has no size


def equilibrium_checks(rig: Rig, speeds_mps: Sequence[float] = (), *, steady: bool = False) -> list[Check]:
    """Wheels on the ground, joints within their stops, tilt and clearance of the main body, at rest and driving.

    The suspension joints are free, as before a controller acts on them. None without ground, and none of a rover whose
    loads do not follow from equilibrium.

    Args:
        rig: that is to be armed.
        speeds_mps: of the rims.
        steady: traction must suffice for these speeds; if not, only a wheel that lifts is refused.
    """
    states = _predicted(rig, tuple(speeds_mps), steady=steady)
    if not states:
        return []
    to_do = _to_do(rig)
    missing = [f"none {state.words}: {state.why_not}" for state in states if state.why_not]
    found = [state for state in states if not state.why_not]
    least = min(found, key=lambda state: state.load, default=states[0])
    load = f"{least.wheel.replace('_', ' ')} wheel {least.load:.0f} N {least.words}"
    checks = [Check("least wheel load", not missing, (missing or [load])[0], "every wheel on the ground", to_do)]
    if not found:
        return checks
    if found[0].joint:
        turned = min(found, key=lambda state: state.stop - state.angle)
        slides = turned.joint in rig.layout.slides
        at, stop = (1e3 * one if slides else math.degrees(one) for one in (turned.angle, turned.stop))
        unit = "mm" if slides else "deg"
        angle = f"{turned.joint.replace('_', ' ')} at {at:.1f} {unit} {turned.words}"
        key = rig.config.rover.key_of(f"{turned.joint.rsplit('_', 1)[-1]}_stop")  # bogie_stop of left_bogie
        within = f"up to its stop at {stop:g} {unit} ({key})"
        checks.append(Check("suspension joint", turned.angle <= turned.stop, angle, within, to_do))
    tilted = max(found, key=lambda state: state.tilt)
    tilt_deg, tilt = (
        math.degrees(tilted.tilt),
        Limit("tilt of the body", "deg", rig.limits.tilt_deg, "limits.tilt_deg", to_do),
    )
    checks.append(tilt.check(tilt_deg, f"{tilt_deg:.1f} deg {tilted.words}"))
    low = min(found, key=lambda state: state.clearance)
    if low.clearance < math.inf:
        raised = "lower the body's height in the section rover, or raise its centre of mass to where it is"
        height = Limit("body over the ground", "m", math.inf, "", raised, least=0.0, strict=True)
        checks.append(height.check(low.clearance, f"{low.clearance:.3f} m {low.words}"))
    return checks


@kept_statics
def _predicted(rig: Rig, speeds_mps: tuple[float, ...], *, steady: bool) -> Sequence[_PredictedState]:
    """The states at rest and at these speeds, with the drawbar; those without traction only where it must suffice."""
    if rig.config.ground.kind == "none":
        return ()
    rover, vehicle, _ = rig.nominal.held.assemble()
    try:
        RoverStatics(rover)
    except ValueError:  # its loads do not follow from equilibrium
        return ()
    states = []
    for speed_mps in (0.0, *speeds_mps):
        words = f"driving at {speed_mps:g} m/s" if speed_mps else "at rest"
        standing = SteadyRover(rover, vehicle, speed_mps, rig.nominal.drawbar.wrench())
        try:
            states.append(_judged(standing, words))
        except NoSteadyStateError as error:
            # rolling without slip leaves the tractions undetermined, so that not finding a drive there says nothing
            if (steady and vehicle.yields) or error.lifted or speed_mps == 0.0:
                states.append(_PredictedState(words, error.why))
    return tuple(states)


def _judged(standing: SteadyRover, words: str) -> _PredictedState:
    found = standing.at()
    wheel, q = int(found.load.argmin()), found.q
    rover, stops = standing.rover, standing.vehicle.stops
    angle = rover.tree_configuration(q)[stops.speed + 1]
    over = np.maximum(angle - stops.high, stops.low - angle)
    joint = int(over.argmax()) if over.size else -1
    return _PredictedState(
        words,
        "",
        standing.wheel_names[wheel],
        float(found.load[wheel]),
        rover.tree_joint_names[stops.speed[joint] - 6] if over.size else "",
        abs(float(angle[joint])) if over.size else 0.0,
        abs(float(stops.high[joint] if angle[joint] > 0.0 else stops.low[joint])) if over.size else math.inf,
        tilt_of(q),
        standing.clearance(q),
    )


def _to_do(rig: Rig) -> str:
    """What holds the rover: locks of joints that hang, or the keys that load it from the side or the back."""
    rover, ground = rig.config.rover, rig.config.ground
    if hung := hanging(tree_on_rig(rig.config.rover_parameters())).keys() - set(rig.config.driven):
        return f"lock {', '.join(sorted(hung))} (rover.locks): nothing holds them"
    lowered = [
        f"{key} ({value:g})"
        for key, value in (
            ("rover.drawbar.pull_N", rover.drawbar.pull_N),
            ("ground.roll_deg", ground.roll_deg),
            ("ground.pitch_deg", ground.pitch_deg),
            ("rover.payload.mass_kg", rover.payload.mass_kg),
        )
        if value
    ]
    if any(ground.wheel_height_m or ()):
        lowered.append("ground.wheel_height_m")
    return f"lower {' or '.join(lowered)}" if lowered else "check sizes and masses in the section rover"


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
    to_do = "give the ground a damping (soil.damping_spm, ground.damping_Nspm) with which the rover comes to rest"
    whole = Limit("sum of the twin's wheel loads at rest", "N", math.inf, f"the weight, {weight_N:.0f} N", to_do)
    return [whole.around(weight_N, share)._replace(shown=".0f").check(standing_N)]


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
    validity: Validity = VALIDITIES[DEPTH if ground is None else SINKAGE]
    rim, radii, keys = _RIM if flexible[worst] else "", depths_m[worst] / radii_m[worst], " or ".join(validity.keys)
    to_do = f"{rim}set {keys} to this ground; on ground as soft, no model of this program tells the loads"
    limit = Limit("sinkage at rest", "radii", validity.limit, keys, to_do)
    return [limit.check(radii, f"{depths_m[worst]:.3g} m, {radii:.2g} radii")]


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
