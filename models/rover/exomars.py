"""The ExoMars rover of Acary 2013, section 3.1: 21 degrees of freedom.

Six for the base, six wheel spins, six steers and three passive bogies, one at each side in front and one at the rear;
the payload is a uniform box. Acary gives no dimension and no mass.

The ExoMars-like rover of MacMahon 2016, 4.3: 22 bodies, with the steering joints below the walking joints.

Main body, three bogies, six arms (lower bracket and actuator), six legs (leg and actuator) and six wheels (Table 4-2).
The thesis gives the number and order of the bodies, the track and the rule for the wheelbase, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.rover.assembly import (
    LATERAL,
    SIDE_BOGIES,
    VERTICAL,
    WHEELS,
    bogie_of,
    box,
    geometry_error,
    on_side,
    wheels_meet,
)
from models.rover.outline import OutlinedParameters, draw_body_on_bogies, outline
from models.rover.parameters import quantity
from models.rover.tree import Tree


@dataclass(frozen=True)
class ExomarsParameters(OutlinedParameters):
    """The ExoMars rover of Acary 2013, section 3.1, steering locked: flight wheelbase and track, masses of Xu 2021.

    About 179 kg in all. With steering free, as built, it has 21 speeds; `locks={"steering": 0.0}`, as on a rig, leaves
    15. The base frame lies on the ground under the main body; the wheels of `neutral()` touch z = 0.

    Wheelbase and track are the published flight design (quoted by MacMahon 2016, 4.3), body and wheel mass those of
    another Mars rover (Xu 2021, section 4), whose wheel inertia of 2 kg m^2 fits no wheel of that mass: ours is that of
    a uniform cylinder. All others are assumptions of this project. The steering units are below the bogies' pivots.
    """

    bogie_mass: float = quantity(4.0, "kg", 0.1, 100, "of each of the three bogies")
    body_mass: float = quantity(127.0, "kg", 1, 1000, "of the main body")
    wheel_mass: float = quantity(3.674, "kg", 0.1, 100, "of each of the six wheels")
    steer_mass: float = quantity(3.0, "kg", 0.1, 100, "of each steering unit")
    wheelbase: float = quantity(1.26, "m", 0.1, 10, "front to rear wheel centres")
    track: float = quantity(1.31, "m", 0.1, 10, "between the outer faces of the wheels of either side")
    bogie_height: float = quantity(0.4, "m", 0.05, 5, "of the bogie pivots over ground")
    wheel_radius: float = quantity(0.1425, "m", 0.02, 2, "of every wheel")
    wheel_width: float = quantity(0.12, "m", 0.01, 1, "of every wheel")
    body_length: float = quantity(0.9, "m", 0.05, 5, "of the main body, a box for its inertia")
    body_width: float = quantity(0.7, "m", 0.05, 5, "of the main body")
    body_height: float = quantity(0.4, "m", 0.05, 5, "of the main body")
    bogie_stop: float = quantity(30.0, "deg", 1, 90, "of each bogie from level to its stop, either way; assumed")

    rover = "exomars"
    cylinder_joints = SIDE_BOGIES

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels, or steering units of no length."""
        wrong = wheels_meet(self.wheelbase, self.track, self.wheel_radius, self.wheel_width)
        return wrong + geometry_error(
            "bogie_height", self.bogie_height, self.wheel_radius, "the bogies lie below the axles"
        )

    def tree(self) -> Tree:
        """All 16 bodies and 15 joints, none locked."""
        builder, (rows, across, inboard) = draw_body_on_bogies(self), outline(self)
        inertia = box(self.steer_mass, (0.10, 0.10, 0.30))
        for wheel in WHEELS:
            row, side = wheel.split("_")
            top, axle = (
                on_side((rows[row], across, height), side) for height in (self.bogie_height, self.wheel_radius)
            )
            middle = (axle[0], on_side((0.0, inboard, 0.0), side)[1], 0.5 * (top[2] + axle[2]))
            steer = f"{wheel}_steer"
            builder.add_body(
                bogie_of(wheel), f"{wheel}_steering", VERTICAL, steer, self.steer_mass, inertia, top, middle
            )
            builder.wheel(wheel, steer, self.wheel_mass, self.wheel_radius, self.wheel_width, axle)
        return builder.tree()


exomars = ExomarsParameters.make


@dataclass(frozen=True)
class ExomarsLikeParameters(OutlinedParameters):
    """The ExoMars-like rover of MacMahon 2016, 4.3: track and wheelbase quoted, all else assumed.

    About 144 kg in all. With walking and steering locked at zero it has 15 speeds; 27 with both free. The base frame
    lies on the ground under the main body; the wheels of `neutral()` touch z = 0.

    The wheelbase is scaled up by as much as the track is over the published 1.26 m by 1.31 m. The masses are light
    above and heavy below, which brings the peak of effective kinetic energy near 70 degrees (71 here), the thesis's
    figure (5.5); other plausible masses put it anywhere between 50 and 75, so that peak confirms nothing.
    """

    bogie_mass: float = quantity(4.0, "kg", 0.1, 100, "of each of the three bogies")
    body_mass: float = quantity(60.0, "kg", 1, 1000, "of the main body")
    wheel_mass: float = quantity(4.0, "kg", 0.1, 100, "of each of the six wheels")
    leg_mass: float = quantity(5.0, "kg", 0.1, 100, "of each leg with its actuator")
    arm_mass: float = quantity(3.0, "kg", 0.1, 100, "of each lower bracket with its actuator")
    wheelbase: float = quantity(1.395, "m", 0.1, 10, "front to rear wheel centres")
    track: float = quantity(1.45, "m", 0.1, 10, "between the outer faces of the wheels of either side")
    bogie_height: float = quantity(0.4, "m", 0.05, 5, "of the bogie pivots over ground")
    walking_height: float = quantity(0.36, "m", 0.05, 5, "of the walking joints at the bogies' ends")
    wheel_radius: float = quantity(0.1425, "m", 0.02, 2, "of every wheel")
    wheel_width: float = quantity(0.12, "m", 0.01, 1, "of every wheel")
    body_length: float = quantity(0.9, "m", 0.05, 5, "of the main body, a box for its inertia")
    body_width: float = quantity(0.7, "m", 0.05, 5, "of the main body")
    body_height: float = quantity(0.35, "m", 0.05, 5, "of the main body")
    body_com_height: float | None = quantity(
        None, "m", 0.05, 5, "of the main body's centre of mass over ground; null: half of body_height_m over the bogies"
    )
    bogie_stop: float = quantity(30.0, "deg", 1, 90, "of each bogie from level to its stop, either way; assumed")

    rover = "exomars_like"
    cylinder_joints = SIDE_BOGIES

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels, or legs of no length."""
        wrong = wheels_meet(self.wheelbase, self.track, self.wheel_radius, self.wheel_width)
        wrong += geometry_error(
            "walking_height", self.walking_height, self.wheel_radius, "the arms end below the axles"
        )
        return wrong

    def tree(self) -> Tree:
        """All 22 bodies and 21 joints, walking and steering locked at zero."""
        builder, (rows, across, inboard) = draw_body_on_bogies(self, self.body_com_height), outline(self)
        drop = self.walking_height - self.wheel_radius
        for wheel in WHEELS:
            row, side = wheel.split("_")
            arm, leg = f"{wheel}_arm", f"{wheel}_leg"
            # arm: from the walking joint down to a quarter of the height; leg: the rest, next to the wheel
            hip, knee, shin, axle = (
                on_side((rows[row], y, self.walking_height - share * drop), side)
                for y, share in ((across, 0.0), (across, 0.25), (inboard, 0.75), (across, 1.0))
            )
            inertia = box(self.arm_mass, (0.10, 0.10, 0.15))
            builder.add_body(
                bogie_of(wheel), f"{wheel}_walking", LATERAL, arm, self.arm_mass, inertia, hip, locked_at=0.0
            )
            inertia = box(self.leg_mass, (0.10, 0.10, 0.20))
            builder.add_body(arm, f"{wheel}_steering", VERTICAL, leg, self.leg_mass, inertia, knee, shin, locked_at=0.0)
            builder.wheel(wheel, leg, self.wheel_mass, self.wheel_radius, self.wheel_width, axle)
        return builder.tree()


exomars_like = ExomarsLikeParameters.make
