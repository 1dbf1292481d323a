"""The rover's part of a rig config: its type, and the values that no source publishes.

Keys directly under `rover` describe the bodies of the RCP, and of `parametric`, which places the same bodies from a few
lengths. Every other rover has a separate section.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hil.config.schema.base import Section

if TYPE_CHECKING:
    from models.rover import Parameters

# Radius of every wheel of the RCP: from the wheel height of MacMahon 2016, Table 4-1.
_RCP_WHEEL_RADIUS_M = 0.175


class ParametricRover(Section):
    """Inputs of MacMahon 2016, Figure 4-2: with these defaults the RCP of Table 4-1 on wheels 0.15 m wide."""

    wheelbase_m: float = Field(1.073, ge=0.1, le=10, description="front to rear wheel centres at walking angle zero")
    track_m: float = Field(1.0604, ge=0.1, le=10, description="between the outer faces of the wheels of either side")
    walking_angle_deg: float = Field(
        0.0, ge=-80, le=80, description="of the legs: the front ones forward, the others backward"
    )
    leg_length_m: float = Field(0.2961, ge=0.01, le=5, description="from the wheel centre to the walking joint")
    bogie_height_m: float = Field(0.4711, ge=0.05, le=5, description="of the bogie joints over ground at that angle")
    wheel_radius_m: float = Field(0.175, ge=0.02, le=2, description="of every wheel")
    arm_width_m: float = Field(0.0578, ge=0.001, le=2, description="of an arm, its inner face flush with the wheel's")


class ExomarsLikeRover(Section):
    """The ExoMars-like rover of MacMahon 2016, 4.3: track and wheelbase quoted, all else assumed."""

    wheel_mass_kg: float = Field(4.0, ge=0.1, le=100, description="of each of the six wheels")
    leg_mass_kg: float = Field(5.0, ge=0.1, le=100, description="of each leg with its actuator")
    arm_mass_kg: float = Field(3.0, ge=0.1, le=100, description="of each lower bracket with its actuator")
    bogie_mass_kg: float = Field(4.0, ge=0.1, le=100, description="of each of the three bogies")
    body_mass_kg: float = Field(60.0, ge=1, le=1000, description="of the main body")
    wheelbase_m: float = Field(1.395, ge=0.1, le=10, description="front to rear wheel centres")
    track_m: float = Field(1.45, ge=0.1, le=10, description="between the outer faces of the wheels of either side")
    bogie_height_m: float = Field(0.4, ge=0.05, le=5, description="of the bogie pivots over ground")
    walking_height_m: float = Field(0.36, ge=0.05, le=5, description="of the walking joints at the bogies' ends")
    wheel_radius_m: float = Field(0.1425, ge=0.02, le=2, description="of every wheel")
    wheel_width_m: float = Field(0.12, ge=0.01, le=1, description="of every wheel")
    body_length_m: float = Field(0.9, ge=0.05, le=5, description="of the main body, a box for its inertia")
    body_width_m: float = Field(0.7, ge=0.05, le=5, description="of the main body")
    body_height_m: float = Field(0.35, ge=0.05, le=5, description="of the main body")
    body_com_height_m: float | None = Field(
        None,
        ge=0.05,
        le=5,
        description="of the main body's centre of mass over ground; null: half of body_height_m over the bogies",
    )
    bogie_stop_deg: float = Field(
        30.0, ge=1, le=90, description="of each bogie from level to its stop, either way; assumed"
    )


class ExomarsRover(Section):
    """The ExoMars rover of Acary 2013, section 3.1, steering locked: flight wheelbase and track, masses of Xu 2021."""

    wheel_mass_kg: float = Field(3.674, ge=0.1, le=100, description="of each of the six wheels")
    steer_mass_kg: float = Field(3.0, ge=0.1, le=100, description="of each steering unit")
    bogie_mass_kg: float = Field(4.0, ge=0.1, le=100, description="of each of the three bogies")
    body_mass_kg: float = Field(127.0, ge=1, le=1000, description="of the main body")
    wheelbase_m: float = Field(1.26, ge=0.1, le=10, description="front to rear wheel centres")
    track_m: float = Field(1.31, ge=0.1, le=10, description="between the outer faces of the wheels of either side")
    bogie_height_m: float = Field(0.4, ge=0.05, le=5, description="of the bogie pivots over ground")
    wheel_radius_m: float = Field(0.1425, ge=0.02, le=2, description="of every wheel")
    wheel_width_m: float = Field(0.12, ge=0.01, le=1, description="of every wheel")
    body_length_m: float = Field(0.9, ge=0.05, le=5, description="of the main body, a box for its inertia")
    body_width_m: float = Field(0.7, ge=0.05, le=5, description="of the main body")
    body_height_m: float = Field(0.4, ge=0.05, le=5, description="of the main body")
    bogie_stop_deg: float = Field(
        30.0, ge=1, le=90, description="of each bogie from level to its stop, either way; assumed"
    )


class RockerBogieRover(Section):
    """A rocker-bogie with a differential, after Xu 2021: body and wheel masses quoted, all else assumed."""

    wheel_mass_kg: float = Field(3.674, ge=0.1, le=100, description="of each of the six wheels")
    steer_mass_kg: float = Field(2.0, ge=0.1, le=100, description="of each steering unit")
    rocker_mass_kg: float = Field(8.0, ge=0.1, le=100, description="of each of the two rockers")
    bogie_mass_kg: float = Field(5.0, ge=0.1, le=100, description="of each of the two bogies")
    body_mass_kg: float = Field(127.0, ge=1, le=1000, description="of the main body")
    wheelbase_m: float = Field(1.4, ge=0.1, le=10, description="front to rear wheel centres")
    track_m: float = Field(1.3, ge=0.1, le=10, description="between the outer faces of the wheels of either side")
    rocker_height_m: float = Field(0.5, ge=0.05, le=5, description="of the rockers' pivots over ground")
    bogie_height_m: float = Field(0.35, ge=0.05, le=5, description="of the bogies' pivots on the rockers")
    wheel_radius_m: float = Field(0.15, ge=0.02, le=2, description="of every wheel")
    wheel_width_m: float = Field(0.15, ge=0.01, le=1, description="of every wheel")
    body_length_m: float = Field(0.9, ge=0.05, le=5, description="of the main body, a box for its inertia")
    body_width_m: float = Field(0.7, ge=0.05, le=5, description="of the main body")
    body_height_m: float = Field(0.4, ge=0.05, le=5, description="of the main body")
    bogie_stop_deg: float = Field(
        30.0, ge=1, le=90, description="of each bogie from level to its stop, either way; assumed"
    )
    rocker_stop_deg: float = Field(
        30.0, ge=1, le=90, description="of each rocker from level to its stop, either way; assumed"
    )


class JunoRover(Section):
    """The Juno rover of Petersen 2012, 6.1: total mass, wheels, wheelbase and track quoted, all else assumed."""

    wheel_mass_kg: float = Field(9.6, ge=0.1, le=100, description="of each of the four wheels")
    rocker_mass_kg: float = Field(45.0, ge=0.1, le=1000, description="of each main rocker with motor, gear and chain")
    frame_mass_kg: float = Field(12.0, ge=0.1, le=1000, description="of the transverse rocker, which does not tilt")
    rod_mass_kg: float = Field(1.0, ge=0.01, le=100, description="of each of its two rods")
    chassis_mass_kg: float = Field(175.3, ge=1, le=2000, description="of the chassis: 317.7 kg in all")
    wheelbase_m: float = Field(0.85, ge=0.1, le=10, description="front to rear wheel centres")
    track_m: float = Field(1.2, ge=0.1, le=10, description="between the centres of the wheels of either side")
    pivot_height_m: float = Field(0.35, ge=0.05, le=5, description="of the rockers' pivots over ground")
    chassis_height_m: float = Field(0.45, ge=0.05, le=5, description="of the chassis' centre of mass over ground")
    wheel_radius_m: float = Field(0.2794, ge=0.02, le=2, description="of every wheel, lugs included")
    wheel_width_m: float = Field(0.25, ge=0.01, le=1, description="of every tyre")
    chassis_length_m: float = Field(1.0, ge=0.05, le=5, description="of the chassis, a box for its inertia")
    chassis_width_m: float = Field(0.7, ge=0.05, le=5, description="of the chassis")
    chassis_depth_m: float = Field(0.35, ge=0.05, le=5, description="of the chassis, upright")
    tilt_angle_deg: float = Field(0.0, ge=-30, le=30, description="of the chassis by its actuator, positive nose up")
    rocker_stop_deg: float = Field(
        30.0, ge=1, le=90, description="of each rocker from level to its stop, either way; assumed"
    )
    chains: bool = Field(
        True, description="true: one motor a side and a chain to the other wheel; false: one motor a wheel"
    )


class PayloadLoad(Section):
    """The payload of the rover: a uniform cube fixed to its main body."""

    mass_kg: float = Field(0.0, ge=0, le=1000, description="0: none")
    x_m: float = Field(0.0, ge=-5, le=5, description="its centre, ahead of the base frame's origin")
    y_m: float = Field(0.0, ge=-5, le=5, description="its centre, to port of that origin")
    z_m: float = Field(0.0, ge=-5, le=5, description="its centre, over the ground that the rover stands on")
    edge_m: float = Field(0.2, ge=0.01, le=5, description="of the cube, for its inertia")


class DrawbarLoad(Section):
    """A constant pull backwards at a point of the main body; the rover settles under it with its axles held."""

    pull_N: float = Field(0.0, ge=-1e4, le=1e4, description="along the body, positive backwards; 0: none")
    x_m: float = Field(0.0, ge=-5, le=5, description="where it acts, ahead of the base frame's origin")
    y_m: float = Field(0.0, ge=-5, le=5, description="where it acts, to port of that origin")
    z_m: float = Field(0.0, ge=-5, le=5, description="where it acts, over the ground that the rover stands on")


_VariantSection = ParametricRover | ExomarsLikeRover | ExomarsRover | RockerBogieRover | JunoRover


class RoverConfig(Section):
    """The rover: values that no source publishes. The RCP's positions come from MacMahon 2016, Table 4-1."""

    type: Literal["rcp", "parametric", "exomars_like", "exomars", "rocker_bogie", "juno"] = Field(
        "rcp", description="type of the rover"
    )
    wheel_mass_kg: float = Field(4.0, ge=0.1, le=100, description="of each of the six wheels")
    leg_mass_kg: float = Field(2.0, ge=0.1, le=100, description="of each leg")
    steer_mass_kg: float = Field(1.0, ge=0.1, le=100, description="of each steering unit")
    arm_mass_kg: float = Field(1.0, ge=0.1, le=100, description="of each arm, rigid on its bogie")
    bogie_mass_kg: float = Field(4.0, ge=0.1, le=100, description="of each of the three bogies")
    body_mass_kg: float = Field(60.0, ge=1, le=1000, description="of the main body")
    added_mass_kg: float = Field(0.0, ge=0, le=500, description="of added weights, half at either end of the body")
    wheel_width_m: float = Field(0.15, ge=0.01, le=1, description="of each wheel")
    body_length_m: float = Field(0.7, ge=0.05, le=5, description="of the main body, a box for its inertia")
    body_width_m: float = Field(0.5, ge=0.05, le=5, description="of the main body")
    body_height_m: float = Field(0.3, ge=0.05, le=5, description="of the main body")
    body_com_height_m: float | None = Field(
        None,
        ge=0.05,
        le=5,
        description="of the main body's centre of mass over ground; null: 0.8246 of Table 4-1 with rcp, half of "
        "body_height_m over the bogies with parametric",
    )
    bogie_length_m: float = Field(0.55, ge=0.05, le=5, description="of each bogie, a box for its inertia")
    bogie_stop_deg: float = Field(
        30.0, ge=1, le=90, description="of each bogie from level to its stop, either way; assumed"
    )
    parametric: ParametricRover = Field(default_factory=ParametricRover, description="lengths of type parametric")
    exomars_like: ExomarsLikeRover = Field(default_factory=ExomarsLikeRover, description="type exomars_like")
    exomars: ExomarsRover = Field(default_factory=ExomarsRover, description="type exomars")
    rocker_bogie: RockerBogieRover = Field(default_factory=RockerBogieRover, description="type rocker_bogie")
    juno: JunoRover = Field(default_factory=JunoRover, description="type juno")
    payload: PayloadLoad = Field(default_factory=PayloadLoad, description="the payload")
    drawbar: DrawbarLoad = Field(default_factory=DrawbarLoad, description="a pull on the main body")

    @property
    def variant_section(self) -> _VariantSection | None:
        """The section of this type; None for the RCP, which has none."""
        section: _VariantSection | None = getattr(self, self.type, None)
        return section

    @property
    def steers(self) -> bool:
        """Whether its wheels have steering joints, which a rig locks."""
        return self.type != "juno"

    @property
    def wheel_radius_m(self) -> float:
        """Radius of every wheel's rim."""
        return self.variant_section.wheel_radius_m if self.variant_section else _RCP_WHEEL_RADIUS_M

    def parameters(self) -> Parameters:
        """The same numbers as parameters of `models.rover` [kg, m, rad].

        Raises:
            ValueError: the sizes are not consistent.
        """
        from models.rover import ROVERS  # imports numba, which is not needed to read a config

        values = self.variant_section.model_dump() if self.variant_section else {}
        if self.type in ("rcp", "parametric"):
            values |= {name: value for name, value in self.model_dump().items() if isinstance(value, float)}
        return ROVERS[self.type].parameters(**dict(_in_si(name, value) for name, value in values.items()))


def _in_si(key: str, value: float | bool) -> tuple[str, float | bool]:
    """A config key without its unit, and its value in the models' units; a choice (bool) has no unit."""
    if isinstance(value, bool):
        return key, value
    name, unit = key.rsplit("_", 1)
    return name, math.radians(value) if unit == "deg" else value
