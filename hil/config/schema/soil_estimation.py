"""The estimate of the soil beside the rover twin: how uncertain the soil is, and what is measured how well."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from hil.config.schema.base import Section


class SoilEstimationConfig(Section):
    """Stiffness, rebound and slip modulus of the soil, estimated while the rover drives; max_traction uses them."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    rate_hz: float = Field(20.0, ge=1, le=100, description="measurements a second")
    stiffness: float = Field(
        0.3, ge=0, le=1.5, description="standard deviation of the log of soil.stiffness before the drive; 0: known"
    )
    rebound: float = Field(0.3, ge=0, le=1.5, description="the same of soil.rebound")
    slip_modulus: float = Field(0.3, ge=0, le=1.5, description="the same of soil.slip_modulus")
    memory_m: float = Field(
        20.0, ge=0.1, le=1e4, description="way over which the soil may become another: what was found fades to a third"
    )
    model: float = Field(
        0.01,
        ge=1e-4,
        le=0.5,
        description="standard deviation of what the wheel model leaves of the pull, and of the torque over the radius, "
        "over the wheels' load",
    )
    correlation_m: float = Field(0.1, ge=1e-3, le=100, description="way along which that error is the same")
    loads_u95: float = Field(
        0.02,
        ge=0,
        le=1,
        description="95 % half-width of the sum of the loads by leg sensors; without them estimation.mass is used",
    )
    torque_u95: float = Field(
        0.05, ge=0, le=1, description="95 % half-width of the torque for a motor's current, relative"
    )
    torque_per_A_Nm: float | None = Field(
        None,
        gt=0,
        le=1e4,
        description="torque at the axle for each ampere of a motor [N m/A]; null: drives.power.torque_per_A_Nm of a "
        "simulated rig, and no torques on a real one",
    )
