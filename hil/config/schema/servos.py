"""The servos of driven joints: walking, steering, active suspension.

The driven joints of a config, one by one, in the models' units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from hil.config.schema.base import Section
from models.rover.tree import Tree

Angle = Annotated[float, Field(ge=-360, le=360)]
Way = Annotated[float, Field(ge=-5000, le=5000)]


class _ServoConfig(Section):
    """One driven joint, or all of a kind. A number that is null here is that of the section servos."""

    start_deg: Angle | None = Field(
        None, description="angle at the start; null: that at which the type of rover locks the joint, or 0"
    )
    range_deg: Annotated[tuple[Angle, ...], Field(strict=False, min_length=2, max_length=2)] = Field(
        (-45.0, 45.0), description="least and largest angle that may be commanded [deg]"
    )
    rate_degps: float | None = Field(None, ge=0.01, le=720, description="as servos.rate_degps")
    acceleration_degps2: float | None = Field(None, ge=0.1, le=1e5, description="as servos.acceleration_degps2")
    torque_limit_Nm: float | None = Field(None, ge=0.1, le=1e4, description="as servos.torque_limit_Nm")
    position_gain: float | None = Field(None, ge=0.1, le=1000, description="as servos.position_gain [1/s]")
    velocity_gain: float | None = Field(None, ge=0.1, le=1e6, description="as servos.velocity_gain [N m s/rad]")
    gear_friction_Nm: float | None = Field(None, ge=0, le=1000, description="as servos.gear_friction_Nm")


class _SlideConfig(Section):
    """One driven joint that slides, or all of a kind: a spindle or a linear drive."""

    start_mm: Way | None = Field(
        None, description="way at the start; null: that at which the type of rover locks the joint, or 0"
    )
    range_mm: Annotated[tuple[Way, ...], Field(strict=False, min_length=2, max_length=2)] = Field(
        (-50.0, 50.0), description="least and largest way that may be commanded [mm]"
    )
    rate_mmps: float = Field(20.0, ge=0.01, le=2000, description="largest speed of the joint, commanded and moved")
    acceleration_mmps2: float = Field(500.0, ge=0.1, le=1e6, description="largest change of the commanded speed")
    force_limit_N: float = Field(2000.0, ge=0.1, le=1e6, description="largest force of the motor, at the joint")
    position_gain: float = Field(20.0, ge=0.1, le=1000, description="speed over the error of the way [1/s]")
    velocity_gain: float = Field(1e5, ge=0.1, le=1e8, description="force over the error of the speed [N s/m]")
    gear_friction_N: float = Field(20.0, ge=0, le=1e5, description="Coulomb friction of the spindle, at the joint")
    friction_speed_mmps: float = Field(
        1.0, ge=1e-3, le=1000, description="below this speed, that friction is proportional to the speed"
    )
    coast_damping: float = Field(2000.0, ge=0, le=1e8, description="damping with the bridge open [N s/m]")
    brake_damping: float = Field(2e5, ge=0, le=1e9, description="damping with the motor shorted [N s/m]")
    follow_mm: float = Field(5.0, ge=0.01, le=1000, description="farther than this from its command it does not follow")
    outside_mm: float = Field(
        2.0, ge=0, le=500, description="how far a measured way may lie outside its range; farther: a fault"
    )


class ServosConfig(Section):
    """Joints that servos drive. The type of rover does not lock them; each holds its start angle until it is moved."""

    joints: dict[str, _ServoConfig] = Field(
        default_factory=dict,
        max_length=100,
        description="driven joints, by name or kind (steering, walking); a name is stronger than its kind",
        json_schema_extra={"note": "a section by the joint's name or kind"},
    )
    slides: dict[str, _SlideConfig] = Field(
        default_factory=dict,
        max_length=100,
        description="driven joints that slide, by name or kind",
        json_schema_extra={"note": "a section by the joint's name or kind"},
    )
    rate_degps: float = Field(20.0, ge=0.01, le=720, description="largest speed of a joint, commanded and turned")
    acceleration_degps2: float = Field(100.0, ge=0.1, le=1e5, description="largest change of the commanded speed")
    torque_per_A_Nm: float = Field(
        5.0,
        ge=0.01,
        le=1000,
        description="of a simulated motor: torque at the joint for each ampere [N m/A]",
    )
    torque_limit_Nm: float = Field(60.0, ge=0.1, le=1e4, description="largest torque of the motor, at the joint")
    position_gain: float = Field(20.0, ge=0.1, le=1000, description="speed over the error of the angle [1/s]")
    velocity_gain: float = Field(500.0, ge=0.1, le=1e6, description="torque over the error of the speed [N m s/rad]")
    gear_friction_Nm: float = Field(2.0, ge=0, le=1000, description="Coulomb friction of the gear, at the joint")
    friction_speed_radps: float = Field(
        0.002, ge=1e-5, le=1, description="below this speed, that friction is proportional to the speed"
    )
    coast_damping: float = Field(5.0, ge=0, le=1e5, description="damping with the bridge open [N m s/rad]")
    brake_damping: float = Field(500.0, ge=0, le=1e6, description="damping with the motor shorted [N m s/rad]")
    on_cut: Literal["coast", "brake"] = Field("brake", description="behaviour of the power stage after a cut")
    follow_deg: float = Field(
        5.0, ge=0.01, le=180, description="a joint that is farther than this from its command does not follow"
    )
    follow_s: float = Field(0.5, ge=0.01, le=60, description="for so long that counts as a fault")
    outside_deg: float = Field(
        2.0, ge=0, le=90, description="how far a measured angle may lie outside its range; farther: a fault"
    )


class DrivenJoint(NamedTuple):
    """A joint with a servo: `hil.config.schema.servos` has what the numbers mean.

    Units are those of a joint that turns. Of one that slides every rad is a m, and every N m an N.

    Attributes:
        name: of the joint.
        start_rad: its angle at the start.
        low_rad: least angle that may be commanded.
        high_rad: largest one.
        rate_radps: largest speed.
        acceleration_radps2: largest change of the commanded speed.
        torque_limit_Nm: of the motor.
        position_gain: [1/s].
        velocity_gain: [N m s/rad].
        gear_friction_Nm: of the gear.
        friction_speed_radps: below which that is proportional to the speed.
        coast_damping: with the bridge open [N m s/rad].
        brake_damping: with the motor shorted [N m s/rad].
        follow_rad: farther from its command it does not follow.
        outside_rad: how far a measured angle may lie outside its range.
        slides: the joint slides.
    """

    name: str
    start_rad: float
    low_rad: float
    high_rad: float
    rate_radps: float
    acceleration_radps2: float
    torque_limit_Nm: float
    position_gain: float
    velocity_gain: float
    gear_friction_Nm: float
    friction_speed_radps: float
    coast_damping: float
    brake_damping: float
    follow_rad: float
    outside_rad: float
    slides: bool = False

    def words(self, value: float) -> str:
        """A coordinate of the joint [rad, m] as a person reads it: in deg, or in mm."""
        return f"{1e3 * value:.1f} mm" if self.slides else f"{math.degrees(value):.1f} deg"

    def shown(self, value: float) -> float:
        """A coordinate [rad, m], or a rate of it, in the unit of keys: deg, or mm."""
        return 1e3 * value if self.slides else math.degrees(value)

    @property
    def unit(self) -> str:
        """Of keys and columns of tables: deg, or mm."""
        return "mm" if self.slides else "deg"

    @property
    def section(self) -> str:
        """Section of `servos` that it is in."""
        return "slides" if self.slides else "joints"


def servo_keys(servos: ServosConfig, lockable: Sequence[str]) -> dict[str, str]:
    """Key in `servos.joints` or `servos.slides` of each driven joint, in the rover's order.

    Args:
        servos: the section.
        lockable: joints of the rover that can be driven (`Parameters.lockable`).

    Example:
        >>> servos = ServosConfig.model_validate({"joints": {"walking": {}, "rear_left_walking": {"start_deg": 5}}})
        >>> servo_keys(servos, ["front_left_walking", "front_left_steering", "rear_left_walking"])
        {'front_left_walking': 'walking', 'rear_left_walking': 'rear_left_walking'}
    """
    given = {*servos.joints, *servos.slides}
    keys = {name: name if name in given else name.rsplit("_", 1)[-1] for name in lockable}
    return {name: key for name, key in keys.items() if key in given}


def driven_joints(servos: ServosConfig | None, lockable: Sequence[str], tree: Tree) -> tuple[DrivenJoint, ...]:
    """All of them, in the rover's order; empty: no joint is driven.

    Args:
        servos: the section, or None.
        lockable: as `servo_keys`.
        tree: of the rover without its servos, which says at which angles it locks them.
    """
    if servos is None:
        return ()
    locked_at = {joint.name: joint.locked_at or 0.0 for joint in tree.joints}
    keys = servo_keys(servos, lockable)
    return tuple(
        _slide(name, servos.slides[key], locked_at[name])
        if key in servos.slides
        else _joint(name, servos, servos.joints[key], locked_at[name])
        for name, key in keys.items()
    )


def _slide(name: str, one: _SlideConfig, locked_at: float) -> DrivenJoint:
    low, high = (1e-3 * way for way in one.range_mm)
    return DrivenJoint(
        name=name,
        start_rad=locked_at if one.start_mm is None else 1e-3 * one.start_mm,
        low_rad=low,
        high_rad=high,
        rate_radps=1e-3 * one.rate_mmps,
        acceleration_radps2=1e-3 * one.acceleration_mmps2,
        torque_limit_Nm=one.force_limit_N,
        position_gain=one.position_gain,
        velocity_gain=one.velocity_gain,
        gear_friction_Nm=one.gear_friction_N,
        friction_speed_radps=1e-3 * one.friction_speed_mmps,
        coast_damping=one.coast_damping,
        brake_damping=one.brake_damping,
        follow_rad=1e-3 * one.follow_mm,
        outside_rad=1e-3 * one.outside_mm,
        slides=True,
    )


def _joint(name: str, servos: ServosConfig, one: _ServoConfig, locked_at: float) -> DrivenJoint:
    def number(key: str) -> float:
        given: float | None = getattr(one, key)
        value: float = getattr(servos, key) if given is None else given
        return value

    low, high = map(math.radians, one.range_deg)
    return DrivenJoint(
        name=name,
        start_rad=locked_at if one.start_deg is None else math.radians(one.start_deg),
        low_rad=low,
        high_rad=high,
        rate_radps=math.radians(number("rate_degps")),
        acceleration_radps2=math.radians(number("acceleration_degps2")),
        torque_limit_Nm=number("torque_limit_Nm"),
        position_gain=number("position_gain"),
        velocity_gain=number("velocity_gain"),
        gear_friction_Nm=number("gear_friction_Nm"),
        friction_speed_radps=servos.friction_speed_radps,
        coast_damping=servos.coast_damping,
        brake_damping=servos.brake_damping,
        follow_rad=math.radians(servos.follow_deg),
        outside_rad=math.radians(servos.outside_deg),
    )
