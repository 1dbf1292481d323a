"""A rocker-bogie rover with a differential, after Xu 2021, section 1: the coupled rover of this package.

Each side has a rocker (main arm), which carries the front wheel and a bogie (secondary arm) with the middle and rear
wheels. The differential in the body turns the rockers by equal and opposite angles. All six wheels are steered. Xu's
control joints, which set the arms actively, are left out: here they are locked joints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.rover.assembly import (
    LATERAL,
    STOP,
    VERTICAL,
    WHEELS,
    box,
    geometry_error,
    on_side,
    wheels_meet,
)
from models.rover.outline import OutlinedParameters, draw_body, outline
from models.rover.rover import Rover
from models.rover.tree import Coupling, Tree


@dataclass(frozen=True)
class RockerBogieParameters(OutlinedParameters):
    """Sizes and masses [m, kg]; about 187 kg in all.

    Body and wheel mass are those of Xu 2021, section 4, whose wheel inertia of 2 kg m^2 fits no wheel of that mass:
    ours is that of a uniform cylinder. All others, every length among them, are assumptions of this project.

    Attributes:
        track: between the outer faces of the wheels of either side.
        rocker_height: of the rockers' pivots on the body over ground, a tenth of the wheelbase ahead of the middle.
        bogie_height: of the bogies' pivots on the rockers, half-way between middle and rear wheels.
        rocker_stop: angle at which a rocker meets its stop, to either side of level.
    """

    wheel_mass: float = 3.674
    steer_mass: float = 2.0
    rocker_mass: float = 8.0
    bogie_mass: float = 5.0
    body_mass: float = 127.0
    wheelbase: float = 1.4
    track: float = 1.3
    rocker_height: float = 0.50
    bogie_height: float = 0.35
    wheel_radius: float = 0.15
    wheel_width: float = 0.15
    body_length: float = 0.9
    body_width: float = 0.7
    body_height: float = 0.4
    bogie_stop: float = STOP
    rocker_stop: float = STOP

    rover = "rocker_bogie"

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels, or pivots below the axles."""
        wrong = wheels_meet(self.wheelbase, self.track, self.wheel_radius, self.wheel_width)
        wrong += geometry_error("bogie_height", self.bogie_height, self.wheel_radius, "the bogies lie below the axles")
        wrong += geometry_error(
            "rocker_height", self.rocker_height, self.wheel_radius, "the rockers lie below the axles"
        )
        return wrong


def rocker_bogie(*, locks: Mapping[str, float | None] | None = None, **parameters: float) -> Rover:
    """The rocker-bogie with its differential, steering locked: 15 speeds (6 base, left rocker, 2 bogies, 6 wheels).

    The right rocker's angle is minus the left one's. The base frame lies on the ground under the main body; the wheels
    of `neutral()` touch z = 0.

    Args:
        locks: see `models.rover.rcp`; {"steering": None} leaves 21 speeds.
        **parameters: any field of `RockerBogieParameters`.

    Raises:
        ValueError: a parameter out of range, an impossible geometry, or a lock of an unknown or coupled joint.
        TypeError: an unknown parameter.
    """
    return Rover(rocker_bogie_tree(RockerBogieParameters(**parameters)).with_locks(locks or {}))


def rocker_bogie_tree(p: RockerBogieParameters) -> Tree:
    """All 17 bodies and 16 joints, steering locked at zero, the right rocker coupled to the left one."""
    builder, (rows, across, inboard) = draw_body(p, p.rocker_height + 0.25 * p.body_height), outline(p)
    for side in ("left", "right"):
        rocker, bogie = f"{side}_rocker", f"{side}_bogie"
        pivot = on_side((0.1 * p.wheelbase, inboard, p.rocker_height), side)
        end = on_side((0.5 * rows["rear"], inboard, p.bogie_height), side)
        inertia = box(p.rocker_mass, (0.75 * p.wheelbase, 0.06, 0.15))
        # centre of mass half-way between the front wheel's steer and the bogie
        centre = (0.5 * (rows["front"] + end[0]), pivot[1], 0.5 * (p.rocker_height + p.bogie_height))
        builder.add_body(
            "main_body", rocker, LATERAL, rocker, p.rocker_mass, inertia, pivot, centre, stop=p.rocker_stop
        )
        inertia = box(p.bogie_mass, (0.5 * p.wheelbase, 0.06, 0.10))
        builder.add_body(rocker, bogie, LATERAL, bogie, p.bogie_mass, inertia, end, stop=p.bogie_stop)
    inertia = box(p.steer_mass, (0.08, 0.08, 0.20))
    for wheel in WHEELS:
        row, side = wheel.split("_")
        carrier = f"{side}_rocker" if row == "front" else f"{side}_bogie"
        steer = f"{wheel}_steer"
        top = on_side((rows[row], across, p.bogie_height), side)
        axle = (*top[:2], p.wheel_radius)
        builder.add_body(carrier, f"{wheel}_steering", VERTICAL, steer, p.steer_mass, inertia, top, locked_at=0.0)
        builder.wheel(wheel, steer, p.wheel_mass, p.wheel_radius, p.wheel_width, axle)
    return builder.tree([Coupling("right_rocker", (("left_rocker", -1.0),))])
