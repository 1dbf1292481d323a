"""Triangles as the ground of a config: those of the file, in the record too, or refused in words."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hil.analysis.film.solids import RigSolids
from hil.config import ConfigError, load_config, parse_config
from hil.config.model_parameters import nominal_rig
from hil.config.rig import Rig
from hil.config.scan.map_text import MOST_TRIANGLES, mesh_from
from tests.hil.config.scan.meshes import CAVE, ON_MESH, hollow, write_mesh


def on(path, changes=()):
    return load_config("sim_scan", {**ON_MESH, "ground.scan.file": str(path), **dict(changes)})


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".obj", ".ply", ".stl"])
def test_a_config_has_the_triangles_of_its_file_in_the_axes_of_the_run(tmp_path, ending):
    points, triangles = CAVE
    moved = np.array([12.0, 3.0, 9.0]) + Rotation.from_euler("z", 30.0, degrees=True).apply(points)
    # in feet, the third axis of the file is the first of the run's
    path = write_mesh(tmp_path / f"cave{ending}", (moved / 0.3048)[:, [2, 0, 1]], triangles)
    placed = {"units": "ft", "up": "x", "start_m": [12.0, 3.0], "heading_deg": 30.0}
    config = on(path, {"ground.scan": {**placed, "file": str(path)}})
    path.unlink()
    again = parse_config(config.to_yaml(), "record")
    assert again.sha256() == config.sha256()
    corner = nominal_rig(again).ground.mesh.corner
    assert corner == pytest.approx(points[triangles], abs=1.1e-4)
    (lines,) = [solid for solid in RigSolids(Rig(again)).solids() if solid.frame == "ground"]
    assert np.ptp(lines.points[:, 2]) == pytest.approx(0.67, abs=1e-3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ground.scan.start_m": [40.0, 0.0]}, r"ground\.scan\.start_m: found a place over no triangle"),
        ({"ground.scan.start_m": [5.8, 0.0]}, r"ground\.scan\.start_m: found a start with a wheel beyond the edge"),
        ({"drive.steps": [{"for_s": 60, "speed_mps": 0.2}]}, r"ground\.scan\.file: found a path of 12\.00 m"),
        ({"ground.scan": None}, r"ground\.scan: found null; allowed: file, units, .* with ground\.kind mesh"),
        ({"ground.pitch_deg": 3}, r"ground\.pitch_deg: found 3; allowed: 0 with ground\.kind mesh"),
        ({"experiment": "impact"}, r"ground\.kind: found mesh; allowed: scan, or level ground: an obstacle"),
        ({"soil.rut": "remembered"}, r"soil\.rut: found remembered; allowed: fresh with ground\.kind mesh"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_a_config_whose_mesh_does_not_fit_is_refused_when_it_is_loaded(tmp_path, changes, words):
    path = write_mesh(tmp_path / "floor.obj", CAVE[0], CAVE[1][:2])
    values = {**ON_MESH, "ground.scan.file": str(path), **changes}
    if changes.get("ground.scan", 0) is None:
        del values["ground.scan.file"]
    with pytest.raises(ConfigError, match=words):
        load_config("sim_scan", values)


UPSIDE_DOWN, TWICE = CAVE[1][:2, ::-1], np.vstack([CAVE[1][:2], [(0, 1, 3)]])
MESHES = {
    "points alone": (hollow(3.0, 0.05)[0], np.zeros((0, 3), int), "points without triangles"),
    "too many": (*hollow(3.0, 7.0 / MOST_TRIANGLES), f"triangles; allowed: at most {MOST_TRIANGLES}"),
    "faces down": (CAVE[0], UPSIDE_DOWN, "corners counter-clockwise"),
    "faces both ways": (CAVE[0], TWICE, "an edge in one direction; allowed: at most two triangles at an edge"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MESHES)
def test_triangles_that_are_no_ground_are_refused_in_words(tmp_path, kind):
    points, triangles, words = MESHES[kind]
    with pytest.raises(ConfigError, match=words):
        on(write_mesh(tmp_path / "a.obj", points, triangles))


def text(points=4, triangles=2, body=None):
    body = zlib.compress(bytes(12 * (points + triangles))) if body is None else body
    return f"mesh_1 a b {points} {triangles} {base64.b64encode(body).decode()}"


@pytest.mark.parametrize(
    "wrong",
    ["mesh", "mesh_1", "mesh_1 a b -4 2 AAAA", text(10**9, 2, b""), text(4, 10**9, b""), text(body=b"no"), text(),
     text(body=zlib.compress(bytes(10**8))), text(body=zlib.compress(b"\xff" * 72)), text().replace("mesh", "map")],
)  # fmt: skip
def test_the_text_of_no_mesh_is_refused(wrong):
    with pytest.raises(ValueError, match="mesh"):
        mesh_from(wrong)
