"""The driven joints of a config, one by one, in the models' units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hil.config.schema.servos import ServoConfig, ServosConfig
from models.rover.tree import Tree


class DrivenJoint(NamedTuple):
    """A joint with a servo: `hil.config.schema.servos` has what the numbers mean.

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


def servo_keys(servos: ServosConfig, lockable: Sequence[str]) -> dict[str, str]:
    """Key in `servos.joints` of each driven joint, in the rover's order.

    Args:
        servos: the section.
        lockable: joints of the rover that can be driven (`Parameters.lockable`).

    Example:
        >>> servos = ServosConfig.model_validate({"joints": {"walking": {}, "rear_left_walking": {"start_deg": 5}}})
        >>> servo_keys(servos, ["front_left_walking", "front_left_steering", "rear_left_walking"])
        {'front_left_walking': 'walking', 'rear_left_walking': 'rear_left_walking'}
    """
    keys = {name: name if name in servos.joints else name.rsplit("_", 1)[-1] for name in lockable}
    return {name: key for name, key in keys.items() if key in servos.joints}


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
    return tuple(_joint(name, servos, servos.joints[key], locked_at[name]) for name, key in keys.items())


def _joint(name: str, servos: ServosConfig, one: ServoConfig, locked_at: float) -> DrivenJoint:
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
    )
