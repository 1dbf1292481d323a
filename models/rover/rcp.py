"""The Rover Chassis Prototype: 28 bodies at the positions of MacMahon 2016, Table 4-1.

The thesis gives positions but no masses and no pivots: masses and sizes are assumptions, named, and open to the config;
pivots are put where Table 4-1 has the bogies.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.rover.assembly import SIDE_BOGIES
from models.rover.parametric import ChassisParameters, ChassisPoints, LegPlaces, chassis_tree
from models.rover.ties import Vector
from models.rover.tree import Tree

_WHEEL_HEIGHT = 0.175
_HALF_TRACK = 0.4552  # between wheel centres


def _leg(wheel: Vector, leg: Vector, steer: Vector, arm: Vector) -> LegPlaces:
    """The leg walks about its steer's centre."""
    return LegPlaces(wheel, leg, steer, arm, hinge=steer)


# Table 4-1 in our axes (x forward, y left, z up), port side: (x, y, z)_ours = (x, -z, y)_MacMahon
TABLE_4_1 = ChassisPoints(
    legs={
        "front": _leg(
            wheel=(0.5349, _HALF_TRACK, _WHEEL_HEIGHT),
            leg=(0.5349, 0.3872, 0.2214),
            steer=(0.5391, 0.4662, 0.4711),
            arm=(0.5279, 0.4091, 0.6200),
        ),
        "middle": _leg(
            wheel=(0.0, _HALF_TRACK, _WHEEL_HEIGHT),
            leg=(0.0053, 0.3872, 0.2214),
            steer=(0.0046, 0.4662, 0.4711),
            arm=(0.0070, 0.4091, 0.6200),
        ),
        "rear": _leg(
            wheel=(-0.5381, _HALF_TRACK, _WHEEL_HEIGHT),
            leg=(-0.5307, 0.4506, 0.2214),
            steer=(-0.5423, 0.4662, 0.4711),
            arm=(-0.5315, 0.4030, 0.6200),
        ),
    },
    side_bogie=(0.2671, 0.3290, 0.4499),
    rear_bogie=(-0.5385, 0.0, 0.4501),
    main_body=(-0.0014, 0.0, 0.8246),
    walking={"front": 0.0, "middle": 0.0, "rear": 0.0},
)


@dataclass(frozen=True)
class RcpParameters(ChassisParameters):
    """The RCP of MacMahon 2016, Table 4-1; its masses and sizes are those of `ChassisParameters`.

    Walking and steering are locked: 15 speeds (6 base, 3 bogies, 6 wheels). The base frame lies on the ground under the
    main body with Table 4-1's origin, so the wheels of `neutral()` touch z = 0 at Table 4-1's places, as long as
    walking is locked at zero.

    Example:
        >>> rover = rcp(body_mass=70.0)
        >>> rover.nv, rover.wheel_names[:2]
        (15, ('front_left', 'front_right'))
        >>> round(float(rover.mass_matrix(rover.neutral())[0, 0]), 6)  # its mass [kg]
        130.0
    """

    rover = "rcp"
    cylinder_joints = SIDE_BOGIES

    def geometry_errors(self) -> list[str]:
        """Wheels so wide that port and starboard overlap."""
        room = 2.0 * _HALF_TRACK
        return [] if self.wheel_width < room else [f"wheel_width is {self.wheel_width} m, allowed: below {room} m"]

    def tree(self) -> Tree:
        """All 28 bodies and 27 joints of the RCP, walking and steering locked at zero."""
        return chassis_tree("rcp", self, TABLE_4_1, _WHEEL_HEIGHT)


rcp = RcpParameters.make
