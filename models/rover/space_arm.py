"""A three-link arm with two flexible booms on a free spacecraft, like that of Cyril, Jaar and Misra 1993, section 4.

Their numbers are "similar to those of the SRMS" and stand in another paper. Those here are assumptions of that size: an
arm of 15 m, of which two long booms bend in the plane of the arm, one mode each. The base moves in all six directions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from models.rover.arm_names import EFFECTOR, JOINTS
from models.rover.assembly import VERTICAL, TreeBuilder, box
from models.rover.flexible import Boom, add_boom
from models.rover.rover import Rover
from models.rover.ties import Vector
from models.rover.tree import Body, Joint, Tree

__all__ = ["EFFECTOR", "JOINTS", "LOWER", "UPPER", "SpaceArm", "holding"]

UPPER = Boom(6.4, 139.0, 3.6e6, 0.17, end_mass=220.0, end_inertia=7000.0, damping_ratio=0.005)
LOWER = Boom(7.1, 84.0, 2.7e6, 0.17, end_mass=90.0, end_inertia=110.0, damping_ratio=0.005)
_AHEAD: Vector = (1.0, 0.0, 0.0)
_LEFT: Vector = (0.0, 1.0, 0.0)


@dataclass(frozen=True)
class SpaceArm:
    """Numbers of the arm; all are assumed. It lies in the x-y plane of the spacecraft and its joints turn about z.

    Attributes:
        spacecraft_mass: [kg].
        spacecraft_size: sides [m] of the box that its inertia is that of.
        shoulder: place of the first joint [m] from the spacecraft's centre of mass.
        upper: first boom. The shapes of both are those with what the bare arm has at their ends.
        lower: second boom.
        wrist_length: from the last joint to the end effector's point of contact [m].
        wrist_mass: of that link, which is rigid [kg].
        joint_mass: of each of the bodies that the first two joints turn [kg].
        joint_damping: of each joint [N m s/rad]: a loop that brakes its speed. 0: the joints are free.
        rigid: names of the booms, upper or lower, that do not bend.
    """

    spacecraft_mass: float = 1e5
    spacecraft_size: Vector = (30.0, 10.0, 8.0)
    shoulder: Vector = (6.0, 3.0, 0.0)
    upper: Boom = UPPER
    lower: Boom = LOWER
    wrist_length: float = 1.9
    wrist_mass: float = 90.0
    joint_mass: float = 50.0
    joint_damping: float = 0.0
    rigid: tuple[str, ...] = ()

    def build(self, *, rigid: bool = False) -> Rover:
        """The arm on its spacecraft.

        Args:
            rigid: the booms do not bend.

        Example:
            Six speeds of the spacecraft, three joints, and one bending mode of each boom:

            >>> arm = SpaceArm().build()
            >>> arm.nv, arm.joint_names[:2]
            (11, ('arm_1_shoulder', 'upper_1_bend'))
        """
        return Rover(self.tree(rigid=rigid))

    def tree(self, *, rigid: bool = False) -> Tree:
        """Its bodies and joints, stretched out along x."""
        craft = Body(
            "spacecraft", self.spacecraft_mass, (0.0, 0.0, 0.0), box(self.spacecraft_mass, self.spacecraft_size)
        )
        builder = TreeBuilder("space_arm", craft)
        x, y, z = self.shoulder
        root = craft.name
        for joint, name, boom in zip(JOINTS[:2], ("upper", "lower"), (self.upper, self.lower), strict=True):
            hub = f"{name}_hub"
            inertia = box(self.joint_mass, (0.4, 0.4, 0.4))
            braked = (0.0, self.joint_damping)
            builder.add_body(root, joint, VERTICAL, hub, self.joint_mass, inertia, (x, y, z), spring=braked)
            root = add_boom(builder, name, hub, (x, y, z), _AHEAD, _LEFT, boom)
            x += boom.length
        wrist = box(self.wrist_mass, (self.wrist_length, 0.3, 0.3))
        middle = (x + 0.5 * self.wrist_length, y, z)
        builder.add_body(
            root, JOINTS[2], VERTICAL, EFFECTOR, self.wrist_mass, wrist, (x, y, z), middle,
            spring=(0.0, self.joint_damping),
        )  # fmt: skip
        tree = builder.tree()
        # without the bending, what follows from it stands still too
        still = {
            joint.name
            for joint in tree.joints
            for boom in (("upper", "lower") if rigid else self.rigid)
            if joint.name.startswith(f"{boom}_") and joint.name.endswith(("_bend", "_shape", "_slope"))
        }
        joints = (replace(joint, locked_at=0.0) if joint.name in still else joint for joint in tree.joints)
        couplings = (one for one in tree.couplings if one.joint not in still)
        return replace(tree, joints=tuple(joints), couplings=tuple(couplings))

    @property
    def contact(self) -> Vector:
        """The point of contact in the end effector's frame [m]."""
        return self.wrist_length, 0.0, 0.0


def holding(tree: Tree, payload: Body, place: Vector) -> Tree:
    """The same arm with a payload on its end effector.

    Args:
        tree: of the arm.
        payload: in the axes of the end effector.
        place: of its frame's origin in the end effector's frame [m].
    """
    latch = Joint("latch", EFFECTOR, payload.name, place, VERTICAL, locked_at=0.0)
    return replace(tree, bodies=(*tree.bodies, payload), joints=(*tree.joints, latch))
