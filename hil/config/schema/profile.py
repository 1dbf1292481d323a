"""The shape of firm or nonsmooth ground: a step, a ledge, a compound slope or any line, and what lies behind it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from hil.config.schema.base import Section

Coordinate = Annotated[float, Field(ge=-100, le=100)]
Corner = Annotated[tuple[Coordinate, Coordinate], Field(strict=False)]


class _FaceConfig(Section):
    """One face of a compound slope."""

    length_m: float = Field(0.5, ge=0.01, le=100, description="along the face")
    angle_deg: float = Field(15.0, ge=-89, le=89, description="to the horizontal, positive if it rises ahead")


class ProfileConfig(Section):
    """A line in the vertical plane ahead, the same across the whole width; the rover starts on level ground before it.

    A shape reads only the keys that are its own.
    """

    between_runs: ClassVar[tuple[str, ...]] = ()

    shape: Literal["step", "ledge", "slope", "points"] = Field(
        "step",
        description="step: a face that rises; ledge: an upright face down, with a plate at its foot; slope: faces, one "
        "after the other; points: any line",
    )
    start_m: float = Field(
        0.15, ge=0.001, le=50, description="level ground before the front wheels' rims, up to where the shape begins"
    )
    height_m: float = Field(0.1, ge=0.001, le=2, description="of a step or ledge")
    angle_deg: float = Field(90.0, ge=5, le=90, description="of the face of a step to the horizontal; 90: upright")
    plate_deg: float = Field(
        0.0, ge=0, le=80, description="of a ledge: inclination of the plate at its foot, which rises ahead"
    )
    plate_m: float = Field(0.5, ge=0.01, le=100, description="of a ledge: length of that plate")
    faces: Annotated[tuple[_FaceConfig, ...], Field(strict=False, min_length=1, max_length=20)] = Field(
        (_FaceConfig(angle_deg=15.0), _FaceConfig(angle_deg=30.0)), description="of a slope, in the order of the drive"
    )
    points_m: Annotated[tuple[Corner, ...], Field(strict=False, min_length=1, max_length=50)] = Field(
        ((0.5, 0.1), (1.0, 0.1)), description="of points: corners after the level ground, x ahead and z up from its end"
    )
    behind: Literal["plateau", "drop", "nothing"] = Field(
        "plateau",
        description="what lies behind the last corner: level ground; level ground and then a ledge; or level ground "
        "that ends, with nothing behind it",
    )
    top_m: float = Field(0.6, ge=0, le=100, description="drop, nothing: length of the level ground behind the shape")
    drop_m: float = Field(0.1, ge=0.001, le=2, description="drop: height of the ledge behind it")
