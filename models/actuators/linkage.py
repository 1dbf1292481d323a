"""How a cylinder acts on its joint: arm, stroke, friction; torques that its supply allows, pressures that it needs.

The joint is the origin of a plane across its axis. Along points to the side that a positive joint angle lowers: ahead
for a side bogie, to starboard for the rear one. The upper pin is on a post of the body, the lower one in a clevis on
the bogie (MacMahon 2016, Fig. 6-1 b).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.actuators.stops import end_stop
from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, kernel

# Ends of the stroke, rubber bumpers: an assumption.
STOP_STIFFNESS = 5e5  # [N/m]
STOP_DAMPING = 2e3  # [N s/m]


class Linkage(NamedTuple):
    """Pins and friction of one cylinder; all of a rover are alike.

    Attributes:
        post: (2,) upper pin (along, up) [m].
        clevis: (2,) lower pin at joint angle 0 (along, up) [m].
        fixed_arm: constant arm [m] of a cylinder without pins, in mid-stroke at joint angle 0 and without ends of its
            stroke; 0: it has pins.
        retracted: from pin to pin with the cylinder retracted [m].
        stroke: [m].
        static: largest load that friction holds at rest [N]; 0: there is no friction.
        coulomb: friction when sliding [N], at most `static`.
        stribeck: speed [m/s] at which the first has fallen towards the second.
        viscous: friction over speed, in addition [N s/m].
        presliding: elastic travel before it slides [m].
    """

    post: FloatArray
    clevis: FloatArray
    fixed_arm: float
    retracted: float
    stroke: float
    static: float = 0.0
    coulomb: float = 0.0
    stribeck: float = 0.01
    viscous: float = 0.0
    presliding: float = 1e-4


def check_linkage(linkage: Linkage) -> None:
    """Raises ValueError with every number that is out of range."""
    above = Range(0.0, math.inf, "", open_low=True)
    allowed = dict.fromkeys(("retracted", "stroke", "stribeck", "presliding"), above)
    allowed["coulomb"] = Range(0.0, max(linkage.static, 0.0), "N")
    refuse(
        "linkage",
        [
            problem(name, value, allowed.get(name, Range(0.0, math.inf, "")))
            for name, value in linkage._asdict().items()
            if name not in ("post", "clevis")
        ],
    )


@kernel
def piston(linkage: Linkage, angle: float) -> tuple[float, float]:
    """How far a cylinder is extended [m], and its arm [m]: the derivative of that over the joint angle [rad]."""
    if linkage.fixed_arm > 0.0:
        return 0.5 * linkage.stroke + linkage.fixed_arm * angle, linkage.fixed_arm
    sine, cosine = np.sin(angle), np.cos(angle)
    along = linkage.clevis[0] * cosine + linkage.clevis[1] * sine
    up = linkage.clevis[1] * cosine - linkage.clevis[0] * sine
    length = np.sqrt((along - linkage.post[0]) ** 2 + (up - linkage.post[1]) ** 2)
    return length - linkage.retracted, (linkage.post[1] * along - linkage.post[0] * up) / length


@kernel
def rub(linkage: Linkage, bristle: FloatArray, which: int, rate: float, dt: float) -> tuple[float, float]:
    """Friction of one cylinder: force [N] along its extension at speed 0, and damping [N s/m].

    An elastic bristle (of the family of LuGre, Canudas de Wit 1995) whose deflection is cut off where its force reaches
    the friction of the present speed. Below that limit it is a spring, implicit in time: it holds for ever. The damping
    is at least what an implicit spring of this step needs, so that no step gains energy.

    Args:
        linkage: of the cylinder.
        bristle: (cylinders,) deflections [m]; advanced by this step.
        which: number of the cylinder.
        rate: speed of its extension [m/s].
        dt: step [s].
    """
    limit = linkage.coulomb + (linkage.static - linkage.coulomb) * np.exp(-((rate / linkage.stribeck) ** 2))
    stiffness = linkage.static / linkage.presliding
    most = limit / stiffness
    deflection = min(max(bristle[which] + rate * dt, -most), most)
    bristle[which] = deflection
    if abs(deflection + rate * dt) < most:
        return -stiffness * deflection, linkage.viscous + stiffness * dt
    return -stiffness * deflection, max(linkage.viscous, 0.5 * stiffness * dt)


@kernel
def stop(linkage: Linkage, extension: float, rate: float, dt: float) -> tuple[float, float]:
    """An end of the stroke: force [N] along the extension at speed 0, and damping [N s/m]; it pushes only."""
    if linkage.fixed_arm > 0.0:
        return 0.0, 0.0
    return end_stop(0.0, linkage.stroke, extension, rate, STOP_STIFFNESS, STOP_DAMPING, dt)


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
