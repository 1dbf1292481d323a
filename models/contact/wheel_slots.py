"""Readings of wheels on the ground, and the slots of a row of their `scratch`; directions in base axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray

FORWARD, ROLLING, SINKING, SIDEWAYS = 0, 1, 2, 3  # speeds [m/s]: of the centre ahead, of the rim, up, to the left
HEADING, LEFT = 4, 7  # unit vectors
NORMAL, COSINE, SINE, LIMIT = 10, 11, 12, 13  # normal force [N], its inclination, shear limit [N]
TRACTION, SIDE, DAMPING = 14, 15, 16  # forces [N], and their slope over speed times the step [kg]
UP = 17  # unit vector, the ground's normal; not kept for level ground
MODULUS = 20  # slip modulus of the soils under the wheel; kept only where the ground has regions
BULLDOZING = 21  # resistance of soil pushed ahead [N], against the heading
LARGEST = 22  # normal force of a wheel's contacts with a profile [N]
SCRATCH = 23
DUG = 2  # of a row of `GroundContact.shear`, after the displacements ahead and to the left
# Where slip changes to sliding speed [m/s]: no larger, or a standing wheel would lose its shear displacement.
SLOWEST = 1e-12


class GroundContact(NamedTuple):
    """Readings of every wheel (wheels,): force along the ground's normal [N], sinkage [m], slip [-], drawbar pull [N].

    The sinkage is the hub's: radius less its height over the ground; a flexible wheel's deflection is part of it.

    And one state, `shear` (wheels, 3): how far the soil under it is sheared [m], along the heading and to its left, and
    how far slip has dug it [-] (models.wheel.shear_law). `scratch`
    (wheels, HAND) passes values between the stages of `push_ground`.
    """

    vertical: FloatArray
    sinkage: FloatArray
    slip: FloatArray
    pull: FloatArray
    shear: FloatArray
    scratch: FloatArray


def make_ground_contact(wheels: int) -> GroundContact:
    """Allocate the readings of `wheels` wheels."""
    vertical, sinkage, slip, pull = np.zeros((4, wheels))
    return GroundContact(vertical, sinkage, slip, pull, np.zeros((wheels, 3)), np.zeros((wheels, SCRATCH)))
