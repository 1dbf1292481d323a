"""Contacts of the wheels that come from outside, such as the collision detection of another simulator.

A contact fixes a plane in the world: the surface of what the wheel touches. Within a step of the caller, whatever
number of sub-steps it takes, the wheel's depth follows from its own motion against that plane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.points import Direction

MOST_CONTACTS = 4  # of one wheel
# Columns of a contact: normal (3), distance of the plane from the world's origin along it [m], Coulomb coefficient and
# damping of the contact law, each NaN: that of the ground.
NORMAL, OFFSET, FRICTION, DAMPING = 0, 3, 4, 5
COLUMNS = 6
_FAR = 1e9  # [m], of a wheel that touches nothing


class GivenContacts(NamedTuple):
    """Planes that the wheels touch, in world axes.

    Attributes:
        touching: (wheels,) how many each wheel has.
        plane: (wheels, MOST_CONTACTS, COLUMNS); the normal points from the ground to the wheel.
    """

    touching: IntArray
    plane: FloatArray


def make_given_contacts(wheels: int) -> GivenContacts:
    """Of wheels that touch nothing yet."""
    plane = np.full((wheels, MOST_CONTACTS, COLUMNS), np.nan)
    plane[:, :, NORMAL:OFFSET] = 0.0, 0.0, 1.0
    plane[:, :, OFFSET] = 0.0
    return GivenContacts(np.zeros(wheels, np.int64), plane)


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
