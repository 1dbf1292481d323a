"""A rocker-bogie rover with a differential, after Xu 2021, section 1: the coupled rover of this package.

Each side has a rocker (main arm), which carries the front wheel and a bogie (secondary arm) with the middle and rear
wheels. The differential in the body turns the rockers by equal and opposite angles. All six wheels are steered. Xu's
control joints, which set the arms actively, are left out: here they are locked joints.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.rover.assembly import (
    LATERAL,
    SIDE_BOGIES,
    VERTICAL,
    WHEELS,
    box,
    geometry_error,
    on_side,
    wheels_meet,
)
from models.rover.outline import OutlinedParameters, draw_body, outline
from models.rover.parameters import quantity
from models.rover.ties import Coupling
from models.rover.tree import Tree


@dataclass(frozen=True)
class RockerBogieParameters(OutlinedParameters):
    """A rocker-bogie with a differential, after Xu 2021: body and wheel masses quoted, all else assumed.

    About 187 kg in all. With steering locked it has 15 speeds (6 base, left rocker, 2 bogies, 6 wheels); 21 with
    `locks={"steering": None}`. The right rocker's angle is minus the left one's. The base frame lies on the ground
    under the main body; the wheels of `neutral()` touch z = 0.

    Xu's wheel inertia of 2 kg m^2 (section 4) fits no wheel of that mass: ours is that of a uniform cylinder. The
    rockers' pivots are a tenth of the wheelbase ahead of the middle, the bogies' half-way between middle and rear
    wheels.
    """

    bogie_mass: float = quantity(5.0, "kg", 0.1, 100, "of each of the two bogies")
    body_mass: float = quantity(127.0, "kg", 1, 1000, "of the main body")
    wheel_mass: float = quantity(3.674, "kg", 0.1, 100, "of each of the six wheels")
    steer_mass: float = quantity(2.0, "kg", 0.1, 100, "of each steering unit")
    rocker_mass: float = quantity(8.0, "kg", 0.1, 100, "of each of the two rockers")
    wheelbase: float = quantity(1.4, "m", 0.1, 10, "front to rear wheel centres")
    track: float = quantity(1.3, "m", 0.1, 10, "between the outer faces of the wheels of either side")
    rocker_height: float = quantity(0.5, "m", 0.05, 5, "of the rockers' pivots over ground")
    bogie_height: float = quantity(0.35, "m", 0.05, 5, "of the bogies' pivots on the rockers")
    wheel_radius: float = quantity(0.15, "m", 0.02, 2, "of every wheel")
    wheel_width: float = quantity(0.15, "m", 0.01, 1, "of every wheel")
    body_length: float = quantity(0.9, "m", 0.05, 5, "of the main body, a box for its inertia")
    body_width: float = quantity(0.7, "m", 0.05, 5, "of the main body")
    body_height: float = quantity(0.4, "m", 0.05, 5, "of the main body")
    bogie_stop: float = quantity(30.0, "deg", 1, 90, "of each bogie from level to its stop, either way; assumed")
    rocker_stop: float = quantity(30.0, "deg", 1, 90, "of each rocker from level to its stop, either way; assumed")

    rover = "rocker_bogie"
    cylinder_joints = SIDE_BOGIES

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels, or pivots below the axles."""
        wrong = wheels_meet(self.wheelbase, self.track, self.wheel_radius, self.wheel_width)
        wrong += geometry_error("bogie_height", self.bogie_height, self.wheel_radius, "the bogies lie below the axles")
        wrong += geometry_error(
            "rocker_height", self.rocker_height, self.wheel_radius, "the rockers lie below the axles"
        )
        return wrong

    def tree(self) -> Tree:
        """All 17 bodies and 16 joints, steering locked at zero, the right rocker coupled to the left one."""
        builder, (rows, across, inboard) = draw_body(self, self.rocker_height + 0.25 * self.body_height), outline(self)
        for side in ("left", "right"):
            rocker, bogie = f"{side}_rocker", f"{side}_bogie"
            pivot = on_side((0.1 * self.wheelbase, inboard, self.rocker_height), side)
            end = on_side((0.5 * rows["rear"], inboard, self.bogie_height), side)
            inertia = box(self.rocker_mass, (0.75 * self.wheelbase, 0.06, 0.15))
            # centre of mass half-way between the front wheel's steer and the bogie
            centre = (0.5 * (rows["front"] + end[0]), pivot[1], 0.5 * (self.rocker_height + self.bogie_height))
            builder.add_body(
                "main_body", rocker, LATERAL, rocker, self.rocker_mass, inertia, pivot, centre, stop=self.rocker_stop
            )
            inertia = box(self.bogie_mass, (0.5 * self.wheelbase, 0.06, 0.10))
            builder.add_body(rocker, bogie, LATERAL, bogie, self.bogie_mass, inertia, end, stop=self.bogie_stop)
        inertia = box(self.steer_mass, (0.08, 0.08, 0.20))
        for wheel in WHEELS:
            row, side = wheel.split("_")
            carrier = f"{side}_rocker" if row == "front" else f"{side}_bogie"
            steer = f"{wheel}_steer"
            top = on_side((rows[row], across, self.bogie_height), side)
            axle = (*top[:2], self.wheel_radius)
            builder.add_body(
                carrier, f"{wheel}_steering", VERTICAL, steer, self.steer_mass, inertia, top, locked_at=0.0
            )
            builder.wheel(wheel, steer, self.wheel_mass, self.wheel_radius, self.wheel_width, axle)
        return builder.tree([Coupling("right_rocker", (("left_rocker", -1.0),))])


rocker_bogie = RockerBogieParameters.make
