"""What the observer takes for uncertain about the rover twin."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from hil.config.schema.base import Section


class EstimationConfig(Section):
    """How far the twin may be from the rover: standard deviations. Only a rig with instruments of motion uses them."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    mass: float = Field(0.05, ge=0, le=0.5, description="of each mass, relative")
    soil: float = Field(0.10, ge=0, le=0.5, description="of stiffness and slip modulus of the soil, relative")
    soil_along: float = Field(
        0.02, ge=0, le=0.5, description="change of the slip along the way, relative, a root of a metre"
    )
    drives: float = Field(0.20, ge=0, le=1, description="of the drives' gains, relative: how soon wheels follow")
    speed: float = Field(0.02, ge=1e-4, le=0.5, description="of the speed, relative, whatever the slip: wheel radius")
    start_m: float = Field(0.02, ge=1e-4, le=1, description="of the rover's place at the start")
    heading_deg: float = Field(2.0, ge=0.01, le=45, description="of its heading at the start")
    curvature_radpm: float = Field(0.05, ge=0, le=1, description="of the curvature of its way: steering, drives")
    crab_deg: float = Field(0.5, ge=0, le=20, description="of the angle between its heading and its way")
    unevenness_m: float = Field(0.002, ge=0, le=0.1, description="of the ground's height under a wheel")
    obstacle_m: float = Field(0.003, ge=0, le=0.1, description="of the obstacle's place")
