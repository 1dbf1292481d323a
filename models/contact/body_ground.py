"""The main body on the ground: a rover that turns over lies on the corners of its body."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from models.contact.compliant import CompliantGround, make_compliant_ground
from models.contact.friction import slide_contact
from models.contact.laws import make_law, press
from models.gravity import GRAVITY_MPS2
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace
from models.rover.points import Direction, body_spin, body_velocity, cross, to_base, to_world, vector
from models.rover.reduction import Chain
from models.rover.rover import Rover
from models.rover.tree import Tree
from models.terrain.surface import Terrain, axes, height_over, steepest, surface, to_ground

# How far a corner gives under the whole weight [m], its damping as a share of what is critical for a quarter of the
# mass, and friction: a frame of profiles on sand or on rock, an assumption.
CORNER_GIVE = 0.01
CORNER_DAMPING_SHARE = 0.5
FRICTION, FRICTION_SPEED = 0.5, 1e-3


class BodyContact(NamedTuple):
    """Corners of the bodies that are fixed to the base, and how they bear; all in base axes.

    Attributes:
        corner: (corners, 3) [m].
        centre: of the box around them, along the base's axes [m].
        half: half of its sides [m].
        ground: law and friction of each corner, whatever the wheels stand on.
    """

    corner: FloatArray
    centre: Direction
    half: Direction
    ground: CompliantGround


def make_body_contact(rover: Rover) -> BodyContact | None:
    """The corners of every body with a size (`models.rover.tree.Body.size`) that is fixed to the base, if there is any.

    Their stiffness and damping follow from the rover's mass.
    """
    corner = body_corners(rover.tree)
    if not len(corner):
        return None
    mass = float(rover.mass_matrix(rover.neutral())[0, 0])
    stiffness = mass * GRAVITY_MPS2 / CORNER_GIVE
    damping = 2.0 * CORNER_DAMPING_SHARE * math.sqrt(stiffness * 0.25 * mass)
    law = make_law("kelvin_voigt", stiffness, damping=damping)
    x, y, z = (0.5 * (corner.max(axis=0) + corner.min(axis=0))).tolist()
    a, b, c = (0.5 * np.ptp(corner, axis=0)).tolist()
    return BodyContact(corner, (x, y, z), (a, b, c), make_compliant_ground(law, FRICTION, FRICTION_SPEED))


def body_corners(tree: Tree) -> FloatArray:
    """Corners (corners, 3) [m], base axes, of the bodies with a size that are fixed to the base."""
    corners: list[FloatArray] = []

    def visit(name: str, place: FloatArray, turn: FloatArray) -> None:
        body = tree.body[name]
        if body.size is not None:
            signs = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
            corners.append(place + (np.array(body.com) + signs * body.size) @ turn.T)
        for joint in tree.children(name):
            if joint.locked_at is not None:
                origin, axes = joint.placed(joint.locked_at)
                visit(joint.child, place + turn @ origin, turn @ axes)

    visit(tree.bodies[0].name, np.zeros(3), np.eye(3))
    return np.concatenate(corners) if corners else np.zeros((0, 3))


@kernel
def push_body(chain: Chain, body: BodyContact, terrain: Terrain, q: FloatArray, dt: float, work: Workspace) -> None:
    """Add the ground's force on the body's corners to work; a rover on its wheels costs one test.

    Args:
        chain: the rover.
        body: its corners.
        terrain: shape of the ground; heights of single wheels do not count.
        q: configuration.
        dt: step [s].
        work: placed, with twists.
    """
    x, y, z = to_world(work, body.centre[0], body.centre[1], body.centre[2])
    place = (q[0] + x, q[1] + y, q[2] + z)
    _, normal, _ = surface(terrain, place[0], place[1])
    up = to_base(work, normal[0], normal[1], normal[2])
    reach = abs(up[0]) * body.half[0] + abs(up[1]) * body.half[1] + abs(up[2]) * body.half[2]
    reach += _rise(terrain, body)
    if height_over(terrain, place) < reach:
        for i in range(body.corner.shape[0]):
            _push_corner(chain, body, terrain, q, i, dt, work)


@kernel
def _rise(terrain: Terrain, body: BodyContact) -> float:
    """Returns by how much [m] uneven ground around the box's middle may be nearer than its tangent plane there."""
    if terrain is None:
        return 0.0
    a, b, c = body.half
    return 2.0 * steepest(terrain) * math.sqrt(a * a + b * b + c * c)


@kernel
def _push_corner(
    chain: Chain, body: BodyContact, terrain: Terrain, q: FloatArray, i: int, dt: float, work: Workspace
) -> None:
    corner = vector(body.corner[i], 0)
    arm = to_world(work, corner[0], corner[1], corner[2])
    place = (q[0] + arm[0], q[1] + arm[1], q[2] + arm[2])
    depth = -height_over(terrain, place)
    if depth <= 0.0:
        return
    _, normal, _ = surface(terrain, place[0], place[1])
    ground = axes(terrain, normal)
    base, turning = body_velocity(work, 0), cross(body_spin(work, 0), arm)
    x, y, z = to_ground(terrain, ground, (base[0] + turning[0], base[1] + turning[1], base[2] + turning[2]))
    force = press(chain, body.ground.law, ground[2], 0, arm, depth, z, dt, work)
    friction, slowest = body.ground.friction, body.ground.friction_speed
    slide_contact(chain, friction, slowest, 0, (ground[0], ground[1]), arm, (x, y), force, dt, work)
