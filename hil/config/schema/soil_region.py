"""Regions of another soil in the bed: polygons, and a raster of classes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hil.config.schema.base import Section

Corner = Annotated[
    tuple[Annotated[float, Field(ge=-1e4, le=1e4)], Annotated[float, Field(ge=-1e4, le=1e4)]], Field(strict=False)
]
Class = Annotated[int, Field(ge=0, le=65535)]


class OtherSoil(Section):
    """Numbers of a soil."""

    stiffness: float = Field(ge=1e3, le=1e12, description="k of p = k z^n [N/m^(2+n)]; rock: 1e9 and more")
    exponent: float = Field(0.75, ge=0.3, le=1.75, description="n of p = k z^n")
    cohesion_Pa: float = Field(0.0, ge=0, le=1e6, description="c of the shear limit")
    friction_angle_deg: float = Field(30.0, ge=0, le=60, description="internal friction angle of the shear limit")
    rebound: float = Field(0.07, gt=0, le=1, description="part of the sinkage that springs back behind the wheel")
    slip_modulus: float = Field(0.185, ge=0.01, le=10, description="K of the traction's tanh(slip/K)")


class SoilRegionConfig(OtherSoil):
    """A polygon with a soil of its own, or with rock below the soil around; a later region lies over earlier ones."""

    corners_m: Annotated[tuple[Corner, ...], Field(strict=False, min_length=3, max_length=64)] = Field(
        description="its corners, x ahead of the rover's start and y to port of it"
    )
    border_m: float = Field(0.2, ge=0.02, le=5, description="width over which the soils change, about its edge")
    under_m: float = Field(
        0.0, ge=0, le=2, description="depth at which its soil begins, below the soil around; 0: at the surface"
    )


class _RasterSoil(OtherSoil):
    """The soil of a class of the raster."""

    number: Class = Field(description="of the class, in the raster")


class _RasterArea(Section):
    """An area of the raster, outlined."""

    number: Class = Field(description="of its class; one without a soil of its own has the soil around")
    corners_m: Annotated[tuple[Corner, ...], Field(strict=False, min_length=3, max_length=64)] = Field(
        description="its corners, x ahead of the rover's start and y to port of it"
    )


class SoilRasterConfig(Section):
    """A raster of soil classes, read once when the config is loaded; `areas` then has what came of it."""

    file: str = Field(
        min_length=1,
        max_length=500,
        description="CSV, PNG or TIFF with a whole number in each cell, seen from the config's folder",
    )
    cell_m: float = Field(ge=0.01, le=10, description="length of a cell's sides; a TIFF's own coordinates do not count")
    corner_m: Corner = Field(
        description="corner of the lowest and leftmost cell, x ahead of the rover's start and y to port of it"
    )
    border_m: float = Field(0.2, ge=0.02, le=5, description="width over which the soils change, about each edge")
    soils: Annotated[tuple[_RasterSoil, ...], Field(strict=False, min_length=1, max_length=16)] = Field(
        description="soils of classes; all other classes are the soil around"
    )
    areas: Annotated[tuple[_RasterArea, ...], Field(strict=False, max_length=64)] | None = Field(
        None, description="outlines of its areas; written by the program when it reads the file; null: it is read again"
    )
