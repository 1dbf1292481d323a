"""Contacts of the wheels that come from outside, such as the collision detection of another simulator, or from a mesh.

A contact fixes a plane in the world: the surface of what the wheel touches. Within a step of the caller, whatever
number of sub-steps it takes, the wheel's depth follows from its own motion against that plane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.points import Direction, dot
from models.terrain.mesh import TriangleMesh
from models.terrain.mesh_contacts import COLUMNS as PLACE
from models.terrain.mesh_contacts import DISTANCE, MOST_CONTACTS, MOST_PLACES, touched_mesh
from models.terrain.mesh_contacts import SHARE as OWN_SHARE

# Columns of a contact: normal (3), distance of the plane from the world's origin along it [m], Coulomb coefficient and
# damping of the contact law, each NaN: that of the ground; which part of the ground's stiffness and damping it has.
NORMAL, OFFSET, FRICTION, DAMPING, SHARE = 0, 3, 4, 5, 6
COLUMNS = 7
_FAR = 1e9  # [m], of a wheel that touches nothing


class GivenContacts(NamedTuple):
    """Planes that the wheels touch, in world axes.

    Attributes:
        touching: (wheels,) how many each wheel has.
        plane: (wheels, MOST_CONTACTS, COLUMNS); the normal points from the ground to the wheel.
        mesh: where the wheels are looked for in each step; None: a caller gives the planes.
        place: (MOST_PLACES, columns of models.terrain.mesh_contacts) scratch.
    """

    touching: IntArray
    plane: FloatArray
    mesh: TriangleMesh | None = None
    place: FloatArray | None = None


def make_given_contacts(wheels: int, mesh: TriangleMesh | None = None) -> GivenContacts:
    """Of wheels that touch nothing yet."""
    plane = np.full((wheels, MOST_CONTACTS, COLUMNS), np.nan)
    plane[:, :, NORMAL:OFFSET] = 0.0, 0.0, 1.0
    plane[:, :, OFFSET], plane[:, :, SHARE] = 0.0, 1.0
    place = None if mesh is None else np.zeros((MOST_PLACES, PLACE))
    return GivenContacts(np.zeros(wheels, np.int64), plane, mesh, place)


@kernel
def find_planes(given: GivenContacts, wheel: int, centre: Direction, radius: float) -> None:
    """Make the planes of a wheel those of the mesh that it touches now; without a mesh they stay."""
    _find_planes(given.mesh, given.place, given, wheel, centre, radius)


@kernel
def _find_planes(
    mesh: TriangleMesh | None,
    place: FloatArray | None,
    given: GivenContacts,
    wheel: int,
    centre: Direction,
    radius: float,
) -> None:
    if mesh is None or place is None:  # decided at compile time
        return
    given.touching[wheel] = touched_mesh(mesh, centre, radius, place)
    for which in range(given.touching[wheel]):
        plane, row = given.plane[wheel, which], place[which]
        plane[NORMAL], plane[NORMAL + 1], plane[NORMAL + 2] = row[0], row[1], row[2]
        plane[OFFSET] = dot((row[0], row[1], row[2]), centre) - row[DISTANCE]
        plane[SHARE] = row[OWN_SHARE]


@kernel
def over_plane(given: GivenContacts, wheel: int, which: int, place: Direction) -> tuple[float, Direction]:
    """Distance [m] of a place (world) from the plane of a contact, positive outside, and the plane's normal."""
    row = given.plane[wheel, which]
    normal = (row[NORMAL], row[NORMAL + 1], row[NORMAL + 2])
    along = normal[0] * place[0] + normal[1] * place[1] + normal[2] * place[2]
    return along - row[OFFSET], normal


@kernel
def nearest_plane(given: GivenContacts, place: Direction, wheel: int) -> tuple[float, Direction]:
    """The same of the plane that a wheel's centre is nearest to; far away where it touches nothing."""
    nearest, normal = _FAR, (0.0, 0.0, 1.0)
    for which in range(given.touching[wheel]):
        over, its = over_plane(given, wheel, which, place)
        if over < nearest:
            nearest, normal = over, its
    return nearest, normal
