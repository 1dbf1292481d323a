"""Loads of a rover's wheels in equilibrium, and their change with the torques of its suspension joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from models.kernels.compiled import FloatArray
from models.rover.rover import Rover
from models.statics.balance import Balance, fill_influence, make_balance

LEVEL = (0.0, 0.0, 1.0)


class RoverStatics:
    """Equilibrium of a rover whose wheels all stand on the ground, with given tractions.

    Attributes:
        joint_names: suspension joints, in the order of every vector by joint.

    Args:
        rover: with as many wheels as virtual motions (models.statics.balance): each joint that moves is balanced by
            one wheel more.

    Raises:
        ValueError: a rover whose wheels' loads do not follow from equilibrium, or are not independent.
    """

    def __init__(self, rover: Rover) -> None:
        self._rover = rover
        joint = suspension_joints(rover)
        self.joint_names = tuple(rover.tree_joint_names[k - 6] for k in joint)
        wheels = len(rover.wheel_names)
        if len(joint) + 3 != wheels:
            raise ValueError(
                f"rover {rover.tree.name} has {wheels} wheels and {len(joint)} suspension joints that turn "
                f"({', '.join(self.joint_names)}), needed: three joints fewer than wheels"
            )
        self.balance: Balance = make_balance(rover.chain, np.array(joint, dtype=np.int64))

    def columns(self, joints: Sequence[str]) -> list[int]:
        """Places of these joints in vectors by joint. Raises ValueError with those that this rover lacks."""
        unknown = [name for name in joints if name not in self.joint_names]
        if unknown:
            raise ValueError(
                f"joints {', '.join(unknown)} are not suspension joints of this rover, which has "
                f"{', '.join(self.joint_names)}"
            )
        return [self.joint_names.index(name) for name in joints]

    def influence(self, q: npt.ArrayLike, normal: npt.ArrayLike = LEVEL) -> FloatArray:
        """Change of each wheel's normal force with each joint's torque (wheels, joints) [N/(N m)], tractions constant.

        Args:
            q: configuration (nq,) of the rover.
            normal: of the ground, one (3,) or at each wheel (wheels, 3), unit vectors, world axes.
        """
        tree_q = self._place(q, normal)
        fill_influence(self.balance, tree_q)
        return self.balance.influence.copy()

    def _place(self, q: npt.ArrayLike, normal: npt.ArrayLike) -> FloatArray:
        """Configuration of all joints; notes the normals in base axes."""
        tree_q = self._rover.tree_configuration(q)
        self.balance.normal[:] = np.asarray(normal, dtype=np.float64) @ Rotation.from_quat(tree_q[3:7]).as_matrix()
        return tree_q


def suspension_joints(rover: Rover) -> list[int]:
    """Tree speeds of the independent joints that carry wheels and are none."""
    wheels = set(5 + rover.chain.wheel_body)
    return [int(k) for k in rover.chain.independent[6:] if k not in wheels]
