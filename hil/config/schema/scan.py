"""The scan of uneven ground: a file of points, and what they mean."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from hil.config.schema.base import Section

Place = Annotated[tuple[float, float], Field(strict=False)]


class ScanConfig(Section):
    """A file of points or triangles, read once when the config is loaded; `map` then has the ground that came of it.

    With ground.kind mesh it has the triangles themselves; spacing, outliers and holes do not count then.
    """

    between_runs: ClassVar[tuple[str, ...]] = ()

    file: str = Field(
        min_length=1,
        max_length=500,
        description="CSV (x,y,z), PLY, OBJ, STL, LAS, LAZ, ASC or GeoTIFF, seen from the config's folder",
    )
    units: Literal["m", "cm", "mm", "ft"] = Field(description="unit of all coordinates in the file")
    height_units: Literal["m", "cm", "mm", "ft"] | None = Field(
        None, description="unit of the coordinate that points up, if it is another one; null: as units"
    )
    classes: Annotated[tuple[Annotated[int, Field(ge=0, le=255)], ...], Field(strict=False, min_length=1)] | None = (
        Field(None, description="classes of the points of a LAS or LAZ file that are ground, as [2]; null: all points")
    )
    up: Literal["x", "y", "z"] = Field(
        description="coordinate of the file that points up; the other two follow it cyclically (z up: x, y)"
    )
    start_m: Place = Field(description="where the rover starts, both level coordinates of the file, in m")
    heading_deg: float = Field(
        0.0, ge=-360, le=360, description="heading of the rover at the start, from the first level axis to the second"
    )
    spacing_m: float = Field(
        0.1, ge=0.01, le=1, description="spacing of the height map's nodes; a coarser one smooths a rough scan"
    )
    outlier_m: float = Field(
        0.15, ge=0.01, le=10, description="a point this far above or below the ground around it is left out"
    )
    hole_m: float = Field(0.5, ge=0, le=5, description="widest hole that is filled, by interpolation")
    map: str | None = Field(
        None,
        max_length=160_000,
        description="the height map or mesh, with the digest of the file; written by the program that reads it",
    )
