"""The linkage of the Rover Chassis Prototype: three bogies, six legs, 28 bodies at given places.

Chain of one leg: bogie - arm - steer - leg - wheel. The arm is rigid on its bogie; of the printed chain of 27
revolutes, whose lock counts do not add up, the steer turns about the vertical and the leg walks about the lateral axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from models.rover.assembly import LATERAL, VERTICAL, WHEELS, TreeBuilder, bogie_of, box, on_side
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
