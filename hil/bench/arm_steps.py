"""The space arm as candidates of `hil bench models`: a sub-step with booms that bend, and with rigid ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.kernels.bound import BoundArguments
from models.plant import RigParameters
from models.rover.capture_arm import CaptureArmParameters
from models.rover.space_arm import JOINTS
from models.rover.tree import Tree
from models.vehicle import Scene, run_bound

ARM = "sim_capture"
_SPEED = 0.01  # at which the joints begin to turn [rad/s]; their servos bring them back
_BENDING = ("_bend", "_shape", "_slope")


@dataclass(frozen=True)
class _RigidArm(CaptureArmParameters):
    """The same arm, whose booms do not bend."""

    def tree(self) -> Tree:
        """Without the bending, what follows from it stands still too."""
        tree = super().tree()
        joints = tuple(replace(one, locked_at=0.0) if one.name.endswith(_BENDING) else one for one in tree.joints)
        return replace(tree, joints=joints, couplings=())


def arm_steps(dt_s: float) -> dict[str, Callable[[int], object]]:
    """Rows `substep_arm` and `substep_arm_rigid`: so many steps of that length [s], payload and latch included."""
    rig = nominal_rig(load_config(ARM))
    return {"substep_arm": _steps(rig, dt_s), "substep_arm_rigid": _steps(replace(rig, rover=_RigidArm()), dt_s)}


def _steps(rig: RigParameters, dt_s: float) -> Callable[[int], object]:
    rover, vehicle, state = rig.build()
    state.v[[6 + rover.tree_joint_names.index(name) for name in JOINTS]] = _SPEED
    scene = BoundArguments(Scene(vehicle, state))
    return lambda count: run_bound(scene, count, dt_s)
