"""The ExoMars rover of Acary 2013, section 3.1: 21 degrees of freedom.

Six for the base, six wheel spins, six steers and three passive bogies, one at each side in front and one at the rear;
the payload is a uniform box. Acary gives no dimension and no mass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.rover.assembly import (
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
class ExomarsParameters(OutlinedParameters):
    """Sizes and masses [m, kg]; about 179 kg in all.

    Wheelbase and track are the published flight design (quoted by MacMahon 2016, 4.3), body and wheel mass those of
    another Mars rover (Xu 2021, section 4), whose wheel inertia of 2 kg m^2 fits no wheel of that mass: ours is that of
    a uniform cylinder. All others are assumptions of this project.

    Attributes:
        track: between the outer faces of the wheels of either side.
        bogie_height: of the bogie pivots over ground; the steering units are below them.
    """

    wheel_mass: float = 3.674
    steer_mass: float = 3.0
    bogie_mass: float = 4.0
    body_mass: float = 127.0
    wheelbase: float = 1.26
    track: float = 1.31
    bogie_height: float = 0.40
    wheel_radius: float = 0.1425
    wheel_width: float = 0.12
    body_length: float = 0.9
    body_width: float = 0.7
    body_height: float = 0.4
    bogie_stop: float = STOP

    rover = "exomars"

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels, or steering units of no length."""
        wrong = wheels_meet(self.wheelbase, self.track, self.wheel_radius, self.wheel_width)
        return wrong + geometry_error(
            "bogie_height", self.bogie_height, self.wheel_radius, "the bogies lie below the axles"
        )


def exomars(*, locks: Mapping[str, float | None] | None = None, **parameters: float) -> Rover:
    """Acary's ExoMars with all joints free, steering too: 21 speeds.

    The base frame lies on the ground under the main body; the wheels of `neutral()` touch z = 0.

    Args:
        locks: see `models.rover.rcp`; {"steering": 0.0} leaves 15 speeds.
        **parameters: any field of `ExomarsParameters`.

    Raises:
        ValueError: a parameter out of range, an impossible geometry, or a lock of an unknown joint.
        TypeError: an unknown parameter.
    """
    return Rover(exomars_tree(ExomarsParameters(**parameters)).with_locks(locks or {}))


def exomars_tree(p: ExomarsParameters) -> Tree:
    """All 16 bodies and 15 joints, none locked."""
    builder, (rows, across, inboard) = draw_body_on_bogies(p), outline(p)
    inertia = box(p.steer_mass, (0.10, 0.10, 0.30))
    for wheel in WHEELS:
        row, side = wheel.split("_")
        top, axle = (on_side((rows[row], across, height), side) for height in (p.bogie_height, p.wheel_radius))
        middle = (axle[0], on_side((0.0, inboard, 0.0), side)[1], 0.5 * (top[2] + axle[2]))
        steer = f"{wheel}_steer"
        builder.add_body(bogie_of(wheel), f"{wheel}_steering", VERTICAL, steer, p.steer_mass, inertia, top, middle)
        builder.wheel(wheel, steer, p.wheel_mass, p.wheel_radius, p.wheel_width, axle)
    return builder.tree()
