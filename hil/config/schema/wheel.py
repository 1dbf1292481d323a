"""The wheels of a rig config: how soil acts on them, their grousers, and what single wheels have of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from hil.config.schema.base import Section, bounded, is_none, key, section

Variant = Literal["exact", "tire_1", "tire_2", "tire_3", "published", "xu", "flexible"]


class _RingConfig(Section):
    """The rim of a flexible wheel and the springs that hold it to the hub: assumptions, no source prints any."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    bending_stiffness_Nm2: float = bounded(2.0, 1e-6, 1e9, "EI of the rim's section, about an axis along the axle")
    hub_stiffness_Npm: float = bounded(
        1.0e4, 1, 1e9, "of the springs from hub to rim, for each radian of the rim: 2 pi of it in all"
    )
    modes: int = bounded(5, 2, 12, "largest k of the bending shapes sin and cos of k times the angle")


class _OwnWheelConfig(Section):
    """What one wheel, or those of an axle, have of their own. A value that is null here is that of all wheels."""

    radius_m: float | None = bounded(None, 0.02, 2, "of the rim; null: that of the section rover")
    width_m: float | None = bounded(None, 0.01, 2, "null: that of the section rover")
    mass_kg: float | None = bounded(
        None, 0.01, 1000, "null: that of the section rover; the moments follow from mass and size"
    )
    variant: Variant | None = key(None, "as wheel.variant")
    ring: _RingConfig | None = key(None, "as wheel.ring")
    grousers: int | None = bounded(None, 0, 90, "as wheel.grousers")
    grouser_height_m: float | None = bounded(None, 0.001, 0.1, "as wheel.grouser_height_m")
    crown_radius_m: float | None = bounded(None, 0.005, 1e6, "as wheel.crown_radius_m")


class WheelConfig(Section):
    """How the wheel-soil forces are computed, and the grousers on the rim."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    variant: Variant = key(
        "exact", "wheel-soil model: column integrals (exact is tire_3), thesis's closed forms, Xu's, or flexible"
    )
    ring: _RingConfig = section(_RingConfig, "the rim of wheel.variant flexible")
    grousers: int = bounded(0, 0, 90, "grousers on each wheel, an even number from 4 on; 0: a smooth rim")
    grouser_height_m: float = bounded(0.01, 0.001, 0.1, "height of the grousers above the rim")
    grouser_offset_deg: float = bounded(
        0.0, -90, 90, "angle of a grouser above the line of contact with the obstacle, at the start"
    )
    crown_radius_m: float | None = bounded(
        None, 0.005, 1e6, "radius of the rim's arc across; half the width: a torus; null: a cylinder"
    )
    grouser_thrust: bool | None = key(
        None,
        "true: grousers also shear the soil at their sides, by Bekker's factors; null: a larger radius",
        exclude_if=is_none,
    )
    rim_friction: float | None = bounded(
        None,
        0.1,
        1,
        "friction of soil on the rim of a wheel without grousers, over that within the soil; null: the same",
        exclude_if=is_none,
    )
    grouser_rim: bool | None = key(
        None,
        "true: obstacle and firm ground are touched by tips or rim; null: by tips alone, ground by a circle",
        exclude_if=is_none,
    )
    of: dict[str, _OwnWheelConfig] = Field(
        default_factory=dict,
        max_length=64,
        description="wheels that differ, by their name (front_left) or axle (front); a name is stronger; {}: all alike",
        json_schema_extra={"note": "a section by the wheel's name or axle"},
    )


class WheelProperties(NamedTuple):
    """A wheel of the rig, with what all have and what it alone has: `_OwnWheelConfig` has what the values mean.

    None: that of the rover.
    """

    radius_m: float | None
    width_m: float | None
    mass_kg: float | None
    variant: Variant
    ring: _RingConfig
    grousers: int
    grouser_height_m: float
    crown_radius_m: float | None
    grouser_thrust: bool | None
    rim_friction: float | None

    @property
    def tips_m(self) -> float:
        """How far the grousers reach beyond the rim; 0 of a smooth one."""
        return self.grouser_height_m if self.grousers else 0.0

    @property
    def thrust_height_m(self) -> float:
        """Of the grousers that shear the soil at their sides; 0: none does."""
        return self.tips_m if self.grouser_thrust else 0.0

    @property
    def rim_share(self) -> float:
        """Friction of soil on the rim over that within the soil; grousers shear the soil within."""
        return 1.0 if self.rim_friction is None or self.grousers else self.rim_friction


def axle_of(wheel: str) -> str:
    """The axle of a wheel: "front" of "front_left"; a wheel whose name has no side is alone on its axle."""
    name, _, side = wheel.rpartition("_")
    return name if side in ("left", "right", "centre") else wheel


def each_wheel(section: WheelConfig, wheels: Sequence[str]) -> dict[str, WheelProperties]:
    """The wheels of a rover by name, in its order.

    Example:
        >>> section = WheelConfig.model_validate({"of": {"rear": {"radius_m": 0.2}, "rear_left": {"grousers": 22}}})
        >>> each = each_wheel(section, ["front_left", "rear_left", "rear_right"])
        >>> [(one.radius_m, one.grousers) for one in each.values()]
        [(None, 0), (0.2, 22), (0.2, 0)]
    """
    found = {}
    for wheel in wheels:
        values: dict[str, Any] = {key: getattr(section, key, None) for key in WheelProperties._fields}
        for part in (axle_of(wheel), wheel):
            if (given := section.of.get(part)) is not None:
                values |= {name: value for name, value in given if value is not None}
        found[wheel] = WheelProperties(**values)
    return found
