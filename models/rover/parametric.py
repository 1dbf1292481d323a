"""The parametric rover of MacMahon 2016, 4.2: the RCP's linkage laid out from a few lengths and the walking angle.

Table 4-1's last column, starboard and approximate, in our axes. It holds as printed at walking angle zero, and for the
wheels at any angle. Elsewhere two things are corrected, because legs are rigid. The table has l sin(theta) from leg
centre to steer, where half of that leads back to the hinge (as printed, steers would slide along their bogies while the
legs walk), and likewise for main body and bogies. And it keeps the steers at the bogie's height at any angle, although
the text defines that as the height at walking angle zero; ours is lower by l (1 - cos(theta)), which keeps the wheels
on the ground.

The linkage of the Rover Chassis Prototype: three bogies, six legs, 28 bodies at given places.

Chain of one leg: bogie - arm - steer - leg - wheel. The arm is rigid on its bogie; of the printed chain of 27
revolutes, whose lock counts do not add up, the steer turns about the vertical and the leg walks about the lateral axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from models.rover.assembly import (
    LATERAL,
    SIDE_BOGIES,
    VERTICAL,
    WHEELS,
    TreeBuilder,
    bogie_of,
    box,
    geometry_error,
    on_side,
    row_places,
)
from models.rover.parameters import Parameters, quantity
from models.rover.ties import Vector
from models.rover.tree import Body, Tree


@dataclass(frozen=True)
class ChassisParameters(Parameters):
    """Assumed values of the RCP's bodies that no source gives; about 120 kg in all.

    The added weights are the two of MacMahon 2016 6.2.4 (2 x 25 lb = 22.7 kg), one at either end of the main body.
    """

    wheel_mass: float = quantity(4.0, "kg", 0.1, 100, "of each of the six wheels")
    leg_mass: float = quantity(2.0, "kg", 0.1, 100, "of each leg")
    steer_mass: float = quantity(1.0, "kg", 0.1, 100, "of each steering unit")
    arm_mass: float = quantity(1.0, "kg", 0.1, 100, "of each arm, rigid on its bogie")
    bogie_mass: float = quantity(4.0, "kg", 0.1, 100, "of each of the three bogies")
    body_mass: float = quantity(60.0, "kg", 1, 1000, "of the main body")
    added_mass: float = quantity(0.0, "kg", 0, 500, "of added weights, half at either end of the body")
    wheel_width: float = quantity(0.12, "m", 0.01, 1, "of each wheel", in_config=0.15)
    body_length: float = quantity(0.7, "m", 0.05, 5, "of the main body, a box for its inertia")
    body_width: float = quantity(0.5, "m", 0.05, 5, "of the main body")
    body_height: float = quantity(0.3, "m", 0.05, 5, "of the main body")
    body_com_height: float | None = quantity(
        None,
        "m",
        0.05,
        5,
        "of the main body's centre of mass over ground; null: 0.8246 of Table 4-1 with rcp, half of "
        "body_height_m over the bogies with parametric",
    )
    bogie_length: float = quantity(0.55, "m", 0.05, 5, "of each bogie, a box for its inertia")
    bogie_stop: float = quantity(30.0, "deg", 1, 90, "of each bogie from level to its stop, either way; assumed")


class LegPlaces(NamedTuple):
    """One port leg [m]: wheel centre, centres of leg, steer and arm, and the centre of the walking joint."""

    wheel: Vector
    leg: Vector
    steer: Vector
    arm: Vector
    hinge: Vector


class ChassisPoints(NamedTuple):
    """Port side of a chassis in the base frame [m], all joints at zero.

    Attributes:
        legs: by row: front, middle, rear.
        side_bogie: pivot and centre of mass.
        rear_bogie: likewise.
        main_body: centre of mass.
        walking: angle [rad] at which each row's legs are locked, about the port axis.
    """

    legs: dict[str, LegPlaces]
    side_bogie: Vector
    rear_bogie: Vector
    main_body: Vector
    walking: dict[str, float]


def chassis_tree(name: str, p: ChassisParameters, places: ChassisPoints, wheel_radius: float) -> Tree:
    """All 28 bodies and 27 joints, arms, steering and walking locked."""
    ahead, left, up = places.main_body
    builder = TreeBuilder(name, _main_body(p, (ahead, left, p.body_com_height or up)))
    builder.three_bogies(p.bogie_mass, p.bogie_length, places.side_bogie, places.rear_bogie, p.bogie_stop)
    for wheel in WHEELS:
        row = wheel.split("_")[0]
        _add_leg(builder, p, wheel, places.legs[row], places.walking[row], wheel_radius)
    return builder.tree()


def _add_leg(
    builder: TreeBuilder,
    p: ChassisParameters,
    wheel: str,
    port: LegPlaces,
    walking: float,
    wheel_radius: float,
) -> None:
    """Arm, steer, leg and wheel of one corner; the sizes of arm, steer and leg [m] are assumptions."""
    place = LegPlaces(*(on_side(part, wheel.split("_")[1]) for part in port))
    arm, steer, leg = f"{wheel}_arm", f"{wheel}_steer", f"{wheel}_leg"
    inertia = box(p.arm_mass, (0.08, 0.10, 0.30))
    builder.add_body(bogie_of(wheel), f"{wheel}_mount", LATERAL, arm, p.arm_mass, inertia, place.arm, locked_at=0.0)
    inertia = box(p.steer_mass, (0.08, 0.08, 0.10))
    builder.add_body(arm, f"{wheel}_steering", VERTICAL, steer, p.steer_mass, inertia, place.steer, locked_at=0.0)
    inertia = box(p.leg_mass, (0.06, 0.12, 0.30))
    builder.add_body(
        steer, f"{wheel}_walking", LATERAL, leg, p.leg_mass, inertia, place.hinge, place.leg, locked_at=walking
    )
    builder.wheel(wheel, leg, p.wheel_mass, wheel_radius, p.wheel_width, place.wheel)


def _main_body(p: ChassisParameters, com: Vector) -> Body:
    """The main body, with the added weights at its two ends."""
    size = (p.body_length, p.body_width, p.body_height)
    xx, yy, zz = box(p.body_mass, size)
    at_the_ends = p.added_mass * (0.5 * p.body_length) ** 2
    return Body("main_body", p.body_mass + p.added_mass, com, (xx, yy + at_the_ends, zz + at_the_ends), size)


# walking turns the front legs forward and the others back, about the axis to port
_WALKS = {"front": -1.0, "middle": 1.0, "rear": 1.0}


@dataclass(frozen=True)
class ParametricParameters(ChassisParameters):
    """Inputs of MacMahon 2016, Figure 4-2: with these defaults the RCP of Table 4-1 on wheels 0.15 m wide.

    Walking is locked at its angle and steering at zero: 15 speeds as the RCP. The wheels of `neutral()` touch z = 0.
    With walking freed, joint angle zero is a leg that hangs straight.

    Lengths default to those of the RCP in Table 4-1, for the wheel width: the legs to the steers' height over the
    wheels', the arm to the place of the arms' centres. The inner faces of arm and wheel are flush.

    Example:
        >>> rover = parametric(wheelbase=1.25)
        >>> rover.wheel_positions(rover.neutral())[0].round(3).tolist()
        [0.625, 0.455, 0.175]
        >>> parametric(wheelbase=0.5)
        Traceback (most recent call last):
            ...
        ValueError: parametric: wheelbase is 0.5 m, allowed: above 0.7 m, or wheels of one side meet
    """

    wheelbase: float = quantity(1.073, "m", 0.1, 10, "front to rear wheel centres at walking angle zero")
    track: float = quantity(
        1.0304, "m", 0.1, 10, "between the outer faces of the wheels of either side", in_config=1.0604
    )
    walking_angle: float = quantity(0.0, "deg", -80, 80, "of the legs: the front ones forward, the others backward")
    leg_length: float = quantity(0.2961, "m", 0.01, 5, "from the wheel centre to the walking joint")
    bogie_height: float = quantity(0.4711, "m", 0.05, 5, "of the bogie joints over ground at that angle")
    wheel_radius: float = quantity(0.175, "m", 0.02, 2, "of every wheel")
    arm_width: float = quantity(
        0.0278, "m", 0.001, 2, "of an arm, its inner face flush with the wheel's", in_config=0.0578
    )

    rover = "parametric"
    cylinder_joints = SIDE_BOGIES

    @property
    def reach(self) -> float:
        """Forward reach of a leg, l sin(theta) [m]."""
        return self.leg_length * math.sin(self.walking_angle)

    @property
    def drop(self) -> float:
        """Drop of the chassis, l (1 - cos(theta)) [m]."""
        return self.leg_length * (1.0 - math.cos(self.walking_angle))

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels, bogies in the ground, a body in the wheels."""
        diameter = 2.0 * self.wheel_radius
        # front to middle half a wheelbase and two reaches, middle to rear half a wheelbase
        wrong = geometry_error(
            "wheelbase", self.wheelbase, 2.0 * diameter - min(0.0, 4.0 * self.reach), "wheels of one side meet"
        )
        wrong += geometry_error("track", self.track, 2.0 * self.wheel_width, "wheels of both sides meet")
        wrong += geometry_error("bogie_height", self.bogie_height, self.drop, "the legs lay the bogies on the ground")
        inside = self.track - 2.0 * self.wheel_width
        if not wrong and self.bogie_height - self.drop < diameter and self.body_width >= inside:
            wrong.append(
                f"body_width is {self.body_width} m, allowed: below {inside:.6g} m where the body hangs between the "
                f"wheels (bogie_height {self.bogie_height} m, wheels {diameter:.6g} m high)"
            )
        return wrong

    def tree(self) -> Tree:
        """All 28 bodies and 27 joints, walking locked at its angle, steering at zero."""
        row_x = row_places(self.wheelbase)
        half_track = 0.5 * (self.track - self.wheel_width)
        arm_across = half_track + 0.5 * (self.arm_width - self.wheel_width)
        bogie_height, hinge_height = self.bogie_height - self.drop, self.wheel_radius + self.leg_length - self.drop
        legs = {
            row: LegPlaces(
                wheel=(x, half_track, hinge_height - self.leg_length),
                leg=(x, half_track, hinge_height - 0.5 * self.leg_length),
                steer=(x, half_track, bogie_height),
                arm=(x, arm_across, bogie_height),
                hinge=(x, half_track, hinge_height),
            )
            for row, x in row_x.items()
        }
        places = ChassisPoints(
            legs=legs,
            side_bogie=(0.25 * self.wheelbase, half_track, bogie_height),
            rear_bogie=(row_x["rear"], 0.0, bogie_height),
            main_body=(0.0, 0.0, bogie_height + 0.5 * self.body_height),
            walking={row: way * self.walking_angle for row, way in _WALKS.items()},
        )
        return chassis_tree("parametric", self, places, self.wheel_radius)


parametric = ParametricParameters.make
