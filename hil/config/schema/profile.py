"""The shape of firm or nonsmooth ground: a step, a ledge, a compound slope or any line, and what lies behind it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from hil.config.schema.base import Section, bounded, key

Coordinate = Annotated[float, Field(ge=-100, le=100)]
Corner = Annotated[tuple[Coordinate, Coordinate], Field(strict=False)]


class _FaceConfig(Section):
    """One face of a compound slope."""

    length_m: float = bounded(0.5, 0.01, 100, "along the face")
    angle_deg: float = bounded(15.0, -89, 89, "to the horizontal, positive if it rises ahead")


class ProfileConfig(Section):
    """A line in the vertical plane ahead, the same across the whole width; the rover starts on level ground before it.

    A shape reads only the keys that are its own.
    """

    between_runs: ClassVar[tuple[str, ...]] = ()

    shape: Literal["step", "ledge", "slope", "points"] = key(
        "step",
        "step: a face that rises; ledge: an upright face down, with a plate at its foot; slope: faces, one "
        "after the other; points: any line",
    )
    start_m: float = bounded(
        0.15, 0.001, 50, "level ground before the front wheels' rims, up to where the shape begins"
    )
    height_m: float = bounded(0.1, 0.001, 2, "of a step or ledge")
    angle_deg: float = bounded(90.0, 5, 90, "of the face of a step to the horizontal; 90: upright")
    plate_deg: float = bounded(0.0, 0, 80, "of a ledge: inclination of the plate at its foot, which rises ahead")
    plate_m: float = bounded(0.5, 0.01, 100, "of a ledge: length of that plate")
    faces: Annotated[tuple[_FaceConfig, ...], Field(strict=False, min_length=1, max_length=20)] = key(
        (_FaceConfig(angle_deg=15.0), _FaceConfig(angle_deg=30.0)), "of a slope, in the order of the drive"
    )
    points_m: Annotated[tuple[Corner, ...], Field(strict=False, min_length=1, max_length=50)] = key(
        ((0.5, 0.1), (1.0, 0.1)), "of points: corners after the level ground, x ahead and z up from its end"
    )
    behind: Literal["plateau", "drop", "nothing"] = key(
        "plateau",
        "what lies behind the last corner: level ground; level ground and then a ledge; or level ground "
        "that ends, with nothing behind it",
    )
    top_m: float = bounded(0.6, 0, 100, "drop, nothing: length of the level ground behind the shape")
    drop_m: float = bounded(0.1, 0.001, 2, "drop: height of the ledge behind it")
