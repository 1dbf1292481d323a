"""Plane frames of slender beams by finite elements (Hermite cubics), independent of `models`: frequencies of booms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

Array = NDArray[np.float64]
# Axial stiffness of a beam over the bending stiffness of its elements: it does not stretch.
_AXIAL = 1e5


class Beam(NamedTuple):
    """A straight, uniform beam.

    Attributes:
        length: [m].
        mass: [kg].
        bending_stiffness: EI [N m^2].
        direction: angle from x [rad].
    """

    length: float
    mass: float
    bending_stiffness: float
    direction: float


class EndBody(NamedTuple):
    """A rigid body on the end of a beam.

    Attributes:
        mass: [kg].
        inertia: about its centre of mass [kg m^2].
        offset: (x, y) of its centre of mass from the beam's end [m].
    """

    mass: float
    inertia: float
    offset: tuple[float, float] = (0.0, 0.0)


def frequencies(beams: Sequence[Beam], bodies: Sequence[Sequence[EndBody]], elements: int = 12) -> Array:
    """Natural frequencies [rad/s], rising, of beams in a row, the first clamped, each rigidly fixed to the one before.

    Args:
        beams: in their order.
        bodies: those on the end of each.
        elements: of each beam.
    """
    nodes = 1 + elements * len(beams)
    M, K = np.zeros((3 * nodes, 3 * nodes)), np.zeros((3 * nodes, 3 * nodes))
    for number, (beam, carried) in enumerate(zip(beams, bodies, strict=True)):
        mass, stiffness = _element(beam, elements)
        for k in range(elements):
            first = 3 * (number * elements + k)
            M[first : first + 6, first : first + 6] += mass
            K[first : first + 6, first : first + 6] += stiffness
        end = 3 * elements * (number + 1)
        for body in carried:
            x, y = body.offset
            # velocity of the centre of mass from that of the node
            moved = np.array([[1.0, 0.0, -y], [0.0, 1.0, x], [0.0, 0.0, 1.0]])
            M[end : end + 3, end : end + 3] += moved.T @ np.diag([body.mass, body.mass, body.inertia]) @ moved
    squares: Array = eigh(K[3:, 3:], M[3:, 3:], eigvals_only=True)
    return np.sqrt(squares)


def _element(beam: Beam, elements: int) -> tuple[Array, Array]:
    """Mass and stiffness (6, 6) over x, y and turn of both nodes."""
    h, EI = beam.length / elements, beam.bending_stiffness
    m = beam.mass / elements
    bending = EI / h**3 * np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
                                    [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]])  # fmt: skip
    inertia = m / 420 * np.array([[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h],
                                  [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h]])  # fmt: skip
    mass, stiffness = np.zeros((6, 6)), np.zeros((6, 6))
    across, axial = np.ix_([1, 2, 4, 5], [1, 2, 4, 5]), np.ix_([0, 3], [0, 3])
    mass[across], stiffness[across] = inertia, bending
    mass[axial] = m / 6 * np.array([[2, 1], [1, 2]])
    stiffness[axial] = _AXIAL * EI / h**3 * np.array([[1, -1], [-1, 1]])
    c, s = np.cos(beam.direction), np.sin(beam.direction)
    turn = np.kron(np.eye(2), np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]))
    return turn.T @ mass @ turn, turn.T @ stiffness @ turn
