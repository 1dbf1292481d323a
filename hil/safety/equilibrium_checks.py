"""Whether the rover stands and drives on all its wheels: what statics predict of the nominal rover before it moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from hil.config.schema.rover import tree_on_rig
from hil.messages.check import Check
from models.rover.locks import hanging

if TYPE_CHECKING:
    from hil.config.rig import Rig
    from models.statics import SteadyRover


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
    most = rig.limits.tilt_deg
    tilt_deg = math.degrees(tilted.tilt)
    tilt = f"{tilt_deg:.1f} deg {tilted.words}"
    checks.append(Check("tilt of the body", tilt_deg <= most, tilt, f"at most {most:g} deg (limits.tilt_deg)", to_do))
    low = min(found, key=lambda state: state.clearance)
    if low.clearance < math.inf:
        height = f"{low.clearance:.3f} m {low.words}"
        raised = "lower the body's height in the section rover, or raise its centre of mass to where it is"
        checks.append(Check("body over the ground", low.clearance > 0.0, height, "above 0 m", raised))
    return checks


@kept_statics
def _predicted(rig: Rig, speeds_mps: tuple[float, ...], *, steady: bool) -> Sequence[_PredictedState]:
    """The states at rest and at these speeds, with the drawbar; those without traction only where it must suffice."""
    if rig.config.ground.kind == "none":
        return ()
    from models.statics import NoSteadyStateError, RoverStatics, SteadyRover  # imports kernels

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
    from models.statics import tilt_of

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
