"""Meshes as ground: files of triangles that tests write."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

# Juno on hard triangles of a file beside it, over so short a distance that a run is a moment.
ON_MESH = {
    "ground.kind": "mesh",
    "ground.scan": {"units": "m", "up": "z", "start_m": [0.0, 0.0]},
    "drive.steps": [{"for_s": 2.0, "speed_mps": 0.2}],
    "telemetry.endpoint": "",
    "operator.endpoint": "tcp://127.0.0.1:*",
}
FALL, CEILING_X, CEILING_Z = 0.2, 0.05, 0.67  # of the overhang: slope, and where it begins [m]
_FLOOR = [(-3, -2, 0), (6, -2, 0), (6, 2, 0), (-3, 2, 0)]
_CEILING = [(x, y, CEILING_Z - FALL * (x - CEILING_X)) for x, y in [(0.05, -2), (0.05, 2), (2, 2), (2, -2)]]
CAVE = np.array(_FLOOR + _CEILING, float), np.array([(0, 1, 2), (0, 2, 3), (4, 5, 6), (4, 6, 7)])


def hollow(radius: float, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and triangles of a part of a cylinder with its axis across the drive, lowest at the start."""
    turns = np.arange(-1.2, 1.2 + 1e-9, size / radius)
    points = [(radius * np.sin(a), y, radius - radius * np.cos(a)) for a in turns for y in (-2.0, 2.0)]
    pairs = [(2 * i, 2 * i + 2, 2 * i + 3, 2 * i + 1) for i in range(len(turns) - 1)]
    return np.array(points), np.array([three for a, b, c, d in pairs for three in ((a, b, c), (a, c, d))])


def write_mesh(path: Path, points: np.ndarray, triangles: np.ndarray) -> Path:
    """As the ending says: OBJ, PLY or STL."""
    if path.suffix == ".stl":
        facets = [struct.pack("<12fH", 0, 0, 0, *points[three].ravel(), 0) for three in triangles]
        path.write_bytes(bytes(80) + struct.pack("<I", len(facets)) + b"".join(facets))
        return path
    rows = [f"{x:.9g} {y:.9g} {z:.9g}" for x, y, z in points.tolist()]
    if path.suffix == ".obj":
        faces = [" ".join(map(str, three)) for three in (triangles + 1).tolist()]
        path.write_text("".join([*(f"v {row}\n" for row in rows), *(f"f {face}\n" for face in faces)]))
        return path
    head = ["ply", "format ascii 1.0", f"element vertex {len(rows)}", *(f"property double {axis}" for axis in "xyz")]
    head += [f"element face {len(triangles)}", "property list uchar int vertex_indices", "end_header"]
    path.write_text("\n".join([*head, *rows, *(f"3 {a} {b} {c}" for a, b, c in triangles.tolist())]) + "\n")
    return path
