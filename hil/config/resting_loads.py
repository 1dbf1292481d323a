"""Limits of the wheels' loads against the loads that the rover has to begin with; it needs the models."""

from __future__ import annotations

import numpy as np

from hil.config import Config, Problem
from hil.config.model_parameters import nominal_rig
from hil.config.schema.normal_force import NormalForceConfig
from hil.messages.load_limits import LoadLimits, limit_errors
from models.statics import NoSteadyStateError, RoverStatics, SteadyRover


def load_limits(normal_force: NormalForceConfig) -> LoadLimits:
    """Limits of loads and torques, in the models' units."""
    wanted = normal_force
    most_N = np.inf if wanted.most_load_N is None else wanted.most_load_N
    return LoadLimits(wanted.torque_limit_Nm, wanted.torque_slew_Nmps, wanted.least_load_N, most_N)


def resting_loads(config: Config) -> list[float]:
    """Wheel loads [N] of the nominal rover at rest, joints free, before anything pulls it.

    Raises:
        ValueError: no ground.
        NoSteadyStateError: it does not stand there with all wheels on the ground.
    """
    rover, vehicle, _ = nominal_rig(config).assemble()
    return [float(load_N) for load_N in SteadyRover(rover, vehicle, 0.0).at().load]


def limit_problems(config: Config) -> list[Problem]:
    """Limits that exclude the loads at rest; none of a run that moves no loads: a limit is one of the controller."""
    if not config.layout.controls_loads:
        return []
    try:
        RoverStatics(nominal_rig(config).assemble()[0])
    except ValueError as error:
        return [Problem("rover", f"type {config.rover.type}: {error}", "a rover whose wheel loads can be controlled")]
    if not config.section.moves_loads:
        return []
    try:
        loads_N = resting_loads(config)
    except (ValueError, NoSteadyStateError):  # no ground; or arming says why it does not stand
        return []
    return [
        Problem(
            f"normal_force.{'most' if 'most_load_N' in sentence else 'least'}_load_N",
            sentence,
            "limits that include the loads at rest",
        )
        for sentence in limit_errors(load_limits(config.normal_force), loads_N, config.layout.wheels)
    ]
