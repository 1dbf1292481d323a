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

The Juno rover of Petersen 2012, 6.1, with its suspension as it is: a transverse rocker, and two rods with ball ends.

Ten bodies as in the thesis: chassis, two main rockers, transverse rocker, two rods, four wheels; seven revolute joints
(main and transverse rockers, wheels) and four balls. `models.rover.juno` lumps the transverse rocker and the rods by a
constant ratio, right rocker = -left rocker, which holds for small angles; here the ratio changes with the angle
(models.rover.loops). Quoted are the same numbers as there, and no others: where the rods act is an assumption, too.

The tilt actuator turns a yoke, which carries the transverse rocker's pivot, about the axis of the main rockers' pivots.
Yoke and rockers turn together then, and the chassis against them. The yoke is the base of the tree, so that the rover
stands on its four wheels at joint angles zero whatever the tilt; with the tilt locked, yoke and chassis are one body.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.rover.assembly import (
    LATERAL,
    LENGTHWISE,
    TreeBuilder,
    box,
    cylinder_along_x,
    geometry_error,
    on_side,
)
from models.rover.parameters import Parameters, choice, quantity
from models.rover.ties import Coupling
from models.rover.tree import Body, Tree

WHEELS = ("front_left", "front_right", "rear_left", "rear_right")


@dataclass(frozen=True)
class JunoParameters(Parameters):
    """The Juno rover of Petersen 2012, 6.1: total mass, wheels, wheelbase and track quoted, all else assumed.

    It has 9 speeds (6 base, left rocker, a pair of wheels on either side). The right rocker's angle is minus the left
    one's; a side's rear wheel follows its front wheel, which has the motor. `chains=False` gives four independent
    wheels, 11 speeds; `locks={"spin": None}` frees the rods, two more: with both there are the 13 of the thesis.
    `locks={"tilt": None}` frees the tilt actuator: a joint for a torque. The frame is the transverse rocker and all
    other parts that do not tilt with the chassis.

    The base frame lies on the ground under the frame; the wheels of `neutral()` touch z = 0.
    """

    wheel_mass: float = quantity(9.6, "kg", 0.1, 100, "of each of the four wheels")
    rocker_mass: float = quantity(45.0, "kg", 0.1, 1000, "of each main rocker with motor, gear and chain")
    frame_mass: float = quantity(12.0, "kg", 0.1, 1000, "of the transverse rocker, which does not tilt")
    rod_mass: float = quantity(1.0, "kg", 0.01, 100, "of each of its two rods")
    chassis_mass: float = quantity(175.3, "kg", 1, 2000, "of the chassis: 317.7 kg in all")
    wheelbase: float = quantity(0.85, "m", 0.1, 10, "front to rear wheel centres")
    track: float = quantity(1.2, "m", 0.1, 10, "between the centres of the wheels of either side")
    pivot_height: float = quantity(0.35, "m", 0.05, 5, "of the rockers' pivots over ground")
    chassis_height: float = quantity(0.45, "m", 0.05, 5, "of the chassis' centre of mass over ground")
    wheel_radius: float = quantity(0.2794, "m", 0.02, 2, "of every wheel, lugs included")
    wheel_width: float = quantity(0.25, "m", 0.01, 1, "of every tyre")
    chassis_length: float = quantity(1.0, "m", 0.05, 5, "of the chassis, a box for its inertia")
    chassis_width: float = quantity(0.7, "m", 0.05, 5, "of the chassis")
    chassis_depth: float = quantity(0.35, "m", 0.05, 5, "of the chassis, upright")
    tilt_angle: float = quantity(0.0, "deg", -30, 30, "of the chassis by its actuator, positive nose up")
    rocker_stop: float = quantity(30.0, "deg", 1, 90, "of each rocker from level to its stop, either way; assumed")
    chains: bool = choice(True, "true: one motor a side and a chain to the other wheel; false: one motor a wheel")

    rover = "juno"

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels, or pivots without clearance."""
        diameter = 2.0 * self.wheel_radius
        wrong = geometry_error("wheelbase", self.wheelbase, diameter, "wheels of one side meet")
        wrong += geometry_error("track", self.track, self.wheel_width, "wheels of both sides meet")
        return wrong + geometry_error(
            "chassis_height", self.chassis_height, self.pivot_height, "it lies below the pivots"
        )

    def tree(self) -> Tree:
        """All 10 bodies and 9 joints, tilt and rods locked, rockers coupled and, with chains, the wheels of a side."""
        pivot = (0.0, 0.0, self.pivot_height)
        # the transverse rocker is a bar across the rear of the chassis
        frame = box(self.frame_mass, (0.10, self.chassis_width, 0.10))
        builder = TreeBuilder(self.rover, Body("main_body", self.frame_mass, pivot, frame))
        add_chassis(builder, self)
        for side in ("left", "right"):
            add_rocker(builder, self, side)
            middle = on_side((-0.25 * self.wheelbase, 0.5 * self.chassis_width, self.pivot_height), side)
            along = cylinder_along_x(self.rod_mass, 0.01, 0.5 * self.wheelbase)
            rod = f"{side}_rod"
            builder.add_body("main_body", f"{rod}_spin", LENGTHWISE, rod, self.rod_mass, along, middle, locked_at=0.0)
        add_wheels(builder, self)
        return builder.tree([Coupling("right_rocker", (("left_rocker", -1.0),)), *chains(self)])


def add_chassis(builder: TreeBuilder, p: JunoParameters) -> None:
    """The chassis, which its actuator tilts about the axis of the rockers' pivots; locked."""
    size = (p.chassis_length, p.chassis_width, p.chassis_depth)
    builder.add_body(
        "main_body", "chassis_tilt", LATERAL, "chassis", p.chassis_mass, box(p.chassis_mass, size),
        (0.0, 0.0, p.pivot_height), (0.0, 0.0, p.chassis_height), locked_at=-p.tilt_angle, size=size,
    )  # fmt: skip


def add_rocker(builder: TreeBuilder, p: JunoParameters, side: str) -> None:
    """The main rocker of a side; motor and chain lie between the axles."""
    inertia = box(p.rocker_mass, (p.wheelbase, 0.10, 0.15))
    hinge = on_side((0.0, 0.5 * p.track - p.wheel_width, p.pivot_height), side)
    centre, rocker = (0.0, hinge[1], p.wheel_radius), f"{side}_rocker"
    builder.add_body("main_body", rocker, LATERAL, rocker, p.rocker_mass, inertia, hinge, centre, stop=p.rocker_stop)


def add_wheels(builder: TreeBuilder, p: JunoParameters) -> None:
    """The four wheels on their rockers."""
    for wheel in WHEELS:
        row, side = wheel.split("_")
        ahead = 0.5 * p.wheelbase if row == "front" else -0.5 * p.wheelbase
        axle = on_side((ahead, 0.5 * p.track, p.wheel_radius), side)
        builder.wheel(wheel, f"{side}_rocker", p.wheel_mass, p.wheel_radius, p.wheel_width, axle)


def chains(p: JunoParameters) -> list[Coupling]:
    """Each rear wheel turns with the front wheel of its side; none without chains."""
    return [Coupling(f"rear_{side}_drive", ((f"front_{side}_drive", 1.0),)) for side in ("left", "right") if p.chains]


juno = JunoParameters.make


@dataclass(frozen=True)
class JunoExactParameters(JunoParameters):
    """The Juno rover with its transverse rocker and rods: sizes as those of `juno`, where the rods act is assumed.

    It has the 9 speeds of `juno`: the left rocker's angle gives those of the transverse rocker, the rods and the right
    rocker. `chains=False` gives four independent wheels, 11 speeds; `locks={"spin": None}` frees the rods' spin about
    themselves, two more: with both there are the 13 of the thesis. `locks={"tilt": None}` frees the tilt actuator.

    The rods stand upright on level ground, straight above their ends on the main rockers.
    """

    frame_mass: float = quantity(4.0, "kg", 0.1, 1000, "of the yoke that carries the transverse rocker's pivot")
    transverse_mass: float = quantity(8.0, "kg", 0.1, 1000, "of the transverse rocker")
    transverse_height: float = quantity(0.6, "m", 0.05, 5, "of the transverse rocker and its pivot over ground")
    rod_span: float = quantity(0.9, "m", 0.05, 10, "between the two rods")
    rod_reach: float = quantity(0.5, "m", 0.05, 5, "of the rods behind the rockers' pivots")
    rod_height: float = quantity(0.24, "m", 0.01, 5, "of the rods' lower ends over ground")

    rover = "juno_exact"

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels, pivots without clearance, or rods without length."""
        return super().geometry_errors() + geometry_error(
            "transverse_height", self.transverse_height, self.rod_height, "the rods have no length"
        )

    def tree(self) -> Tree:
        """All bodies and joints, tilt and rods' spins locked, with two loops and, with chains, the wheels of a side."""
        pivot = (0.0, 0.0, self.pivot_height)
        yoke = box(self.frame_mass, (self.rod_reach, 0.10, 0.10))
        builder = TreeBuilder(self.rover, Body("main_body", self.frame_mass, (-0.5 * self.rod_reach, *pivot[1:]), yoke))
        add_chassis(builder, self)
        for side in ("left", "right"):
            add_rocker(builder, self, side)
        behind = (-self.rod_reach, 0.0, self.transverse_height)
        bar = box(self.transverse_mass, (0.06, self.rod_span, 0.06))
        across = "transverse_rocker"
        builder.add_body("main_body", "transverse_pivot", LENGTHWISE, across, self.transverse_mass, bar, behind)
        for side, follower in (("left", "transverse_pivot"), ("right", "right_rocker")):
            upper = on_side((-self.rod_reach, 0.5 * self.rod_span, self.transverse_height), side)
            lower = (upper[0], upper[1], self.rod_height)
            builder.add_rod(f"{side}_rod", self.rod_mass, 0.01, across, upper, f"{side}_rocker", lower, follower)
        add_wheels(builder, self)
        return builder.tree(chains(self))


juno_exact = JunoExactParameters.make
