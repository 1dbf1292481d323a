"""The Juno rover of Petersen 2012, 6.1, with its suspension as it is: a transverse rocker, and two rods with ball ends.

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

from models.rover.assembly import LENGTHWISE, TreeBuilder, box, geometry_error, on_side
from models.rover.juno import JunoParameters, add_chassis, add_rocker, add_wheels, chains
from models.rover.parameters import quantity
from models.rover.tree import Body, Tree


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
