"""One picture of a run in three dimensions: the solids of its rig, drawn by matplotlib without a screen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection
from scipy.spatial.transform import Rotation

from hil.analysis.film.moments import FilmedWindow, Moment
from hil.analysis.film.skeleton import Floats
from hil.analysis.film.solids import GROUND, Box, Colour, Cylinder, Lines, RigSolids
from hil.config.rig import Rig

# From where the rover is seen: from ahead, starboard and above [deg].
_AZIMUTH_DEG, _ELEVATION_DEG = -50.0, 22.0
_LIGHT = np.array([0.3, -0.5, 0.8])
_DARKEST = 0.55  # of a colour, where no light falls
_AROUND_M, _BELOW_M = 0.35, 0.1  # of the picture, beyond the rover
_SIDES, _STRIPE = 24, (0.36, 0.52, 0.68, 1.0)  # of a wheel
_CUBE = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_CUBE_FACES = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))


class SolidView:
    """Draws moments of a run into axes of the projection 3d, without perspective."""

    def __init__(self, axes: Any, run: FilmedWindow) -> None:
        self._axes, rig, first = axes, RigSolids(Rig(run.config)), run.at(0.0)
        self._base = run.skeleton.tree.bodies[0].name
        foot_m = run.plate.foot if run.plate else 0.0
        still = (0.0,) * len(run.skeleton.wheels)
        frames = rig.frames(first.row["pose"], first.row["joint_angle_rad"], still, foot_m)
        turned = Rotation.from_quat(frames.quaternions).as_matrix()
        self._still = dict(zip(frames.names, zip(frames.origins, turned, strict=True), strict=True))
        axes.view_init(elev=_ELEVATION_DEG, azim=_AZIMUTH_DEG)
        axes.set_proj_type("ortho")
        axes.computed_zorder = False
        axes.set_axis_off()
        self._faces, self._lines = list[tuple[str, Floats, Colour]](), list[tuple[str, Floats, Colour]]()
        for solid in rig.solids():
            if not isinstance(solid, Lines):
                self._faces += [(solid.frame, *one) for one in _faces(solid)]
            elif solid.frame not in run.skeleton.wheels:  # marks on a wheel would show through all before it
                self._lines.append((solid.frame, solid.points, solid.colour))
        self._add_ground(first)
        self._polygons = axes.add_collection3d(Poly3DCollection([np.zeros((4, 3))], zorder=3.0, zsort="average"))
        self._edges = axes.add_collection3d(Line3DCollection([np.zeros((2, 3))], colors="#333333", zorder=4.0))
        points = np.array([first.placed.origin[name] for name in first.placed.origin]) - first.placed.origin[self._base]
        reach = np.abs(points).max(axis=0) + max(run.config.wheel_radii_m, default=0.0) + _AROUND_M
        self._low, self._high = -reach, reach
        self._low[2] = points[:, 2].min() - max(run.config.wheel_radii_m, default=_AROUND_M) - _BELOW_M
        axes.set_box_aspect(self._high - self._low, zoom=1.7)

    def draw(self, moment: Moment) -> None:
        """Show that tick."""
        base = moment.placed.origin[self._base]
        for low, high, limits in zip(
            base + self._low, base + self._high, (self._axes.set_xlim, self._axes.set_ylim, self._axes.set_zlim),
            strict=True,
        ):  # fmt: skip
            limits(low, high)
        faces = [(self._placed(moment, frame, face), colour) for frame, face, colour in self._faces if frame != GROUND]
        self._polygons.set_verts([face for face, _ in faces])
        self._polygons.set_facecolor([_lit(face, colour) for face, colour in faces])
        moving = [one for one in self._lines if one[0] != GROUND]
        self._edges.set_segments([line for frame, own, _ in moving for line in self._segments(moment, frame, own)])

    def _placed(self, moment: Moment, frame: str, points: Floats) -> Floats:
        """Points (n, 3) of a frame, in the world [m]."""
        poses = moment.placed
        origin, axes = (poses.origin[frame], poses.axes[frame]) if frame in poses.origin else self._still[frame]
        return np.asarray(origin + points @ axes.T)

    def _segments(self, moment: Moment, frame: str, points: Floats) -> Floats:
        """Lines (n, 2, 3) of pairs of points (2 n, 3)."""
        return self._placed(moment, frame, points).reshape(-1, 2, 3)

    def _add_ground(self, moment: Moment) -> None:
        """What does not move lies under all that does."""
        for _, face, colour in (one for one in self._faces if one[0] == GROUND):
            plane = Poly3DCollection([self._placed(moment, GROUND, face)], facecolor=colour, zorder=0.0)
            self._axes.add_collection3d(plane)
        for _, each, colour in (one for one in self._lines if one[0] == GROUND):
            segments = self._segments(moment, GROUND, each)
            self._axes.add_collection3d(Line3DCollection(segments, colors=[colour], linewidths=0.6, zorder=1.0))


def _faces(solid: Box | Cylinder) -> list[tuple[Floats, Colour]]:
    """Its faces, each (4, 3) [m] in its frame; the rim of a wheel is striped, so that it is seen to turn."""
    if isinstance(solid, Box):
        corners = np.array(solid.centre) + _CUBE * np.array(solid.sides)
        return [(corners[list(face)], solid.colour) for face in _CUBE_FACES]
    angle = np.linspace(0.0, 2.0 * math.pi, _SIDES, endpoint=False)
    x, z, half = solid.radius * np.sin(angle), solid.radius * np.cos(angle), np.full(_SIDES, 0.5 * solid.width)
    left, right = np.column_stack([x, half, z]), np.column_stack([x, -half, z])
    rim = np.stack([left, right, np.roll(right, -1, axis=0), np.roll(left, -1, axis=0)], axis=1)
    found = [(face, (solid.colour, _STRIPE)[place % 2]) for place, face in enumerate(rim)]
    for side in (left, right):
        hub, ring = side.mean(axis=0), np.concatenate([side, side[:1]])
        found += [(np.stack([hub, *ring[place : place + 3]]), solid.colour) for place in range(0, _SIDES, 2)]
    return found


def _lit(face: Floats, colour: Colour) -> Colour:
    """The colour of a face, darker where it is turned from the light."""
    normal = np.cross(face[1] - face[0], face[2] - face[1])
    share = abs(float(normal @ _LIGHT)) / (float(np.linalg.norm(normal) * np.linalg.norm(_LIGHT)) or 1.0)
    red, green, blue = ((_DARKEST + (1.0 - _DARKEST) * share) * part for part in colour[:3])
    return red, green, blue, colour[3]
