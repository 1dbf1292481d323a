"""The space arm as candidates of `hil bench models`: a sub-step with booms that bend, and with rigid ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from models.actuators.drive import Drive
from models.actuators.springs import make_springs
from models.kernels.bound import BoundArguments
from models.rover.space_arm import JOINTS, SpaceArm
from models.vehicle import Scene, VehicleModel, make_vehicle_state, run_bound

# Damping of the joints [N m s/rad], so that both arms have springs, and the speed at which they begin to turn [rad/s].
_BRAKE, _SPEED = 3e4, 0.01
_OFF = Drive(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def arm_steps(dt_s: float) -> dict[str, Callable[[int], object]]:
    """Rows `substep_arm` and `substep_arm_rigid`: so many steps of that length [s], each."""
    return {name: _arm(dt_s, rigid) for name, rigid in (("substep_arm", False), ("substep_arm_rigid", True))}


def _arm(dt_s: float, rigid: bool) -> Callable[[int], object]:
    rover = SpaceArm(joint_damping=_BRAKE).build(rigid=rigid)
    vehicle = VehicleModel(rover.chain, None, _OFF, None, np.zeros(3), springs=make_springs(rover))
    state = make_vehicle_state(rover)
    state.v[[6 + rover.tree_joint_names.index(name) for name in JOINTS]] = _SPEED
    scene = BoundArguments(Scene(vehicle, state))
    return lambda count: run_bound(scene, count, dt_s)
