"""From torques of the cylinders to pressures of their chambers, and which torques the supply allows."""

from __future__ import annotations

from collections.abc import Sequence

from models.actuators.linkage import Linkage, piston
from models.actuators.pneumatic import Cylinder

# An arm shorter than this [m] counts as this: near a dead point no pressure gives a torque.
_LEAST_ARM_M = 1e-3


class CylinderForces:
    """The nominal cylinders, all alike: arm over the joint's angle, areas of both chambers.

    Args:
        cylinder: of the rig.
        linkage: its pins; None: it has a constant arm.
        ways: in which the valves push: extend, retract.
    """

    def __init__(self, cylinder: Cylinder, linkage: Linkage | None, ways: Sequence[str]) -> None:
        self._linkage, self._arm_m = linkage, cylinder.lever
        self._extend_m2, self._retract_m2 = cylinder.area, cylinder.area * cylinder.rod_share
        self._extend_N = cylinder.supply * self._extend_m2 * ("extend" in ways)
        self._retract_N = cylinder.supply * self._retract_m2 * ("retract" in ways)

    def reach_Nm(self, angle_rad: Sequence[float]) -> tuple[list[float], list[float]]:
        """Least and largest torque (cylinders,) at these joint angles (cylinders,), with the full supply."""
        ends = [(-self._retract_N * arm, self._extend_N * arm) for arm in map(self._arm, angle_rad)]
        return [min(pair) for pair in ends], [max(pair) for pair in ends]

    def pressures_Pa(self, torque_Nm: Sequence[float], angle_rad: Sequence[float]) -> tuple[float, ...]:
        """Gauge pressures (chambers,) by (extend, retract) of each cylinder, one of the two 0.

        Args:
            torque_Nm: (cylinders,) on the joints, positive pressing the front down.
            angle_rad: (cylinders,) of the joints.
        """
        pressures: list[float] = []
        for torque, angle in zip(torque_Nm, angle_rad, strict=True):
            arm = self._arm(angle)
            force = torque / (arm if abs(arm) > _LEAST_ARM_M else _LEAST_ARM_M)
            pressures += (max(force, 0.0) / self._extend_m2, max(-force, 0.0) / self._retract_m2)
        return tuple(pressures)

    def _arm(self, angle_rad: float) -> float:
        if self._linkage is None:
            return self._arm_m
        _, arm = piston(self._linkage, angle_rad)
        return arm
