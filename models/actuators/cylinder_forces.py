"""What cylinders can do, and what they need: torques that their supply allows, and pressures that give a torque."""

from __future__ import annotations

from typing import NamedTuple

from models.actuators.linkage import Linkage, piston
from models.kernels.compiled import FloatArray, kernel

# An arm shorter than this [m] counts as this: near a dead point no pressure gives a torque.
LEAST_ARM = 1e-3


class CylinderForces(NamedTuple):
    """The cylinders of a rover.

    Attributes:
        linkage: of each; all are alike.
        extend_area: (cylinders,) on which the extending pressure acts [m^2].
        retract_area: (cylinders,) on which the retracting one does.
        extend_force: (cylinders,) largest [N]; 0 where no valve pushes that way.
        retract_force: (cylinders,) likewise.
    """

    linkage: Linkage
    extend_area: FloatArray
    retract_area: FloatArray
    extend_force: FloatArray
    retract_force: FloatArray


@kernel
def reachable(forces: CylinderForces, which: int, angle: float) -> tuple[float, float]:
    """Least and largest torque [N m] of a cylinder at an angle [rad] of its joint, with the full supply."""
    _, arm = piston(forces.linkage, angle)
    one, other = -forces.retract_force[which] * arm, forces.extend_force[which] * arm
    return min(one, other), max(one, other)


@kernel
def fill_pressures(forces: CylinderForces, torque: FloatArray, angle: FloatArray, out: FloatArray) -> None:
    """Gauge pressures that give these torques: out [Pa] by (extend, retract) of each cylinder, one of the two 0.

    Args:
        forces: of the cylinders.
        torque: (cylinders,) on the joints [N m], positive pressing the front down.
        angle: (cylinders,) of the joints [rad].
        out: (2 cylinders,).
    """
    for which in range(torque.size):
        _, arm = piston(forces.linkage, angle[which])
        force = torque[which] / (arm if abs(arm) > LEAST_ARM else LEAST_ARM)
        out[2 * which] = max(force, 0.0) / forces.extend_area[which]
        out[2 * which + 1] = max(-force, 0.0) / forces.retract_area[which]
