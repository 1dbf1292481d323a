"""Limits of the wheels' loads against the loads that the rover has to begin with; it needs the models."""

from __future__ import annotations

from hil.config.problems import Problem
from hil.config.rig import Rig
from hil.messages.load_limits import limit_errors
from models.statics import NoSteadyStateError, RoverStatics


def limit_problems(rig: Rig) -> list[Problem]:
    """Limits that exclude the loads at rest; none of a run that moves no loads: a limit is one of the controller."""
    if not rig.layout.controls_loads:
        return []
    try:
        RoverStatics(rig.nominal.held.assemble()[0])
    except ValueError as error:
        kind = rig.config.rover.type
        return [Problem("rover", f"type {kind}: {error}", "a rover whose wheel loads can be controlled")]
    if not rig.section.moves_loads:
        return []
    try:
        loads_N = rig.resting_loads_N
    except (ValueError, NoSteadyStateError):  # no ground; or arming says why it does not stand
        return []
    return [
        Problem(
            f"normal_force.{'most' if 'most_load_N' in sentence else 'least'}_load_N",
            sentence,
            "limits that include the loads at rest",
        )
        for sentence in limit_errors(rig.config.normal_force.load_limits, loads_N, rig.layout.wheels)
    ]
