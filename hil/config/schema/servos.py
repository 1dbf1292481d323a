"""The servos of driven joints, in a config and in the models' units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from hil.config.schema.base import Section, bounded, key
from models.rover.tree import Tree

Angle = Annotated[float, Field(ge=-360, le=360)]
Way = Annotated[float, Field(ge=-5000, le=5000)]


class _ServoConfig(Section):
    """One driven joint, or all of a kind. A number that is null here is that of the section servos."""

    start_deg: Angle | None = key(
        None, "angle at the start; null: that at which the type of rover locks the joint, or 0"
    )
    range_deg: Annotated[tuple[Angle, ...], Field(strict=False, min_length=2, max_length=2)] = key(
        (-45.0, 45.0), "least and largest angle that may be commanded [deg]"
    )
    rate_degps: float | None = bounded(None, 0.01, 720, "as servos.rate_degps")
    acceleration_degps2: float | None = bounded(None, 0.1, 1e5, "as servos.acceleration_degps2")
    torque_limit_Nm: float | None = bounded(None, 0.1, 1e4, "as servos.torque_limit_Nm")
    position_gain: float | None = bounded(None, 0.1, 1000, "as servos.position_gain [1/s]")
    velocity_gain: float | None = bounded(None, 0.1, 1e6, "as servos.velocity_gain [N m s/rad]")
    gear_friction_Nm: float | None = bounded(None, 0, 1000, "as servos.gear_friction_Nm")


class _SlideConfig(Section):
    """One driven joint that slides, or all of a kind: a spindle or a linear drive."""

    start_mm: Way | None = key(None, "way at the start; null: that at which the type of rover locks the joint, or 0")
    range_mm: Annotated[tuple[Way, ...], Field(strict=False, min_length=2, max_length=2)] = key(
        (-50.0, 50.0), "least and largest way that may be commanded [mm]"
    )
    rate_mmps: float = bounded(20.0, 0.01, 2000, "largest speed of the joint, commanded and moved")
    acceleration_mmps2: float = bounded(500.0, 0.1, 1e6, "largest change of the commanded speed")
    force_limit_N: float = bounded(2000.0, 0.1, 1e6, "largest force of the motor, at the joint")
    position_gain: float = bounded(20.0, 0.1, 1000, "speed over the error of the way [1/s]")
    velocity_gain: float = bounded(1e5, 0.1, 1e8, "force over the error of the speed [N s/m]")
    gear_friction_N: float = bounded(20.0, 0, 1e5, "Coulomb friction of the spindle, at the joint")
    friction_speed_mmps: float = bounded(
        1.0, 1e-3, 1000, "below this speed, that friction is proportional to the speed"
    )
    coast_damping: float = bounded(2000.0, 0, 1e8, "damping with the bridge open [N s/m]")
    brake_damping: float = bounded(2e5, 0, 1e9, "damping with the motor shorted [N s/m]")
    follow_mm: float = bounded(5.0, 0.01, 1000, "farther than this from its command it does not follow")
    outside_mm: float = bounded(2.0, 0, 500, "how far a measured way may lie outside its range; farther: a fault")


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
    rate_degps: float = bounded(20.0, 0.01, 720, "largest speed of a joint, commanded and turned")
    acceleration_degps2: float = bounded(100.0, 0.1, 1e5, "largest change of the commanded speed")
    torque_per_A_Nm: float = bounded(
        5.0, 0.01, 1000, "of a simulated motor: torque at the joint for each ampere [N m/A]"
    )
    torque_limit_Nm: float = bounded(60.0, 0.1, 1e4, "largest torque of the motor, at the joint")
    position_gain: float = bounded(20.0, 0.1, 1000, "speed over the error of the angle [1/s]")
    velocity_gain: float = bounded(500.0, 0.1, 1e6, "torque over the error of the speed [N m s/rad]")
    gear_friction_Nm: float = bounded(2.0, 0, 1000, "Coulomb friction of the gear, at the joint")
    friction_speed_radps: float = bounded(
        0.002, 1e-5, 1, "below this speed, that friction is proportional to the speed"
    )
    coast_damping: float = bounded(5.0, 0, 1e5, "damping with the bridge open [N m s/rad]")
    brake_damping: float = bounded(500.0, 0, 1e6, "damping with the motor shorted [N m s/rad]")
    on_cut: Literal["coast", "brake"] = key("brake", "behaviour of the power stage after a cut")
    follow_deg: float = bounded(5.0, 0.01, 180, "a joint that is farther than this from its command does not follow")
    follow_s: float = bounded(0.5, 0.01, 60, "for so long that counts as a fault")
    outside_deg: float = bounded(2.0, 0, 90, "how far a measured angle may lie outside its range; farther: a fault")


class DrivenJoint(NamedTuple):
    """A joint with a servo: `hil.config.schema.servos` has what the numbers mean.

    Units are those of a joint that turns. Of one that slides every rad is a m, and every N m an N.
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

    Example:
        >>> servos = ServosConfig.model_validate({"joints": {"walking": {}, "rear_left_walking": {"start_deg": 5}}})
        >>> servo_keys(servos, ["front_left_walking", "front_left_steering", "rear_left_walking"])
        {'front_left_walking': 'walking', 'rear_left_walking': 'rear_left_walking'}
    """
    given = {*servos.joints, *servos.slides}
    keys = {name: name if name in given else name.rsplit("_", 1)[-1] for name in lockable}
    return {name: key for name, key in keys.items() if key in given}


def driven_joints(servos: ServosConfig | None, lockable: Sequence[str], tree: Tree) -> tuple[DrivenJoint, ...]:
    """All of them, in the rover's order; empty: no joint is driven."""
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


# Keys of a servo that are the numbers of `DrivenJoint`, in its units.
_SAME = ("position_gain", "velocity_gain", "coast_damping", "brake_damping")


def _slide(name: str, one: _SlideConfig, locked_at: float) -> DrivenJoint:
    low, high = (1e-3 * way for way in one.range_mm)
    return DrivenJoint(
        name,
        locked_at if one.start_mm is None else 1e-3 * one.start_mm,
        low,
        high,
        rate_radps=1e-3 * one.rate_mmps,
        acceleration_radps2=1e-3 * one.acceleration_mmps2,
        torque_limit_Nm=one.force_limit_N,
        gear_friction_Nm=one.gear_friction_N,
        friction_speed_radps=1e-3 * one.friction_speed_mmps,
        follow_rad=1e-3 * one.follow_mm,
        outside_rad=1e-3 * one.outside_mm,
        slides=True,
        **{key: getattr(one, key) for key in _SAME},
    )


def _joint(name: str, servos: ServosConfig, one: _ServoConfig, locked_at: float) -> DrivenJoint:
    values = dict(servos) | {key: value for key, value in one if value is not None}
    same = (*_SAME, "torque_limit_Nm", "gear_friction_Nm", "friction_speed_radps")
    low, high = map(math.radians, one.range_deg)
    return DrivenJoint(
        name,
        locked_at if one.start_deg is None else math.radians(one.start_deg),
        low,
        high,
        rate_radps=math.radians(values["rate_degps"]),
        acceleration_radps2=math.radians(values["acceleration_degps2"]),
        follow_rad=math.radians(servos.follow_deg),
        outside_rad=math.radians(servos.outside_deg),
        **{key: values[key] for key in same},
    )
