"""Limits of the wheels' loads against the loads that the rover has to begin with; it needs the models."""

from __future__ import annotations

from hil.config.model_parameters import nominal_rig
from hil.config.problems import Problem
from hil.config.unchecked_config import UncheckedConfig
from hil.messages.loads import limit_errors
from models.plant import RigParameters
from models.statics import NoSteadyStateError, RoverStatics, SteadyRover


def resting_loads_N(nominal: RigParameters) -> tuple[float, ...]:
    """Wheel loads of the nominal rover at rest, joints free, before anything pulls it.

    Raises:
        ValueError: no ground.
        NoSteadyStateError: it does not stand there with all wheels on the ground.
    """
    rover, vehicle, _ = nominal.held.assemble()
    return tuple(SteadyRover(rover, vehicle, 0.0).at().load.tolist())


def limit_problems(config: UncheckedConfig) -> list[Problem]:
    """Limits that exclude the loads at rest; none of a run that moves no loads."""
    nominal = nominal_rig(config)
    try:
        RoverStatics(nominal.held.assemble()[0])
    except ValueError as error:
        kind = config.rover.type
        return [Problem("rover", f"type {kind}: {error}", "a rover whose wheel loads can be controlled")]
    if not config.section.moves_loads:
        return []
    try:
        loads_N = resting_loads_N(nominal)
    except (ValueError, NoSteadyStateError):  # no ground; or arming says why it does not stand
        return []
    return [
        Problem(
            f"normal_force.{'most' if 'most_load_N' in sentence else 'least'}_load_N",
            sentence,
            "limits that include the loads at rest",
        )
        for sentence in limit_errors(config.normal_force.load_limits, loads_N, config.layout.wheels)
    ]
