"""The Rover Chassis Prototype: 28 bodies at the positions of MacMahon 2016, Table 4-1.

Chain of one leg: bogie - arm - steer - leg - wheel. The thesis gives positions but no masses and no pivots: masses and
sizes below are assumptions, named, and open to the config; pivots are put where Table 4-1 has the bogies. The arm is
rigid on its bogie; of the printed chain of 27 revolutes, whose lock counts do not add up, the steer turns about the
vertical and the leg walks about the lateral axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from models.rover.rover import Rover
from models.rover.tree import Body, Joint, Tree, Vector, WheelMount

WHEELS = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")
_WHEEL_HEIGHT = 0.175
# Table 4-1 in our axes (x forward, y left, z up), port side: (x, y, z)_ours = (x, -z, y)_MacMahon
_TABLE: dict[str, dict[str, Vector]] = {
    "front": {
        "wheel": (0.5349, 0.4552, _WHEEL_HEIGHT),
        "leg": (0.5349, 0.3872, 0.2214),
        "steer": (0.5391, 0.4662, 0.4711),
        "arm": (0.5279, 0.4091, 0.6200),
    },
    "middle": {
        "wheel": (0.0, 0.4552, _WHEEL_HEIGHT),
        "leg": (0.0053, 0.3872, 0.2214),
        "steer": (0.0046, 0.4662, 0.4711),
        "arm": (0.0070, 0.4091, 0.6200),
    },
    "rear": {
        "wheel": (-0.5381, 0.4552, _WHEEL_HEIGHT),
        "leg": (-0.5307, 0.4506, 0.2214),
        "steer": (-0.5423, 0.4662, 0.4711),
        "arm": (-0.5315, 0.4030, 0.6200),
    },
}
_SIDE_BOGIE: Vector = (0.2671, 0.3290, 0.4499)
_REAR_BOGIE: Vector = (-0.5385, 0.0, 0.4501)
_MAIN_BODY: Vector = (-0.0014, 0.0, 0.8246)


@dataclass(frozen=True)
class RcpParameters:
    """Assumptions about the RCP that no source gives [kg, m]; about 120 kg in all.

    `added_mass` is the two weights of MacMahon 2016 6.2.4 (2 x 25 lb = 22.7 kg), one at either end of the main body.
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

    def __post_init__(self) -> None:
        wrong = []
        for item in fields(self):
            value = getattr(self, item.name)
            lowest = 0.0 if item.name == "added_mass" else 1e-6
            if not (math.isfinite(value) and value >= lowest):
                wrong.append(f"{item.name} is {value}, allowed: {'0 or more' if lowest == 0.0 else 'above 0'}")
        if wrong:
            raise ValueError("rcp: " + "; ".join(wrong))


def rcp(**parameters: float) -> Rover:
    """The RCP with walking and steering locked: 15 speeds (6 base, 3 bogies, 6 wheels).

    The base frame lies on the ground under the main body with Table 4-1's origin, so the wheels of `neutral()` touch
    z = 0 at Table 4-1's places.

    Args:
        **parameters: any field of `RcpParameters`.

    Raises:
        ValueError: a parameter out of range.
        TypeError: an unknown parameter.
    """
    return Rover(rcp_tree(RcpParameters(**parameters)))


def rcp_tree(p: RcpParameters) -> Tree:
    """All 28 bodies and 27 joints of the RCP, walking and steering locked at zero."""
    bodies = [_main_body(p)]
    joints: list[Joint] = []
    for name, place, length_along in (
        ("left_bogie", _SIDE_BOGIE, "x"),
        ("rear_bogie", _REAR_BOGIE, "y"),
        ("right_bogie", _mirror(_SIDE_BOGIE), "x"),
    ):
        axis = (0.0, 1.0, 0.0) if length_along == "x" else (1.0, 0.0, 0.0)
        length, across = p.bogie_length, 0.06
        size = (length, across, across) if length_along == "x" else (across, length, across)
        bodies.append(Body(name, p.bogie_mass, (0.0, 0.0, 0.0), _box(p.bogie_mass, size)))
        joints.append(Joint(name, "main_body", name, place, axis))
    for wheel in WHEELS:
        _add_leg(p, wheel, bodies, joints)
    mounts = tuple(WheelMount(name, f"{name}_wheel", _WHEEL_HEIGHT, p.wheel_width) for name in WHEELS)
    return Tree("rcp", tuple(bodies), tuple(joints), mounts)


def _add_leg(p: RcpParameters, wheel: str, bodies: list[Body], joints: list[Joint]) -> None:
    """Arm, steer, leg and wheel of one corner."""
    row, side = wheel.split("_")
    places = {part: place if side == "left" else _mirror(place) for part, place in _TABLE[row].items()}
    bogie, pivot = ("rear_bogie", _REAR_BOGIE) if row == "rear" else (f"{side}_bogie", _SIDE_BOGIE)
    if bogie == "right_bogie":
        pivot = _mirror(pivot)
    steer, centre = places["steer"], places["wheel"]
    radius, width = _WHEEL_HEIGHT, p.wheel_width
    bodies += [
        Body(f"{wheel}_arm", p.arm_mass, (0.0, 0.0, 0.0), _box(p.arm_mass, (0.08, 0.10, 0.30))),
        Body(f"{wheel}_steer", p.steer_mass, (0.0, 0.0, 0.0), _box(p.steer_mass, (0.08, 0.08, 0.10))),
        Body(f"{wheel}_leg", p.leg_mass, _minus(places["leg"], steer), _box(p.leg_mass, (0.06, 0.12, 0.30))),
        Body(f"{wheel}_wheel", p.wheel_mass, (0.0, 0.0, 0.0), _cylinder_y(p.wheel_mass, radius, width)),
    ]
    lateral, vertical = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    joints += [
        Joint(f"{wheel}_mount", bogie, f"{wheel}_arm", _minus(places["arm"], pivot), lateral, locked_at=0.0),
        Joint(f"{wheel}_turn", f"{wheel}_arm", f"{wheel}_steer", _minus(steer, places["arm"]), vertical, locked_at=0.0),
        Joint(f"{wheel}_walk", f"{wheel}_steer", f"{wheel}_leg", (0.0, 0.0, 0.0), lateral, locked_at=0.0),
        Joint(f"{wheel}_drive", f"{wheel}_leg", f"{wheel}_wheel", _minus(centre, steer), lateral),
    ]


def _main_body(p: RcpParameters) -> Body:
    """The main body, with the added weights at its two ends."""
    xx, yy, zz = _box(p.body_mass, (p.body_length, p.body_width, p.body_height))
    at_the_ends = p.added_mass * (0.5 * p.body_length) ** 2
    return Body("main_body", p.body_mass + p.added_mass, _MAIN_BODY, (xx, yy + at_the_ends, zz + at_the_ends))


def _mirror(place: Vector) -> Vector:
    """Port to starboard."""
    return (place[0], -place[1], place[2])


def _minus(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def _box(mass: float, size: Vector) -> Vector:
    """Principal moments [kg m^2] of a uniform box."""
    x, y, z = (side * side for side in size)
    return (mass * (y + z) / 12.0, mass * (x + z) / 12.0, mass * (x + y) / 12.0)


def _cylinder_y(mass: float, radius: float, width: float) -> Vector:
    """Principal moments [kg m^2] of a uniform cylinder along y."""
    across = mass * (3.0 * radius**2 + width**2) / 12.0
    return (across, 0.5 * mass * radius**2, across)
