"""Whether the rover stands and drives on all its wheels: what statics predict of the nominal rover before it moves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hil.config import Config
from hil.safety.arming import Check
from hil.safety.kept_statics import kept_statics

if TYPE_CHECKING:
    from models.statics import Equilibrium, StandingRover

# Experiments whose drive must be steady; the others measure traction at its limit, or end before it matters.
_STEADY = ("normal_force", "drive")


class Predicted(NamedTuple):
    """One state of the nominal rover, in the models' units.

    Attributes:
        words: which one, for people.
        settled: there is such an equilibrium.
        steady: the experiment needs it.
        wheel: name of the wheel that bears least.
        load: of that wheel [N].
        joint: name of the suspension joint nearest to a stop, or beyond it; "": none has stops.
        angle: of that joint [rad].
        stop: the stop [rad].
        tilt: of the main body to the horizontal [rad].
        clearance: of the main body over the ground [m]; infinity: it has no size.
    """

    words: str
    settled: bool
    steady: bool
    wheel: str
    load: float
    joint: str
    angle: float
    stop: float
    tilt: float
    clearance: float


def equilibrium_checks(config: Config) -> list[Check]:
    """Wheels on the ground, joints within their stops, tilt and clearance of the main body, at rest and driving.

    The suspension joints are free, as before a controller acts on them. None without ground, and none of a rover whose
    loads do not follow from equilibrium.
    """
    states = _predicted(config)
    if not states:
        return []
    to_do = _to_do(config)
    checks = []
    unsteady = next((state for state in states if state.steady and not state.settled), None)
    if any(state.steady for state in states):
        found = "one" if unsteady is None else f"none {unsteady.words}: the wheels lack traction"
        checks.append(Check("steady drive", unsteady is None, found, "an equilibrium", to_do))
    states = [state for state in states if state.settled]
    if not states:
        return checks
    light = min(states, key=lambda state: state.load)
    load = f"{light.wheel.replace('_', ' ')} wheel {light.load:.0f} N {light.words}"
    checks.append(Check("least wheel load", light.load > 0.0, load, "above 0 N: every wheel on the ground", to_do))
    if states[0].joint:
        turned = min(states, key=lambda state: state.stop - state.angle)
        angle = f"{turned.joint.replace('_', ' ')} at {math.degrees(turned.angle):.1f} deg {turned.words}"
        within = f"up to its stop at {math.degrees(turned.stop):g} deg ({_stop_key(config, turned.joint)})"
        checks.append(Check("suspension joint", turned.angle <= turned.stop, angle, within, to_do))
    tilted = max(states, key=lambda state: state.tilt)
    most = config.limits.tilt_deg
    tilt_deg = math.degrees(tilted.tilt)
    tilt = f"{tilt_deg:.1f} deg {tilted.words}"
    checks.append(Check("tilt of the body", tilt_deg <= most, tilt, f"at most {most:g} deg (limits.tilt_deg)", to_do))
    low = min(states, key=lambda state: state.clearance)
    if low.clearance < math.inf:
        height = f"{low.clearance:.3f} m {low.words}"
        raised = "lower the body's height in the section rover, or raise its centre of mass to where it is"
        checks.append(Check("body over the ground", low.clearance > 0.0, height, "above 0 m", raised))
    return checks


@kept_statics
def _predicted(config: Config) -> Sequence[Predicted]:
    """The states of a config."""
    return tuple(_states(config))


def _states(config: Config) -> Iterator[Predicted]:
    """At rest with the drawbar, and at each steady speed."""
    if config.ground.kind == "none":
        return
    from hil.config.model_parameters import nominal_rig  # imports kernels, which not every command needs
    from models.statics import StandingRover

    parameters = nominal_rig(config)
    rover, vehicle, _ = parameters.assemble()
    try:
        standing = StandingRover(rover, vehicle)
    except ValueError:  # its loads do not follow from equilibrium
        return
    pull = parameters.drawbar.wrench()
    steady = config.experiment in _STEADY
    yield _judged(standing, standing.at_rest(pull), "at rest", steady=False)
    for speed_mps in _speeds_mps(config):
        yield _judged(standing, standing.driving(speed_mps, pull), f"driving at {speed_mps:g} m/s", steady=steady)


def _speeds_mps(config: Config) -> list[float]:
    """Speeds of the rims in a steady, straight drive; none where a winch sets the pull."""
    if config.experiment == "drive":
        straight = [step.speed_mps for step in config.drive.steps if step.turn_mps == 0.0]
        speeds = {max(straight, default=0.0), min(straight, default=0.0)}
    else:
        speed_mps = {
            "impact": config.trial.speed_mps,
            "normal_force": config.normal_force.speed_mps,
            "slope": config.slope.speed_mps,
        }
        speeds = {speed_mps.get(config.experiment, 0.0)}
    return sorted(speeds - {0.0})


def _judged(standing: StandingRover, found: Equilibrium, words: str, *, steady: bool) -> Predicted:
    from models.statics import tilt_of

    wheel = int(found.load.argmin())
    rover, q = standing.rover, found.q
    stops = standing.vehicle.stops
    angle = rover.tree_configuration(q)[stops.speed + 1]
    over = np.maximum(angle - stops.high, stops.low - angle)
    joint = int(over.argmax()) if over.size else -1
    return Predicted(
        words,
        found.settled,
        steady,
        rover.wheel_names[wheel],
        float(found.load[wheel]),
        rover.tree_joint_names[stops.speed[joint] - 6] if over.size else "",
        abs(float(angle[joint])) if over.size else 0.0,
        abs(float(stops.high[joint] if angle[joint] > 0.0 else stops.low[joint])) if over.size else math.inf,
        tilt_of(q),
        standing.clearance(q),
    )


def _stop_key(config: Config, joint: str) -> str:
    section = "rover" if config.rover.type in ("rcp", "parametric") else f"rover.{config.rover.type}"
    return f"{section}.{joint.rsplit('_', 1)[-1]}_stop_deg"


def _to_do(config: Config) -> str:
    """The keys that load the rover from the side or the back, as far as they do."""
    rover, ground = config.rover, config.ground
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
