"""A rim of straight beam elements on springs, to test the bending shapes of `models.wheel.flexible_ring` against.

Nothing of the series is in it: hundreds of frame elements with three freedoms a node, each node held by two springs,
and the soil's pressure put on the nodes. Axes as there: x ahead, z up, angles from the lowest point, positive ahead.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import root
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import splu

from models.kernels.compiled import FloatArray
from models.wheel.soil import Soil

# Stretching stiffness EA over EI/R^2: the rim hardly stretches.
_STRETCH = 1e6


@dataclass(frozen=True)
class BeamRing:
    """The ring.

    Attributes:
        radius: R [m].
        bending_stiffness: EI [N m^2].
        hub_stiffness: K of the springs [N/m for each radian], along x and z alike.
        nodes: Number of nodes and elements; even.
    """

    radius: float
    bending_stiffness: float
    hub_stiffness: float
    nodes: int = 720

    @property
    def angles(self) -> FloatArray:
        """Of the nodes [rad], from -pi on; the lowest point, 0, is one of them."""
        return 2.0 * np.pi * (np.arange(self.nodes) - self.nodes // 2) / self.nodes

    def deflected(self, forces: FloatArray) -> FloatArray:
        """Returns the displacements of all nodes under forces.

        Args:
            forces: On each node along x and z [N], shape (nodes, 2) or (nodes, 2, loads).

        Returns:
            [m], of the same shape.
        """
        loads = np.zeros((3 * self.nodes, *forces.shape[2:]))
        loads[0::3], loads[1::3] = forces[:, 0], forces[:, 1]
        moved = splu(self._stiffness()).solve(loads)
        return np.stack((moved[0::3], moved[1::3]), axis=1)

    def _stiffness(self) -> "csc_array":
        """Stiffness matrix over x, z and rotation of each node, sparse."""
        length, angles = 2.0 * self.radius * math.sin(math.pi / self.nodes), self.angles
        bend, stretch = self.bending_stiffness / length**3, _STRETCH * self.bending_stiffness / self.radius**2 / length
        a, b, c = 12.0 * bend, 6.0 * bend * length, bend * length**2
        local = np.array(
            [
                [stretch, 0, 0, -stretch, 0, 0], [0, a, b, 0, -a, b], [0, b, 4 * c, 0, -b, 2 * c],
                [-stretch, 0, 0, stretch, 0, 0], [0, -a, -b, 0, a, -b], [0, b, 2 * c, 0, -b, 4 * c],
            ]
        )  # fmt: skip
        rows, columns, values = [], [], []
        for first in range(self.nodes):
            along = angles[first] + math.pi / self.nodes  # direction of the element from the x axis
            turn = np.array([[math.cos(along), math.sin(along), 0], [-math.sin(along), math.cos(along), 0], [0, 0, 1]])
            both = np.kron(np.eye(2), turn)
            second = (first + 1) % self.nodes
            place = [3 * first, 3 * first + 1, 3 * first + 2, 3 * second, 3 * second + 1, 3 * second + 2]
            rows.append(np.repeat(place, 6))
            columns.append(np.tile(place, 6))
            values.append((both.T @ local @ both).ravel())
        springs = np.array([3 * i + axis for i in range(self.nodes) for axis in (0, 1)])
        rows.append(springs)
        columns.append(springs)
        values.append(np.full(springs.size, self.hub_stiffness * 2.0 * math.pi / self.nodes))
        size = 3 * self.nodes
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return csc_array(coo_array(entries, shape=(size, size)))


def on_soil(
    ring: BeamRing, width: float, soil: Soil, sinkages: FloatArray, share: float, before: float = 0.0
) -> tuple[float, float, float]:
    """Presses the ring into soil, step by step, until pressure, shear and the beam's forces agree.

    Args:
        ring: The ring.
        width: b [m].
        soil: The soil; a column that lies behind a deeper node relaxes from its depth, Petersen 2012 (5.28), (5.29).
        sinkages: Of the hub [m], rising; the last one counts.
        share: Of the shear strength friction angle and cohesion that is mobilised, -1 to 1.
        before: Depth to which an earlier wheel has pressed each column [m].

    Returns:
        Vertical and horizontal resultant of the pressure [N], up and against the motion, and the largest depth [m].
    """
    touching = np.flatnonzero(np.abs(ring.angles) < 0.7)[::-1]  # from the front to the back
    unit = np.zeros((ring.nodes, 2, 2 * touching.size))
    for i, node in enumerate(touching):
        unit[node, 0, 2 * i] = unit[node, 1, 2 * i + 1] = 1.0
    compliance = ring.deflected(unit)[touching].reshape(2 * touching.size, -1)
    circle = ring.radius * np.stack((np.sin(ring.angles), -np.cos(ring.angles)), axis=1)[touching]

    def pressed(moved: FloatArray, sinkage: float) -> tuple[FloatArray, FloatArray, float]:
        place = circle + moved.reshape(-1, 2)
        depth, deepest, pressure = sinkage - ring.radius - place[:, 1], before, np.zeros(touching.size)
        for i, one in enumerate(depth):
            deepest = max(deepest, one)
            if deepest > 0.0:
                largest = soil.stiffness * deepest**soil.exponent
                pressure[i] = largest * max(0.0, 1.0 - (deepest - one) / (soil.rebound * deepest))
        ahead = -np.gradient(place, axis=0)  # the distance along the rim that belongs to a node
        normal = width * pressure[:, None] * np.stack((-ahead[:, 1], ahead[:, 0]), axis=1)
        strength = np.where(pressure > 0.0, soil.cohesion + pressure * math.tan(soil.friction_angle), 0.0)
        return normal, normal + width * share * strength[:, None] * ahead, deepest

    moved = np.zeros(2 * touching.size)
    for sinkage in sinkages.tolist():

        def unbalanced(u: FloatArray, depth: float = sinkage) -> FloatArray:
            missing: FloatArray = u - compliance @ pressed(u, depth)[1].ravel()
            return missing

        moved = root(unbalanced, moved, method="hybr", options={"xtol": 1e-9}).x
    normal, _, deepest = pressed(moved, sinkages.tolist()[-1])
    return float(normal[:, 1].sum()), -float(normal[:, 0].sum()), deepest
