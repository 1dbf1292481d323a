"""The steady drive of a rig, by its config: what statics say about its wheels' loads; it needs the models."""

from __future__ import annotations

import numpy as np

from hil.config.cylinder_parameters import cylinder_forces
from hil.config.rig import Rig
from models.actuators.linkage import reachable
from models.plant import RigParameters
from models.statics import Cost, SteadyRover, SteadyState, best_torques


def steady_drive(
    rig: Rig, parameters: RigParameters | None = None, heading: float = 0.0, *, held: bool = False
) -> SteadyRover:
    """A rig that drives steadily as its experiment sets it.

    Args:
        rig: of an experiment that drives over open ground.
        parameters: of the simulated rig; None: those of the nominal one.
        heading: [rad].
        held: whether it is held at the slip of its section's `held_at_slip`; where there is a winch, it always is.

    Raises:
        ValueError: the rig stands, or there is neither soil nor firm ground under it: on rigid ground slip, and with it
            the shares of the tractions, are not determined.
    """
    parameters = (parameters or rig.nominal).held
    rover, vehicle, _ = parameters.assemble()
    if not vehicle.yields or not rig.steady_speed_mps:
        raise ValueError("steady drive: found rigid ground, or speed 0; allowed: soil or firm ground, and a speed")
    speed_mps, pull, backwards = rig.steady_speed_mps, parameters.drawbar.wrench(), parameters.drawbar.backwards()
    winch = rig.section.winch
    slip = winch.slip if winch else rig.section.held_at_slip if held else None
    if slip is None:
        return SteadyRover(rover, vehicle, speed_mps, pull, heading=heading)
    return SteadyRover(rover, vehicle, speed_mps, pull, held=backwards, slip=slip, heading=heading)


def best_state(rig: Rig, drive: SteadyRover, cost: Cost) -> SteadyState:
    """The state with the least cost that the rig's cylinders can give, within the limits of torques and loads.

    Raises:
        NoSteadyStateError: there is no steady state without torques.
        RuntimeError: no optimum was found.
    """
    limits, layout = rig.config.normal_force.load_limits, rig.layout
    forces, most_Nm = cylinder_forces(rig.config.cylinders, layout), limits.torque_Nm
    low, high = np.transpose([reachable(forces, which, 0.0) for which in range(len(layout.cylinders))])
    # so little that the solver has a range where a cylinder pushes one way only
    low, high = np.maximum(low, -most_Nm) - 1e-9, np.minimum(high, most_Nm) + 1e-9
    return best_torques(cost, drive, layout.joints, low, high, (limits.least_load_N, limits.most_load_N))[1]
