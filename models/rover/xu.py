"""Xu's Mars rover (Xu 2021, sections 1 and 4): a rocker-bogie whose four arms can be driven, all six wheels steered.

A control joint stands between either output of the differential and its main arm, and between either main arm and its
secondary arm. With six drives and six steers these are the 16 independent joints of the source; the differential is a
17th, which nothing drives. Here a main arm is locked to its output and a secondary arm turns freely, the passive
rocker-bogie that he starts from, until servos drive them: free or servo-driven joints are those without a lock.

Quoted: body 127 kg with 40 kg m^2 about each axis, wheel 3.674 kg with 2 kg m^2 about each axis, "the other parts are
small". All other numbers are assumptions. No wheel of 3.674 kg has 2 kg m^2: its radius of gyration would be 0.74 m. It
is the default because it is printed. At the rims six such wheels are as heavy as 533 kg, so what the rover does in its
first seconds is governed by them: `wheel_inertia=0.041` is a uniform cylinder's.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.rover.assembly import (
    LATERAL,
    LENGTHWISE,
    VERTICAL,
    WHEELS,
    TreeBuilder,
    box,
    geometry_error,
    on_side,
    wheels_meet,
)
from models.rover.outline import OutlinedParameters, outline
from models.rover.parameters import quantity
from models.rover.ties import Coupling
from models.rover.tree import Body, Tree

# Shares of the gimbal in the antenna's mass, and of the pole in the mast's: assumptions.
_GIMBAL, _POLE = 0.3, 0.5


@dataclass(frozen=True)
class XuParameters(OutlinedParameters):
    """The rover of Xu 2021: body and wheels quoted, also the wheels' inertia, which no such wheel has; else assumed.

    About 170 kg. With steering and main arms locked it has 15 speeds (6 base, differential, 2 secondary arms, 6
    wheels); `locks={"steering": None, "arm": None}` frees his 16 independent joints: 23 speeds. The joints are
    SIDE_rocker (differential output), SIDE_arm (main arm), SIDE_bogie (secondary arm), WHEEL_steering and WHEEL_drive.

    He names four solar wings with a joint each, an antenna with two and a mast with three, 25 independent joints in
    all, and prints no number of them: there are those whose mass is given, locked until servos drive them. The joints
    are WHEEL_wing of the four corners, antenna_pan, antenna_tilt, mast_foot, mast_pan and mast_tilt.

    The base frame lies on the ground under the main body; the wheels of `neutral()` touch z = 0.

    Example:
        >>> whole = xu(
        ...     wing_mass=2.0,
        ...     antenna_mass=3.0,
        ...     mast_mass=4.0,
        ...     locks=dict.fromkeys(("steering", "arm", "wing", "pan", "tilt", "foot")),
        ... )
        >>> whole.nv - 6 - 1  # without the base and the differential
        25
    """

    output_mass: float = quantity(1.0, "kg", 0.1, 100, "of each output of the differential")
    rocker_mass: float = quantity(4.0, "kg", 0.1, 100, "of each of the two main arms")
    bogie_mass: float = quantity(2.5, "kg", 0.1, 100, "of each of the two secondary arms")
    body_mass: float = quantity(127.0, "kg", 1, 1000, "of the main body")
    wheel_mass: float = quantity(3.674, "kg", 0.1, 100, "of each of the six wheels")
    steer_mass: float = quantity(1.0, "kg", 0.1, 100, "of each steering unit")
    body_inertia: float = quantity(40.0, "kgm2", 0.1, 1000, "of the main body about each axis")
    wheel_inertia: float = quantity(
        2.0, "kgm2", 1e-3, 100, "of each wheel about each axis, as printed; 0.041: a uniform cylinder about its axle"
    )
    wheelbase: float = quantity(1.4, "m", 0.1, 10, "front to rear wheel centres")
    track: float = quantity(1.3, "m", 0.1, 10, "between the outer faces of the wheels of either side")
    rocker_height: float = quantity(0.5, "m", 0.05, 5, "of differential and main arms' pivots over ground")
    bogie_height: float = quantity(0.35, "m", 0.05, 5, "of the secondary arms' pivots on the main arms")
    wheel_radius: float = quantity(0.15, "m", 0.02, 2, "of every wheel")
    wheel_width: float = quantity(0.15, "m", 0.01, 1, "of every wheel")
    body_length: float = quantity(0.9, "m", 0.05, 5, "of the main body, where it meets the ground")
    body_width: float = quantity(0.7, "m", 0.05, 5, "of the main body")
    body_height: float = quantity(0.4, "m", 0.05, 5, "of the main body")
    bogie_stop: float = quantity(
        30.0, "deg", 1, 90, "of each secondary arm from level to its stop, either way; assumed"
    )
    rocker_stop: float = quantity(30.0, "deg", 1, 90, "of the differential from level to its stop, either way; assumed")
    arm_stop: float = quantity(40.0, "deg", 1, 90, "of each main arm on its output, either way; assumed")
    wing_mass: float | None = quantity(None, "kg", 0.01, 100, "of each of the four solar wings; null: none", later=True)
    wing_length: float = quantity(
        0.7, "m", 0.05, 5, "of each wing, from its hinge on the body's upper edge", later=True
    )
    antenna_mass: float | None = quantity(None, "kg", 0.01, 100, "of the antenna; null: none", later=True)
    antenna_width: float = quantity(0.4, "m", 0.05, 5, "of the antenna's dish", later=True)
    mast_mass: float | None = quantity(None, "kg", 0.01, 100, "of the mast with its head; null: none", later=True)
    mast_height: float = quantity(0.8, "m", 0.05, 5, "of the mast over the body", later=True)

    rover = "xu"
    shaping = ("wing_mass", "antenna_mass", "mast_mass")

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels, or pivots below the axles."""
        wrong = wheels_meet(self.wheelbase, self.track, self.wheel_radius, self.wheel_width)
        wrong += geometry_error("bogie_height", self.bogie_height, self.wheel_radius, "the arms lie below the axles")
        return wrong + geometry_error(
            "rocker_height", self.rocker_height, self.wheel_radius, "the arms lie below the axles"
        )

    def tree(self) -> Tree:
        """All 19 bodies and 18 joints, steering and main arms locked at zero, the differential coupled."""
        size = (self.body_length, self.body_width, self.body_height)
        centre = (0.0, 0.0, self.rocker_height + 0.25 * self.body_height)
        inertia = (self.body_inertia, self.body_inertia, self.body_inertia)
        builder = TreeBuilder(self.rover, Body("main_body", self.body_mass, centre, inertia, size))
        rows, across, inboard = outline(self)
        for side in ("left", "right"):
            output, arm, bogie = f"{side}_rocker", f"{side}_arm", f"{side}_bogie"
            pivot = on_side((0.1 * self.wheelbase, inboard, self.rocker_height), side)
            end = on_side((0.5 * rows["rear"], inboard, self.bogie_height), side)
            builder.add_body(
                "main_body", output, LATERAL, output, self.output_mass, box(self.output_mass, (0.1, 0.1, 0.1)), pivot,
                stop=self.rocker_stop,
            )  # fmt: skip
            middle = (0.5 * (rows["front"] + end[0]), pivot[1], 0.5 * (self.rocker_height + self.bogie_height))
            moments = box(self.rocker_mass, (0.75 * self.wheelbase, 0.06, 0.15))
            builder.add_body(
                output, arm, LATERAL, arm, self.rocker_mass, moments, pivot, middle, locked_at=0.0, stop=self.arm_stop
            )
            moments = box(self.bogie_mass, (0.5 * self.wheelbase, 0.06, 0.10))
            builder.add_body(arm, bogie, LATERAL, bogie, self.bogie_mass, moments, end, stop=self.bogie_stop)
        moments = box(self.steer_mass, (0.08, 0.08, 0.20))
        for wheel in WHEELS:
            row, side = wheel.split("_")
            carrier = f"{side}_arm" if row == "front" else f"{side}_bogie"
            steer = f"{wheel}_steer"
            top = on_side((rows[row], across, self.bogie_height), side)
            builder.add_body(
                carrier, f"{wheel}_steering", VERTICAL, steer, self.steer_mass, moments, top, locked_at=0.0
            )
            builder.wheel(
                wheel, steer, self.wheel_mass, self.wheel_radius, self.wheel_width, (*top[:2], self.wheel_radius),
                self.wheel_inertia,
            )  # fmt: skip
        top_m = centre[2] + 0.5 * self.body_height
        self._add_wings(builder, top_m)
        self._add_antenna(builder, top_m)
        self._add_mast(builder, top_m)
        return builder.tree([Coupling("right_rocker", (("left_rocker", -1.0),))])

    def _add_wings(self, builder: TreeBuilder, top_m: float) -> None:
        """Two at either side, spread level from hinges along the body's upper edges."""
        mass, ahead = self.wing_mass, 0.25 * self.body_length
        if mass is None:
            return
        moments = box(mass, (2.0 * ahead, self.wing_length, 0.02))
        for row, x in (("front", ahead), ("rear", -ahead)):
            for side in ("left", "right"):
                hinge = on_side((x, 0.5 * self.body_width, top_m), side)
                middle = on_side((x, 0.5 * (self.body_width + self.wing_length), top_m), side)
                wing = f"{row}_{side}_wing"
                builder.add_body("main_body", wing, LENGTHWISE, wing, mass, moments, hinge, middle, locked_at=0.0)

    def _add_antenna(self, builder: TreeBuilder, top_m: float) -> None:
        """A dish on a gimbal behind the body's middle, which looks up at zero."""
        if self.antenna_mass is None:
            return
        width, ahead = self.antenna_width, -0.3 * self.body_length
        joint, middle = (ahead, 0.0, top_m + 0.5 * width), (ahead, 0.0, top_m + 0.25 * width)
        mass = _GIMBAL * self.antenna_mass
        moments = box(mass, (0.25 * width, 0.25 * width, 0.5 * width))
        builder.add_body(
            "main_body", "antenna_pan", VERTICAL, "antenna_gimbal", mass, moments, joint, middle, locked_at=0.0
        )
        mass = (1.0 - _GIMBAL) * self.antenna_mass
        moments = box(mass, (width, width, 0.1 * width))
        builder.add_body("antenna_gimbal", "antenna_tilt", LATERAL, "antenna_dish", mass, moments, joint, locked_at=0.0)

    def _add_mast(self, builder: TreeBuilder, top_m: float) -> None:
        """A pole that is folded at its foot, and on it a head that pans and tilts; upright and ahead at zero."""
        if self.mast_mass is None:
            return
        foot = (0.4 * self.body_length, 0.0, top_m)
        middle, top = (*foot[:2], top_m + 0.5 * self.mast_height), (*foot[:2], top_m + self.mast_height)
        mass = _POLE * self.mast_mass
        moments = box(mass, (0.06, 0.06, self.mast_height))
        builder.add_body("main_body", "mast_foot", LATERAL, "mast_pole", mass, moments, foot, middle, locked_at=0.0)
        mass = 0.5 * (1.0 - _POLE) * self.mast_mass
        for carrier, joint, axis, body, size in (
            ("mast_pole", "mast_pan", VERTICAL, "mast_neck", (0.1, 0.1, 0.1)),
            ("mast_neck", "mast_tilt", LATERAL, "mast_head", (0.15, 0.35, 0.15)),
        ):
            builder.add_body(carrier, joint, axis, body, mass, box(mass, size), top, locked_at=0.0)


xu = XuParameters.make
