"""The ExoMars-like rover of MacMahon 2016, 4.3: 22 bodies, with the steering joints below the walking joints.

Main body, three bogies, six arms (lower bracket and actuator), six legs (leg and actuator) and six wheels (Table 4-2).
The thesis gives the number and order of the bodies, the track and the rule for the wheelbase, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.rover.assembly import (
    LATERAL,
    STOP,
    VERTICAL,
    WHEELS,
    bogie_of,
    box,
    geometry_error,
    on_side,
    wheels_meet,
)
from models.rover.outline import OutlinedParameters, draw_body_on_bogies, outline
from models.rover.rover import Rover
from models.rover.tree import Tree


@dataclass(frozen=True)
class ExomarsLikeParameters(OutlinedParameters):
    """Sizes and masses [m, kg]; about 144 kg in all.

    From MacMahon 2016, 4.3: the track, and the wheelbase scaled up by as much as the track is over the published
    1.26 m by 1.31 m. All others are assumptions of this project. They are light above and heavy below, which
    brings the peak of effective kinetic energy near 70 degrees (71 here), the thesis's figure (5.5); other
    plausible masses put it anywhere between 50 and 75, so that peak confirms nothing.

    Attributes:
        track: between the outer faces of the wheels of either side.
        bogie_height: of the bogie pivots over ground.
        walking_height: of the walking joints at the ends of the bogies.
        body_com_height: of the main body's centre of mass over ground; None: its floor is at the bogies' pivots.
    """

    wheel_mass: float = 4.0
    leg_mass: float = 5.0
    arm_mass: float = 3.0
    bogie_mass: float = 4.0
    body_mass: float = 60.0
    wheelbase: float = 1.395
    track: float = 1.45
    bogie_height: float = 0.40
    walking_height: float = 0.36
    wheel_radius: float = 0.1425
    wheel_width: float = 0.12
    body_length: float = 0.9
    body_width: float = 0.7
    body_height: float = 0.35
    bogie_stop: float = STOP
    body_com_height: float | None = None

    rover = "exomars_like"

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels, or legs of no length."""
        wrong = wheels_meet(self.wheelbase, self.track, self.wheel_radius, self.wheel_width)
        wrong += geometry_error(
            "walking_height", self.walking_height, self.wheel_radius, "the arms end below the axles"
        )
        return wrong


def exomars_like(*, locks: Mapping[str, float | None] | None = None, **parameters: float) -> Rover:
    """The ExoMars-like rover with walking and steering locked at zero: 15 speeds; 27 with both free.

    The base frame lies on the ground under the main body; the wheels of `neutral()` touch z = 0.

    Args:
        locks: see `models.rover.rcp`.
        **parameters: any field of `ExomarsLikeParameters`.

    Raises:
        ValueError: a parameter out of range, an impossible geometry, or a lock of an unknown joint.
        TypeError: an unknown parameter.
    """
    return Rover(exomars_like_tree(ExomarsLikeParameters(**parameters)).with_locks(locks or {}))


def exomars_like_tree(p: ExomarsLikeParameters) -> Tree:
    """All 22 bodies and 21 joints, walking and steering locked at zero."""
    builder, (rows, across, inboard) = draw_body_on_bogies(p, p.body_com_height), outline(p)
    drop = p.walking_height - p.wheel_radius
    for wheel in WHEELS:
        row, side = wheel.split("_")
        arm, leg = f"{wheel}_arm", f"{wheel}_leg"
        # arm: from the walking joint a quarter of the way down; leg: the rest, beside the wheel
        hip, knee, shin, axle = (
            on_side((rows[row], y, p.walking_height - share * drop), side)
            for y, share in ((across, 0.0), (across, 0.25), (inboard, 0.75), (across, 1.0))
        )
        inertia = box(p.arm_mass, (0.10, 0.10, 0.15))
        builder.add_body(bogie_of(wheel), f"{wheel}_walking", LATERAL, arm, p.arm_mass, inertia, hip, locked_at=0.0)
        inertia = box(p.leg_mass, (0.10, 0.10, 0.20))
        builder.add_body(arm, f"{wheel}_steering", VERTICAL, leg, p.leg_mass, inertia, knee, shin, locked_at=0.0)
        builder.wheel(wheel, leg, p.wheel_mass, p.wheel_radius, p.wheel_width, axle)
    return builder.tree()
