"""Regions of another soil in the bed: polygons."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hil.config.schema.base import Section

Corner = Annotated[
    tuple[Annotated[float, Field(ge=-1e4, le=1e4)], Annotated[float, Field(ge=-1e4, le=1e4)]], Field(strict=False)
]


class SoilRegionConfig(Section):
    """A polygon with a soil of its own, or with rock below the soil around; a later region lies over earlier ones."""

    stiffness: float = Field(ge=1e3, le=1e12, description="k of p = k z^n [N/m^(2+n)]; rock: 1e9 and more")
    exponent: float = Field(0.75, ge=0.3, le=1.75, description="n of p = k z^n")
    cohesion_Pa: float = Field(0.0, ge=0, le=1e6, description="c of the shear limit")
    friction_angle_deg: float = Field(30.0, ge=0, le=60, description="internal friction angle of the shear limit")
    rebound: float = Field(0.07, gt=0, le=1, description="part of the sinkage that springs back behind the wheel")
    slip_modulus: float = Field(0.185, ge=0.01, le=10, description="K of the traction's tanh(slip/K)")
    corners_m: Annotated[tuple[Corner, ...], Field(strict=False, min_length=3, max_length=64)] = Field(
        description="its corners, x ahead of the rover's start and y to port of it"
    )
    border_m: float = Field(0.2, ge=0.02, le=5, description="width over which the soils change, about its edge")
    under_m: float = Field(
        0.0, ge=0, le=2, description="depth at which its soil begins, below the soil around; 0: at the surface"
    )
