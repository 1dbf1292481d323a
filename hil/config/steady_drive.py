"""The steady drive of a rig, by its config: what statics say about its wheels' loads; it needs the models."""

from __future__ import annotations

import numpy as np

from hil.config import Config
from hil.config.cylinder_parameters import cylinder_forces
from hil.config.resting_loads import load_limits
from hil.config.schema.equipment import DrivesConfig
from hil.config.schema.experiment_section import ExperimentSection
from models.actuators.cylinder_forces import reachable
from models.plant import RigParameters
from models.statics import Cost, SteadyRover, SteadyState, best_torques


def steady_drive(config: Config, rig: RigParameters, heading: float = 0.0, *, held: bool = False) -> SteadyRover:
    """A rig that drives steadily as its experiment sets it.

    Args:
        config: of an experiment that drives over open ground.
        rig: its nominal parameters, or those of the simulated one.
        heading: [rad].
        held: whether it is held at the slip of its section's `held_at_slip`; where there is a winch, it always is.

    Raises:
        ValueError: the rig stands, or there is neither soil nor firm ground under it: on rigid ground slip, and with it
            the shares of the tractions, are not determined.
    """
    rover, vehicle, _ = rig.assemble()
    if vehicle.rigid is not None or not steady_speed_mps(config.wheel_radius_m, config.section, config.drives):
        raise ValueError("steady drive: found rigid ground, or speed 0; allowed: soil or firm ground, and a speed")
    speed_mps, pull, backwards = (
        steady_speed_mps(config.wheel_radius_m, config.section, config.drives),
        rig.drawbar.wrench(),
        rig.drawbar.backwards(),
    )
    winch = config.section.winch
    slip = winch.slip if winch else config.section.held_at_slip if held else None
    if slip is None:
        return SteadyRover(rover, vehicle, speed_mps, pull, heading=heading)
    return SteadyRover(rover, vehicle, speed_mps, pull, held=backwards, slip=slip, heading=heading)


def steady_speed_mps(wheel_radius_m: float, section: ExperimentSection, drives: DrivesConfig) -> float:
    """Speed of the rims; by duty that of motors without load."""
    if (duty := section.throttle_duty) is not None:
        return duty * drives.motor.no_load_radps * wheel_radius_m
    return section.rim_speed_mps or 0.0


def best_state(config: Config, drive: SteadyRover, cost: Cost) -> SteadyState:
    """The state with the least cost that the rig's cylinders can give, within the limits of torques and loads.

    Raises:
        NoSteadyStateError: there is no steady state without torques.
        RuntimeError: no optimum was found.
    """
    most_Nm, forces = config.normal_force.torque_limit_Nm, cylinder_forces(config.cylinders, config.layout)
    low, high = np.transpose([reachable(forces, which, 0.0) for which in range(len(config.layout.cylinders))])
    # so little that the solver has a range where a cylinder pushes one way only
    low, high = np.maximum(low, -most_Nm) - 1e-9, np.minimum(high, most_Nm) + 1e-9
    limits = load_limits(config.normal_force)
    loads = (limits.least_load_N, limits.most_load_N)
    return best_torques(cost, drive, config.layout.joints, low, high, loads)[1]
