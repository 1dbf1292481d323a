"""The raster of soil classes that a config names: read, and its areas put in place."""

from __future__ import annotations

from functools import partial
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hil.config.limited_process import in_limited_process
from hil.config.named_file import named_path
from hil.config.problems import Problem
from hil.config.schema.soil_region import SoilRasterConfig
from hil.config.text_file import read_bytes

KEY = "soil.raster"
_MOST_BYTES = 50_000_000
_ALLOWED = "a readable file of soil classes: CSV, PNG or TIFF"


class SoilRasterFile:
    """The `NamedFile` of a raster of soil classes: its path stays, and the areas are put beside it."""

    def path(self, raw: Any) -> str | None:
        """See NamedFile."""
        return named_path(raw, f"{KEY}.file")

    def put(self, raw: dict[str, Any], folder: Traversable) -> list[Problem]:
        """Read the raster of a raw config, if it has one whose areas are not there yet, and set its key `areas`.

        Problems of the section's other keys are found with the config's.
        """
        soil = raw.get("soil") if isinstance(raw, dict) else None
        section = soil.get("raster") if isinstance(soil, dict) else None
        if not isinstance(section, dict):
            return []
        try:
            given = SoilRasterConfig.model_validate(section)
        except ValidationError:
            return []
        if given.areas is not None:
            return []
        path = Path(str(folder / given.file))
        try:
            content = read_bytes(path, _MOST_BYTES)
            known = {one.number for one in given.soils}
            areas = in_limited_process(_prepare, partial(_areas_of, content, path.suffix, known))
        except (OSError, ValueError) as error:
            found, _, needed = (getattr(error, "strerror", None) or str(error)).partition("; ")
            return [Problem(f"{KEY}.file", f"{given.file}: {found}", f"{needed or _ALLOWED}; looked for {path}")]
        (x, y), cell = given.corner_m, given.cell_m
        section["areas"] = [
            {
                "number": number,
                "corners_m": [[round(x + cell * i, 6), round(y + cell * j, 6)] for i, j in corners],
            }
            for number, corners in areas
        ]
        return []


def _prepare() -> None:
    import encodings.utf_8_sig  # noqa: F401

    from PIL import PngImagePlugin, TiffImagePlugin  # noqa: F401

    import hil.config.soil_raster.areas  # noqa: F401


def _areas_of(content: bytes, ending: str, known: set[int]) -> list[tuple[int, list[list[float]]]]:
    """Number and corners of each area of a file."""
    from hil.config.soil_raster.areas import areas_of, read_classes

    return [(area.number, area.corners.tolist()) for area in areas_of(read_classes(content, ending), known)]
