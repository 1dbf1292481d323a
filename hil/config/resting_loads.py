"""Limits of the wheels' loads against the loads that the rover has to begin with; it needs the models."""

from __future__ import annotations

import numpy as np

from hil.config import Config, Problem
from hil.config.model_parameters import nominal_rig
from hil.messages.load_limits import LoadLimits, limit_errors
from models.plant.parameters import GRAVITY
from models.statics import RoverStatics
from models.statics.statics import traction_wrenches
from models.terrain.surface import quaternion_of


def load_limits(config: Config) -> LoadLimits:
    """Limits of loads and torques, in the models' units."""
    wanted = config.normal_force
    most_N = np.inf if wanted.most_load_N is None else wanted.most_load_N
    return LoadLimits(wanted.torque_limit_Nm, wanted.torque_slew_Nmps, wanted.least_load_N, most_N)


def resting_loads(config: Config) -> list[float]:
    """Wheel loads [N] of the nominal rover at rest, joints free; what holds it on a slope is shared evenly.

    Raises:
        ValueError: a rover whose loads do not follow from equilibrium.
    """
    rover, vehicle, _ = nominal_rig(config).assemble()
    statics, q = RoverStatics(rover), rover.neutral()
    free = np.zeros(len(statics.joint_names))
    if vehicle.terrain is None:
        return list(statics.loads(q, free, gravity=GRAVITY))
    ahead, left, normal = (np.array(axis) for axis in vehicle.terrain[:3])
    q[3:7] = quaternion_of(vehicle.terrain)
    weight_N = rover.mass_matrix(q)[0, 0] * np.array(GRAVITY) / len(rover.wheel_names)
    # held by its locked axles: a force at the contact has a moment about the axle, as a drive's has
    pull_N, radius_m = -(weight_N @ ahead), rover.chain.wheel_radius
    wrenches = traction_wrenches(rover, normal, pull_N, radius_m * pull_N, -(weight_N @ left), list(ahead))
    return list(statics.loads(q, free, normal=normal, gravity=GRAVITY, wrenches=wrenches))


def limit_problems(config: Config) -> list[Problem]:
    """Limits that exclude the loads at rest; none of a run that moves no loads: a limit is one of the controller."""
    if not config.layout.controls_loads:
        return []
    try:
        loads_N = resting_loads(config)
    except ValueError as error:
        return [Problem("rover", f"type {config.rover.type}: {error}", "a rover whose wheel loads can be controlled")]
    if not config.moves_loads:
        return []
    return [
        Problem(
            f"normal_force.{'most' if 'most_load_N' in sentence else 'least'}_load_N",
            sentence,
            "limits that include the loads at rest",
        )
        for sentence in limit_errors(load_limits(config), loads_N, config.layout.wheels)
    ]
