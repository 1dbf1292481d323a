"""The linkage of the Rover Chassis Prototype: three bogies, six legs, 28 bodies at given places.

Chain of one leg: bogie - arm - steer - leg - wheel. The arm is rigid on its bogie; of the printed chain of 27
revolutes, whose lock counts do not add up, the steer turns about the vertical and the leg walks about the lateral axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from models.rover.assembly import LATERAL, STOP, VERTICAL, WHEELS, Parameters, TreeBuilder, bogie_of, box, on_side
from models.rover.tree import Body, Tree, Vector


@dataclass(frozen=True)
class ChassisParameters(Parameters):
    """Assumed values of the RCP's bodies that no source gives [kg, m]; about 120 kg in all.

    `added_mass` is the two weights of MacMahon 2016 6.2.4 (2 x 25 lb = 22.7 kg), one at either end of the main body.
    `body_com_height` is the height of the main body's centre of mass over ground; None: where the body's type has it.
    `bogie_stop` is the angle at which each bogie meets its stop, to either side of level [rad].
    """

    wheel_mass: float = 4.0
    leg_mass: float = 2.0
    steer_mass: float = 1.0
    arm_mass: float = 1.0
    bogie_mass: float = 4.0
    body_mass: float = 60.0
    added_mass: float = 0.0
    wheel_width: float = 0.12
    body_length: float = 0.7
    body_width: float = 0.5
    body_height: float = 0.3
    bogie_length: float = 0.55
    body_com_height: float | None = None
    bogie_stop: float = STOP


class LegPlaces(NamedTuple):
    """One port leg [m]: wheel centre, centres of leg, steer and arm, and the centre of the walking joint."""

    wheel: Vector
    leg: Vector
    steer: Vector
    arm: Vector
    hinge: Vector


class Places(NamedTuple):
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


def chassis_tree(name: str, p: ChassisParameters, places: Places, wheel_radius: float) -> Tree:
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
