"""Collision detection of wheels by MuJoCo, by Bullet and with a triangle mesh, as contacts for the step service."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from hil.api.stepping import Contact
from models.terrain import HeightMap, Terrain
from models.terrain.mesh import make_mesh
from models.terrain.mesh_contacts import touches
from models.terrain.surface import contact_plane, plane_axes

FloatArray = npt.NDArray[np.float64]


class Wheels(NamedTuple):
    """What an engine tests in place of the wheels.

    Attributes:
        radius: of each wheel [m].
        width: of each wheel [m].
        shrunk: by how much its cylinder is smaller than the wheel in radius [m]. A wheel in soil is in the ground by
            centimetres, and engines find the depth of what overlaps badly; a smaller cylinder is apart from it.
    """

    radius: Sequence[float]
    width: Sequence[float]
    shrunk: float = 0.0

    def contact(self, wheel: int, point: FloatArray, normal: FloatArray, distance: float) -> Contact:
        """Of a wheel, by the cylinder's nearest point to the ground, which is a distance apart; below 0: inside it."""
        unit = normal / np.linalg.norm(normal)
        return Contact(
            wheel, tuple((point - self.shrunk * unit).tolist()), tuple(unit.tolist()), self.shrunk - distance
        )

    def kept(self, found: Sequence[Contact]) -> list[Contact]:
        """One contact for each wheel that touches: on soil a wheel has one."""
        touching = [[one for one in found if one.wheel == wheel] for wheel in range(len(self.radius))]
        return [max(its, key=lambda one: one.penetration) for its in touching if its]


class Ground(NamedTuple):
    """Ours, for an engine to copy: a plane, or heights."""

    terrain: Terrain
    relief: HeightMap | None

    @property
    def normal(self) -> FloatArray:
        """Of the plane, world."""
        axes: FloatArray = plane_axes(self.terrain)[:, 2]
        return axes

    def under(self, centre: FloatArray) -> tuple[float, FloatArray]:
        """Distance of a wheel's centre from our ground [m], and the normal there."""
        over, normal = contact_plane(self.terrain, tuple(centre.tolist()), 0)
        return float(over), np.array(normal)


def turned(axle: FloatArray) -> FloatArray:
    """Quaternion (x, y, z, w) that turns z, the axis of both engines' cylinders, into a wheel's axle."""
    across = np.cross([0.0, 0.0, 1.0], axle)
    quaternion: FloatArray = np.append(across, 1.0 + axle[2])
    return quaternion / np.linalg.norm(quaternion)


class MujocoDetector:
    """MuJoCo: free cylinders, placed and tested, never moved by its own dynamics."""

    def __init__(self, ground: Ground, wheels: Wheels) -> None:
        import mujoco

        self._mujoco, self._wheels = mujoco, wheels
        asset, shape = "", ""
        if ground.relief is None:
            x, y, z, w = Rotation.align_vectors(ground.normal, [0.0, 0.0, 1.0])[0].as_quat().tolist()
            shape = f'<geom type="plane" size="50 50 1" quat="{w} {x} {y} {z}"/>'
        else:
            relief = ground.relief
            columns, rows = relief.height.shape
            low, high = float(relief.height.min()), float(relief.height.max())
            half = 0.5 * (columns - 1) * relief.spacing, 0.5 * (rows - 1) * relief.spacing
            asset = f'<hfield name="h" nrow="{rows}" ncol="{columns}" size="{half[0]} {half[1]} {high - low} 1"/>'
            shape = f'<geom type="hfield" hfield="h" pos="{relief.x + half[0]} {relief.y + half[1]} {low}"/>'
        same = f'contype="2" conaffinity="1" margin="{wheels.shrunk}"'
        bodies = "".join(
            f'<body><freejoint/><geom type="cylinder" size="{radius - wheels.shrunk} {0.5 * width}" {same}/></body>'
            for radius, width in zip(wheels.radius, wheels.width, strict=True)
        )
        text = f"<mujoco><asset>{asset}</asset><worldbody>{shape}{bodies}</worldbody></mujoco>"
        self._model = mujoco.MjModel.from_xml_string(text)
        if ground.relief is not None:
            heights = ground.relief.height.T
            self._model.hfield_data[:] = ((heights - heights.min()) / (heights.max() - heights.min())).ravel()
        self._data = mujoco.MjData(self._model)

    def contacts(self, centre: FloatArray, axle: FloatArray) -> list[Contact]:
        """Those of all wheels (wheels, 3)."""
        places = self._data.qpos.reshape(-1, 7)
        places[:, :3] = centre
        for place, direction in zip(places, axle, strict=True):
            place[3:] = np.roll(turned(direction), 1)
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_collision(self._model, self._data)
        found = []
        for one in self._data.contact[: self._data.ncon]:
            first, second = one.geom
            normal = one.frame[:3] if first == 0 else -one.frame[:3]  # geom 0 is the ground
            wheel = int(max(first, second)) - 1
            found.append(self._wheels.contact(wheel, one.pos + 0.5 * one.dist * normal, normal, float(one.dist)))
        return self._wheels.kept(found)


class BulletDetector:
    """Bullet, by pybullet: the same."""

    def __init__(self, ground: Ground, wheels: Wheels) -> None:
        bullet: Any = importlib.import_module("pybullet")
        self._bullet, self._wheels = bullet, wheels
        self._world = bullet.connect(bullet.DIRECT)
        if ground.relief is None:
            shape = bullet.createCollisionShape(bullet.GEOM_PLANE, planeNormal=ground.normal.tolist())
            self._ground = bullet.createMultiBody(0, shape)
        else:
            relief = ground.relief
            columns, rows = relief.height.shape
            shape = bullet.createCollisionShape(
                bullet.GEOM_HEIGHTFIELD,
                meshScale=[relief.spacing, relief.spacing, 1.0],
                heightfieldData=relief.height.T.ravel().tolist(),
                numHeightfieldRows=columns,
                numHeightfieldColumns=rows,
            )
            x, y = (start + 0.5 * (n - 1) * relief.spacing for start, n in ((relief.x, columns), (relief.y, rows)))
            middle = 0.5 * (float(relief.height.min()) + float(relief.height.max()))
            self._ground = bullet.createMultiBody(0, shape, basePosition=[x, y, middle])
        self._bodies = [
            bullet.createMultiBody(
                1.0, bullet.createCollisionShape(bullet.GEOM_CYLINDER, radius=radius - wheels.shrunk, height=width)
            )
            for radius, width in zip(wheels.radius, wheels.width, strict=True)
        ]

    def contacts(self, centre: FloatArray, axle: FloatArray) -> list[Contact]:
        """Those of all wheels (wheels, 3)."""
        bullet, found = self._bullet, []
        for wheel, body in enumerate(self._bodies):
            bullet.resetBasePositionAndOrientation(body, centre[wheel].tolist(), turned(axle[wheel]).tolist())
            for one in bullet.getClosestPoints(body, self._ground, self._wheels.shrunk):
                normal = np.array(one[7])
                if np.linalg.norm(normal) > 0.5:  # it is zero where the two touch without a depth
                    found.append(self._wheels.contact(wheel, np.array(one[5]), normal, float(one[8])))
        return self._wheels.kept(found)


class MeshDetector:
    """Ours: the ground as triangles, a plane as two, heights as two for each cell of their grid."""

    def __init__(self, ground: Ground, wheels: Wheels) -> None:
        self._wheels = wheels
        if ground.relief is None:
            axes = plane_axes(ground.terrain)
            places = np.array([(-50.0, -50.0), (50.0, -50.0), (50.0, 50.0), (-50.0, 50.0)]) @ axes[:, :2].T
            self._mesh = make_mesh(places, [(0, 1, 2), (0, 2, 3)])
            return
        relief = ground.relief
        columns, rows = relief.height.shape
        x, y = relief.x + relief.spacing * np.arange(columns), relief.y + relief.spacing * np.arange(rows)
        places = np.column_stack([np.repeat(x, rows), np.tile(y, columns), relief.height.ravel()])
        first = (rows * np.arange(columns - 1)[:, np.newaxis] + np.arange(rows - 1)).ravel()
        lower = np.column_stack([first, first + rows, first + rows + 1])
        upper = np.column_stack([first, first + rows + 1, first + 1])
        self._mesh = make_mesh(places, np.vstack([lower, upper]))

    def contacts(self, centre: FloatArray, _axle: FloatArray) -> list[Contact]:
        """Those of all wheels (wheels, 3), however they lean."""
        return self._wheels.kept([Contact(*one) for one in touches(self._mesh, centre, self._wheels.radius)])


# What tests cylinders, whose shape matters, and what tests wheels as our ground does: as spheres.
DETECTORS: dict[str, Callable[[Ground, Wheels], Any] | None] = {
    "MuJoCo": MujocoDetector,
    "Bullet": BulletDetector if importlib.util.find_spec("pybullet") else None,
}
OF_SPHERES: dict[str, Callable[[Ground, Wheels], Any] | None] = {"triangle mesh": MeshDetector}
