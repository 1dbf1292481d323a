"""The file of a scan that a config names: read, and its height map or its triangles put in place."""

from __future__ import annotations

import hashlib
from functools import partial
from importlib import import_module
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from typing_extensions import override

from hil.config.files import NamedFile, is_file, named_path, read_bytes
from hil.config.limited_process import in_limited_process
from hil.config.problems import Problem
from hil.config.schema.ground_and_obstacle import ScanConfig

if TYPE_CHECKING:
    from hil.config.scan.grid import ScanSettings

KEY = "ground.scan"
_ALLOWED = "a readable file of points, triangles or cells: CSV, PLY, OBJ, STL, LAS, LAZ, ASC or GeoTIFF"


class ScanFile(NamedFile):
    """The `NamedFile` of a scan: its path stays, and the height map is put next to it."""

    @override
    def path(self, raw: Any) -> str | None:
        return named_path(raw, f"{KEY}.file")

    def put(self, raw: dict[str, Any], folder: Traversable) -> list[Problem]:
        """Read the scan of a raw config, if it has one, and set its key `map`; one that was read in the same way stays.

        Problems of the section's other keys are found with the config's.
        """
        section = _section(raw)
        if section is None:
            return []
        try:
            given = ScanConfig.model_validate(section)
        except ValidationError:
            return []
        from hil.config.scan.grid import ScanSettings
        from hil.config.scan.map_text import MESH_MARK, digests_of, reading_digest
        from hil.config.scan.points import MOST_BYTES, prepare_reading

        settings = ScanSettings(*(getattr(given, name) for name in ScanSettings._fields))
        path, meshed = Path(str(folder / given.file)), raw["ground"].get("kind") == "mesh"
        try:
            fits = given.map is not None and given.map.startswith(MESH_MARK) == meshed
            if given.map is not None and fits and digests_of(given.map)[1] == reading_digest(settings):
                if not is_file(path):
                    return []
                content = read_bytes(path, MOST_BYTES)
                same = hashlib.sha256(content).hexdigest() == digests_of(given.map)[0]
                return [] if same else [_changed(given.file)]
            prepare = partial(prepare_reading, path.suffix)
            if meshed:  # the process that reads opens no file, not that of a module either
                import_module("hil.config.scan.map_text")
            content = read_bytes(path, MOST_BYTES)
            made, *wrong = in_limited_process(prepare, partial(_map_of, content, path.suffix, settings, meshed))
            if wrong:
                return [Problem(f"{KEY}.{made}", *wrong)]
            section["map"] = made
        except (OSError, ValueError) as error:
            found, _, needed = (getattr(error, "strerror", None) or str(error)).partition("; ")
            return [Problem(f"{KEY}.file", f"{given.file}: {found}", f"{needed or _ALLOWED}; looked for {path}")]
        return []


def _map_of(content: bytes, ending: str, settings: ScanSettings, meshed: bool) -> list[str]:
    """The height map or mesh as text; or the key of the section that is wrong, what was found, and what is allowed."""
    from hil.config.scan.grid import ScanError, grid_of
    from hil.config.scan.map_text import text_of
    from hil.config.scan.points import points_of

    try:
        points, triangles = points_of(content, ending, settings)
        if meshed:
            from hil.config.scan.map_text import text_of_mesh

            return [text_of_mesh(points, triangles, content, settings)]
        return [text_of(grid_of(points, settings, triangles), content, settings)]
    except ScanError as error:
        return [error.key, error.found, error.allowed]


def _section(raw: Any) -> dict[str, Any] | None:
    ground = raw.get("ground") if isinstance(raw, dict) else None
    scan = ground.get("scan") if isinstance(ground, dict) else None
    return scan if isinstance(scan, dict) else None


def _changed(file: str) -> Problem:
    allowed = "the file that the height map was made of; or ground.scan.map null, to read this one"
    return Problem(f"{KEY}.map", f"a height map of another content of {file}", allowed)
