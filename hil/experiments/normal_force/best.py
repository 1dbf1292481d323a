"""The best that statics allow: how evenly the cylinders of a rig could share the loads."""

from __future__ import annotations

import numpy as np

from hil.config import Config
from hil.config.cylinder_parameters import cylinder_forces
from hil.config.model_parameters import nominal_rig
from hil.experiments.normal_force.spread import FloatArray, best_loads
from models.actuators.cylinder_forces import reachable
from models.statics import RoverStatics, spread_of


def best_of(config: Config, load_N: FloatArray, torque_Nm: FloatArray) -> float:
    """The least spread that the rig's cylinders allow within their limits, by statics.

    The true loads hold all that the plant's own masses, soil, slope and drawbar do to them; a torque's influence on
    them follows from places alone.

    Args:
        config: of the rig.
        load_N: (wheels,) true.
        torque_Nm: (cylinders,) true, at the same time.
    """
    rover, _, _ = nominal_rig(config).assemble()
    statics = RoverStatics(rover)
    influence = statics.influence(rover.neutral())[:, statics.columns(config.layout.joints)]
    most_Nm = config.normal_force.torque_limit_Nm
    forces = cylinder_forces(config.cylinders, config.layout)
    low, high = np.transpose([reachable(forces, which, 0.0) for which in range(len(torque_Nm))])
    # so little that the solver has a range where a cylinder pushes one way only
    least = np.maximum(low, -most_Nm) - 1e-9
    found, _ = best_loads(load_N, torque_Nm, influence, least, np.minimum(high, most_Nm) + 1e-9)
    return float(spread_of(found))
