"""The traction experiments' part of a rig config: the motors that are driven by duty, drawbar pull, and slopes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from hil.config.schema.base import Section
from hil.messages.loads import TractionModeName

Modes = Annotated[tuple[TractionModeName, ...], Field(strict=False)]
_MODES = "ways to distribute the wheel loads; all but passive need a controller of the loads"


class MotorConfig(Section):
    """The motor of each drive with its gearbox, at the axle; for runs by duty."""

    stall_torque_Nm: float = Field(120.0, ge=0.1, le=1e4, description="at full duty and rest")
    no_load_radps: float = Field(1.0, ge=0.01, le=100, description="speed at full duty without friction and load")


class ThrottleConfig(Section):
    """What the traction experiments have in common: a constant throttle, reached by a ramp, and a time to settle."""

    mode: TractionModeName = Field("passive", description="how the wheel loads are distributed in a single run")
    heavy_share: float = Field(
        0.5,
        ge=0.01,
        le=0.99,
        description="front_heavy, rear_heavy: wanted share of that axle; the other axles share the rest",
    )
    duty: float | None = Field(
        None, ge=0.01, le=1, description="throttle: share of the drives' supply voltage, open loop; null: speed_mps"
    )
    speed_mps: float = Field(
        0.08, ge=0.001, le=10, description="throttle without a duty: speed of the rims, closed loop"
    )
    ramp_s: float = Field(0.5, ge=0.05, le=10, description="from rest to the throttle")
    settle_s: float = Field(4.0, ge=0.1, le=600, description="from then until the measurement")
    measure_s: float = Field(2.0, ge=0.1, le=600, description="length of the measurement")
    modes: Modes = Field(("passive",), min_length=1, max_length=5, description=f"of the series: {_MODES}")

    @property
    def controls_loads(self) -> bool:
        """A mode needs a controller of the wheel loads."""
        return any(mode != "passive" for mode in (self.mode, *self.modes))

    @field_validator("modes")
    @classmethod
    def _each_once(cls, modes: tuple[TractionModeName, ...]) -> tuple[TractionModeName, ...]:
        if len(set(modes)) < len(modes):
            raise ValueError("each mode once")
        return modes


class WeightConfig(Section):
    """A payload of the drawbar series, in place of that of the rover."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40, description="for table and figure")
    mass_kg: float = Field(0.0, ge=0, le=500, description="0: none")
    x_m: float = Field(0.0, ge=-5, le=5, description="its centre, ahead of the base frame's origin")
    y_m: float = Field(0.0, ge=-5, le=5, description="its centre, to port of that origin")
    z_m: float = Field(0.0, ge=-5, le=5, description="its centre, over the ground that the rover stands on")


class DrawbarConfig(ThrottleConfig):
    """Drawbar pull at a slip: the rover drives, and is held back (Petersen 2012, 6.2.1)."""

    slip: float = Field(0.2, ge=0, le=0.95, description="wanted in a single run; the simulated winch settles it")
    slip_tolerance: float = Field(0.03, gt=0, le=1, description="largest deviation from it of an accepted run")
    growth_Nps: float = Field(500.0, ge=1, le=1e6, description="fastest growth of the simulated winch's pull [N/s]")
    largest_N: float = Field(5000.0, ge=1, le=1e6, description="largest pull of the simulated winch")
    slips: Annotated[tuple[Annotated[float, Field(ge=0, le=0.95)], ...], Field(strict=False)] = Field(
        (0.05, 0.1, 0.2, 0.3, 0.5, 0.7), min_length=1, max_length=100, description="of the series"
    )
    weights: Annotated[tuple[WeightConfig, ...], Field(strict=False)] = Field(
        (), max_length=20, description="payloads of the series; empty: that of the rover"
    )


class SlopeConfig(ThrottleConfig):
    """Whether the rover climbs the slope of ground.pitch_deg, and in the series the steepest one that it climbs."""

    slip_limit: float = Field(0.8, ge=0.01, le=0.99, description="with more slip than this it does not climb")
    from_deg: float = Field(5.0, ge=0, le=30, description="of the series: gentlest slope")
    to_deg: float = Field(30.0, ge=0, le=30, description="of the series: steepest slope")
    resolution_deg: float = Field(0.5, ge=0.01, le=10, description="of the series: the steepest slope is known to this")
