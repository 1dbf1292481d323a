"""What a viewer in three dimensions draws of a rig: boxes, cylinders and lines, each fixed in a frame that moves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from hil.analysis.film.moments import HITTING
from hil.analysis.film.skeleton import Floats, Skeleton, foot_of
from hil.config.model_parameters import mesh_of, obstacle_stand, profile_line, relief_of
from hil.config.rig import Rig
from hil.config.schema.rover import tree_on_rig
from hil.messages.stages import UPRIGHT
from models.rover.tree import WheelMount
from models.terrain import HeightMap, slope_of
from models.terrain.mesh import TriangleMesh
from models.terrain.surface import quaternion_of

WORLD, GROUND, OBSTACLE = "world", "ground", "obstacle"
Colour = tuple[float, float, float, float]
_BODY: Colour = (0.87, 0.67, 0.20, 0.85)
_WHEEL: Colour = (0.0, 0.27, 0.53, 1.0)
_LINK: Colour = (0.20, 0.20, 0.20, 1.0)
_MARK: Colour = (0.0, 0.11, 0.24, 1.0)
_GROUND: Colour = (0.94, 0.90, 0.85, 1.0)
_LINES: Colour = (0.60, 0.56, 0.49, 1.0)
_PLATE: Colour = (0.73, 0.33, 0.40, 0.6)
_BEHIND_M, _AHEAD_M, _ASIDE_M = 5.0, 45.0, 5.0  # of the ground
_THICK_M, _GRID_M = 0.01, 0.5
_MOST_LINES = 80  # of the net that uneven ground is
_BENT = 1e-3  # between the normals of triangles whose edge is drawn
_PLATE_M = 0.6  # length and width of a plate whose size the config does not say
_SMOOTH_MARKS = 12  # on a wheel without grousers, so that it is seen to turn
_LEVEL = (0.0, 0.0, 0.0, 1.0)


class Box(NamedTuple):
    """A box: the middle [m] in its frame, its sides [m]."""

    frame: str
    centre: tuple[float, float, float]
    sides: tuple[float, float, float]
    colour: Colour


class Cylinder(NamedTuple):
    """A cylinder around the y axis of its frame, whose middle is the frame's origin; lengths in m."""

    frame: str
    radius: float
    width: float
    colour: Colour


class Lines(NamedTuple):
    """Lines in a frame: pairs of points (2 n, 3) [m], and how thick they are [m]."""

    frame: str
    points: Floats
    thickness: float
    colour: Colour


Solid = Box | Cylinder | Lines


class Frames(NamedTuple):
    """Where the frames are in the world: names, origins (n, 3) [m], quaternions x y z w (n, 4)."""

    names: tuple[str, ...]
    origins: Floats
    quaternions: Floats


class RigSolids:
    """A rig as a viewer in three dimensions shows it.

    Each body of the rover is a frame with its name; `ground` and `obstacle` are two more.

    Attributes:
        skeleton: of its rover.
        radius_m: of the front wheels, grousers included.
        angle_rad: of the obstacle to the ground; None: there is none.
        names: of all frames: those of the bodies, then `ground` and `obstacle`.

    Example:
        >>> from hil.config import load_config
        >>> from hil.config.rig import Rig
        >>> rig = RigSolids(Rig(load_config("sim_impact")))
        >>> sorted({solid.frame for solid in rig.solids()} - {"ground", "obstacle"})[:2]
        ['front_left_arm', 'front_left_leg']
    """

    def __init__(self, rig: Rig) -> None:
        nominal, config = rig.nominal, rig.config
        self._config, tree = config, tree_on_rig(nominal.rover)
        self.skeleton = Skeleton(tree, rig.layout.turning)
        self.radius_m = config.wheel_radius_m
        self.angle_rad = math.radians(config.trial.angle_deg) if rig.section.obstacle else None
        self._relief, self._stand = relief_of(config.ground), obstacle_stand(nominal)
        self._profile, self._mesh = profile_line(nominal), mesh_of(config.ground)
        slope = slope_of(math.radians(config.ground.pitch_deg), math.radians(config.ground.roll_deg))
        self._ground = _LEVEL if slope is None else tuple(quaternion_of(slope).tolist())
        bodies = [body.name for body in tree.bodies]
        self._bodies = tuple(bodies)
        self.names = (*bodies, GROUND, *([OBSTACLE] if self.angle_rad is not None else []))

    def frames(
        self,
        pose: Sequence[float],
        joint_angle_rad: Sequence[float],
        wheel_angle_rad: Sequence[float] | Floats,
        foot_m: float,
    ) -> Frames:
        """Where everything is.

        Pose and angles as of `Skeleton.place`; the obstacle meets the ground at world x `foot_m`.
        """
        placed = self.skeleton.place(pose, joint_angle_rad, np.asarray(wheel_angle_rad, float).tolist())
        turned = Rotation.from_matrix(np.array([placed.axes[name] for name in self._bodies])).as_quat()
        origins = [placed.origin[name] for name in self._bodies] + [np.zeros(3)]
        quaternions = [*turned, np.asarray(self._ground)]
        if self.angle_rad is not None:
            half = 0.5 * self.angle_rad
            inclined = np.array([0.0, -math.sin(half), 0.0, math.cos(half)])
            if self._stand is None:
                origins.append(np.array([foot_m, 0.0, 0.0]))
            else:  # on a scan both plates are drawn on the ground before the first wheel
                origin, axes = self._stand[0, 0], self._stand[0, 1:]
                origins.append(origin + foot_m * axes[0] - origin[1] * axes[1])
                inclined = (Rotation.from_matrix(axes.T) * Rotation.from_quat(inclined)).as_quat()
            quaternions.append(inclined)
        return Frames(self.names, np.array(origins), np.array(quaternions))

    def foot_m(self, pose: Sequence[float], joint_angle_rad: Sequence[float], gap_m: float) -> float | None:
        """Where the obstacle meets the ground, world x [m], by the gap of a tick; None: there is none, or no gap."""
        if self.angle_rad is None or not math.isfinite(gap_m):
            return None
        placed = self.skeleton.place(pose, joint_angle_rad, (0.0,) * len(self.skeleton.wheels))
        centres = np.array([placed.origin[wheel] for wheel in self.skeleton.wheels[:HITTING]])
        return foot_of(gap_m, centres, self.radius_m, self.angle_rad, self._stand)

    def solids(self) -> list[Solid]:
        """What is drawn, each part in its frame."""
        return [*self._of_rover(), *self._of_ground(), *self._of_obstacle()]

    def _of_rover(self) -> Iterator[Solid]:
        skeleton, wheels = self.skeleton, set(self.skeleton.wheels)
        for body in skeleton.tree.bodies:
            if body.name not in wheels:
                x, y, z = body.com
                yield Box(body.name, (x, y, z), body.size or body.box, _BODY)
        base = skeleton.tree.bodies[0]
        for joint in skeleton.joints:
            start = base.com if joint.parent == base.name else (0.0, 0.0, 0.0)
            yield Lines(joint.parent, np.array([start, joint.origin], float), 0.015, _LINK)
        for wheel in skeleton.tree.wheels:
            yield Cylinder(wheel.body, wheel.radius, wheel.width, _WHEEL)
            yield Lines(wheel.body, self._marks(wheel), 0.006, _MARK)

    def _marks(self, wheel: WheelMount) -> Floats:
        """Grousers, or marks across a smooth rim; and one spoke on each side, by which turns are counted."""
        own, half = self._config.wheels[wheel.name], 0.5 * wheel.width
        count, tip_m = own.grousers or _SMOOTH_MARKS, wheel.radius + own.tips_m
        points = []
        for number in range(count):
            angle = 2.0 * math.pi * number / count
            x, z = tip_m * math.sin(angle), tip_m * math.cos(angle)
            points += [(x, -half, z), (x, half, z)]
        for side in (-half, half):
            points += [(0.0, side, 0.0), (0.0, side, wheel.radius)]
        return np.array(points)

    def _of_ground(self) -> Iterator[Solid]:
        if self._config.ground.kind == "none":
            return
        if self._relief is not None:
            yield Lines(GROUND, _net(self._relief), 0.004, _LINES)
            return
        if self._mesh is not None:
            yield Lines(GROUND, edges_of(self._mesh).reshape(-1, 3), 0.004, _LINES)
            return
        if self._profile is not None:
            yield Lines(GROUND, _ruled(self._profile), 0.004, _LINES)
            return
        length = _BEHIND_M + _AHEAD_M
        middle = 0.5 * (_AHEAD_M - _BEHIND_M)
        yield Box(GROUND, (middle, 0.0, -0.5 * _THICK_M), (length, 2.0 * _ASIDE_M, _THICK_M), _GROUND)
        across = np.arange(-_BEHIND_M, _AHEAD_M + _GRID_M / 2, _GRID_M)
        yield Lines(GROUND, np.array([(x, y, 0.0) for x in across for y in (-_ASIDE_M, _ASIDE_M)]), 0.004, _LINES)

    def _of_obstacle(self) -> Iterator[Solid]:
        """A plate under each wheel that hits it; its frame has x up the plane, and z towards the rover."""
        if self.angle_rad is None:
            return
        size, still = self._config.obstacle.plate, (0.0,) * len(self.skeleton.wheels)
        placed = self.skeleton.place(UPRIGHT, (0.0,) * len(self._config.layout.turning), still)
        up, width, height = (
            (0.5 * _PLATE_M, _PLATE_M, _PLATE_M) if size is None else (size.centre_up_m, size.width_m, size.height_m)
        )
        for wheel in self.skeleton.wheels[:HITTING]:
            aside = float(placed.origin[wheel][1])
            yield Box(OBSTACLE, (up, aside, -0.5 * _THICK_M), (height, width, _THICK_M), _PLATE)


def edges_of(mesh: TriangleMesh) -> Floats:
    """Both ends (edges, 2, 3) [m] of the edges of a mesh, without those between level neighbours."""
    own = np.arange(len(mesh.normal))[:, np.newaxis]
    bent = np.linalg.norm(mesh.normal[own] - mesh.normal[mesh.neighbour], axis=2) > _BENT
    shown = (mesh.neighbour < 0) | (bent & (own < mesh.neighbour))
    ends: Floats = np.stack([mesh.corner, np.roll(mesh.corner, -1, axis=1)], axis=2)[shown]
    return ends


def _net(relief: HeightMap) -> Floats:
    """A height map as lines between neighbouring nodes (2 n, 3) [m], at most `_MOST_LINES` each way."""
    columns, rows = relief.height.shape
    every = max(1, math.ceil(max(columns, rows) / _MOST_LINES))
    height = relief.height[::every, ::every]
    x = relief.x + relief.spacing * every * np.arange(height.shape[0])
    y = relief.y + relief.spacing * every * np.arange(height.shape[1])
    nodes = np.stack([*np.meshgrid(x, y, indexing="ij"), height], axis=-1)
    ways = (nodes[:-1], nodes[1:]), (nodes[:, :-1], nodes[:, 1:])
    return np.concatenate([np.stack(ends, axis=2).reshape(-1, 3) for ends in ways])


def _ruled(line: Floats) -> Floats:
    """A profile as lines across it, at each corner and between corners, and along it (2 n, 3) [m]."""
    places = [line[:1]]
    for start, end in pairwise(line):
        count = max(1, math.ceil(float(np.hypot(*(end - start))) / _GRID_M))
        places.append(start + np.linspace(0.0, 1.0, count + 1)[1:, np.newaxis] * (end - start))
    along = np.concatenate(places)
    along = along[(along[:, 0] >= -_BEHIND_M) & (along[:, 0] <= _AHEAD_M)]
    across = np.arange(-_ASIDE_M, _ASIDE_M + _GRID_M / 2, _GRID_M)
    found = [(x, y, z) for x, z in along for y in (-_ASIDE_M, _ASIDE_M)]
    found += [(x, y, z) for y in across for pair in pairwise(along) for x, z in pair]
    return np.array(found)


class WheelAngles:
    """The angle by which each wheel has turned since the first tick, from its speed, one tick after the other.

    Example:
        >>> turning = WheelAngles(1)
        >>> [turning.add(t_ns, [2.0]).tolist() for t_ns in (0, 500_000_000)]
        [[0.0], [1.0]]
    """

    def __init__(self, wheels: int) -> None:
        self._turned, self._last_ns = np.zeros(wheels), -1

    def add(self, t_ns: int, wheel_speed_radps: Sequence[float]) -> Floats:
        """The angles (wheels,) [rad] at a tick. A time before that of the last one begins anew: another run."""
        if self._last_ns < 0 or t_ns < self._last_ns:
            self._turned = np.zeros(len(self._turned))
        else:
            step_s = (t_ns - self._last_ns) * 1e-9
            self._turned = self._turned + np.nan_to_num(np.asarray(wheel_speed_radps, float)) * step_s
        self._last_ns = t_ns
        return self._turned
