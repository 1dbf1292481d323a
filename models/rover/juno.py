"""The Juno rover of Petersen 2012, 6.1: four wheels on two rockers that a transverse rocker couples.

Quoted: 317.7 kg in all, four wheels of 9.6 kg and 22 in across their lugs, track about 1.2 m, wheelbase about 0.85 m,
one motor per side that drives both its wheels by a 1:1 chain, and an actuator on the transverse rocker that tilts the
chassis. Everything else is an assumption of this project: tyre width, pivots, centres of mass, all other masses.

The transverse rocker and its two rods, ten bodies in the thesis, are lumped: for small angles they turn the right
rocker against the chassis by the left one's angle, in the opposite direction. The tilt actuator adds an offset to both.
Here the rockers' angles are measured on a frame that stays level between them, on which the chassis is tilted, so that
the offset is the angle of a lock, and a rover at joint angles zero stands on its four wheels at any tilt.

Mobility: the thesis counts 13 = 6 of the base, 4 wheel spins, 1 of the suspension and 2 of rods that spin about
themselves, without the chains that it describes. See `juno`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.rover.assembly import (
    LATERAL,
    LENGTHWISE,
    STOP,
    Parameters,
    TreeBuilder,
    box,
    cylinder_along_x,
    geometry_error,
    on_side,
)
from models.rover.rover import Rover
from models.rover.tree import Body, Coupling, Tree

WHEELS = ("front_left", "front_right", "rear_left", "rear_right")


@dataclass(frozen=True)
class JunoParameters(Parameters):
    """Sizes and masses [m, kg, rad]; 317.7 kg in all.

    Attributes:
        wheel_mass: quoted.
        rocker_mass: of each main rocker with its motor, gear and chain.
        frame_mass: of the transverse rocker and other parts that do not tilt with the chassis.
        rod_mass: of each of the two rods, at the rear.
        chassis_mass: the rest of the quoted total.
        wheelbase: quoted.
        track: quoted; between wheel centres.
        pivot_height: of the rockers' pivots over ground.
        chassis_height: of the chassis' centre of mass over ground, above the pivots.
        wheel_radius: quoted, lugs included.
        wheel_width: of a tyre.
        chassis_length, chassis_width, chassis_depth: of the chassis, a box for its inertia.
        tilt_angle: of the chassis against the frame between the rockers, positive nose up.
        rocker_stop: angle of the rockers at which they meet their stops, to either side of level.
        chains: whether a chain ties the wheels of a side.
    """

    wheel_mass: float = 9.6
    rocker_mass: float = 45.0
    frame_mass: float = 12.0
    rod_mass: float = 1.0
    chassis_mass: float = 175.3
    wheelbase: float = 0.85
    track: float = 1.2
    pivot_height: float = 0.35
    chassis_height: float = 0.45
    wheel_radius: float = 0.2794
    wheel_width: float = 0.25
    chassis_length: float = 1.0
    chassis_width: float = 0.7
    chassis_depth: float = 0.35
    tilt_angle: float = 0.0
    rocker_stop: float = STOP
    chains: bool = True

    rover = "juno"

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels, or pivots without clearance."""
        diameter = 2.0 * self.wheel_radius
        wrong = geometry_error("wheelbase", self.wheelbase, diameter, "wheels of one side meet")
        wrong += geometry_error("track", self.track, self.wheel_width, "wheels of both sides meet")
        return wrong + geometry_error(
            "chassis_height", self.chassis_height, self.pivot_height, "it lies below the pivots"
        )


def juno(*, locks: Mapping[str, float | None] | None = None, chains: bool = True, **parameters: float) -> Rover:
    """Juno, its chassis tilted at `tilt_angle`: 9 speeds (6 base, left rocker, a pair of wheels on either side).

    The right rocker's angle is minus the left one's; a side's rear wheel follows its front wheel, which has the motor.
    `chains=False` gives four independent wheels, 11 speeds; `locks={"spin": None}` frees the rods, two more: with both
    there are the 13 of the thesis. `locks={"tilt": None}` frees the tilt actuator: a joint for a torque.

    The base frame lies on the ground under the frame; the wheels of `neutral()` touch z = 0.

    Args:
        locks: see `models.rover.rcp`.
        chains: see above.
        **parameters: any other field of `JunoParameters`.

    Raises:
        ValueError: a parameter out of range, an impossible geometry, or a lock of an unknown or coupled joint.
        TypeError: an unknown parameter.
    """
    return Rover(juno_tree(JunoParameters(chains=chains, **parameters)).with_locks(locks or {}))


def juno_tree(p: JunoParameters) -> Tree:
    """All 10 bodies and 9 joints, tilt and rods locked, the rockers coupled and, with chains, the wheels of a side."""
    pivot = (0.0, 0.0, p.pivot_height)
    # the transverse rocker is a bar across the rear of the chassis
    frame = box(p.frame_mass, (0.10, p.chassis_width, 0.10))
    builder = TreeBuilder(p.rover, Body("main_body", p.frame_mass, pivot, frame))
    size = (p.chassis_length, p.chassis_width, p.chassis_depth)
    builder.add_body(
        "main_body", "chassis_tilt", LATERAL, "chassis", p.chassis_mass, box(p.chassis_mass, size), pivot,
        (0.0, 0.0, p.chassis_height), locked_at=-p.tilt_angle, size=size,
    )  # fmt: skip
    across = 0.5 * p.track
    inboard = across - p.wheel_width
    for side in ("left", "right"):
        rocker, rod = f"{side}_rocker", f"{side}_rod"
        inertia = box(p.rocker_mass, (p.wheelbase, 0.10, 0.15))
        hinge = on_side((0.0, inboard, p.pivot_height), side)
        centre = (0.0, hinge[1], p.wheel_radius)  # motor and chain lie between the axles
        builder.add_body(
            "main_body", rocker, LATERAL, rocker, p.rocker_mass, inertia, hinge, centre, stop=p.rocker_stop
        )
        middle = on_side((-0.25 * p.wheelbase, 0.5 * p.chassis_width, p.pivot_height), side)
        along = cylinder_along_x(p.rod_mass, 0.01, 0.5 * p.wheelbase)
        builder.add_body("main_body", f"{rod}_spin", LENGTHWISE, rod, p.rod_mass, along, middle, locked_at=0.0)
    for wheel in WHEELS:
        row, side = wheel.split("_")
        axle = on_side((0.5 * p.wheelbase if row == "front" else -0.5 * p.wheelbase, across, p.wheel_radius), side)
        builder.wheel(wheel, f"{side}_rocker", p.wheel_mass, p.wheel_radius, p.wheel_width, axle)
    chains = [Coupling(f"rear_{side}_drive", ((f"front_{side}_drive", 1.0),)) for side in ("left", "right")]
    return builder.tree([Coupling("right_rocker", (("left_rocker", -1.0),)), *(chains if p.chains else ())])
