"""A three-link arm with two flexible booms on a free spacecraft, like that of Cyril, Jaar and Misra 1993, section 4.

Their numbers are "similar to those of the SRMS" and stand in another paper. Those here are assumptions of that size: an
arm of 15 m, of which two long booms bend in the plane of the arm, one mode each. The base moves in all six directions.

Names of the joints and bodies of a space arm, which a config asks for without making one.

A space arm with a grapple, and the payload that it is to capture: one tree, in which the payload is free at first.

Three joints behind the end effector carry the payload: how far it is ahead of the grapple's seat, how far across,
and how far it is turned. Without springs they bear nothing, so that it is a free body in the plane of the arm; with
springs they are a soft latch. So the dynamics need nothing new, and momentum is that of one tree.

What leaves the plane of the arm, the payload does with the end effector: in that plane nothing does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from models.rover.assembly import LATERAL, LENGTHWISE, VERTICAL, TreeBuilder, box
from models.rover.flexible import Boom, add_boom
from models.rover.parameters import Parameters, quantity
from models.rover.rover import Rover
from models.rover.ties import Vector
from models.rover.tree import Body, Joint, Tree

JOINTS = ("arm_1_shoulder", "arm_2_elbow", "arm_3_wrist")
EFFECTOR = "end_effector"
GRAPPLE = "grapple"
PAYLOAD = "payload"
# The latch: the payload's point of contact ahead of the seat [m], across it [m], and its turn [rad].
LATCH = ("latch_ahead", "latch_across", "latch_turn")
DRIVEN = (*JOINTS, GRAPPLE)


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
        if not rigid:
            return tree
        # without the bending, what follows from it stands still too
        still = tuple(
            replace(joint, locked_at=0.0) if joint.name.endswith(("_bend", "_shape", "_slope")) else joint
            for joint in tree.joints
        )
        return replace(tree, joints=still, couplings=())

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


# Bodies between two joints of the latch, as a share of the payload: no body is without mass.
_LIGHT = 1e-6


@dataclass(frozen=True)
class CaptureArmParameters(Parameters):
    """A three-link arm with two flexible booms on a free spacecraft, and the payload that it captures.

    After Cyril, Jaar and Misra 1993, who print the ratio of the masses only; all other numbers are assumptions of the
    size of the SRMS. Booms bend in one mode each, in the plane in which the arm moves: its first frequency is right
    within 1 %, its second up to a third too high.
    """

    spacecraft_mass: float = quantity(1e5, "kg", 1, 1e7, "of the spacecraft")
    spacecraft_length: float = quantity(30.0, "m", 0.1, 200, "of the box that the spacecraft's inertia is that of")
    spacecraft_width: float = quantity(10.0, "m", 0.1, 200, "of that box")
    spacecraft_height: float = quantity(8.0, "m", 0.1, 200, "of that box")
    upper_length: float = quantity(6.4, "m", 0.1, 50, "of the boom from shoulder to elbow")
    upper_mass: float = quantity(139.0, "kg", 0.1, 1e4, "of that boom")
    upper_stiffness: float = quantity(3.6e6, "Nm2", 1e3, 1e12, "in bending, EI, of that boom")
    lower_length: float = quantity(7.1, "m", 0.1, 50, "of the boom from elbow to wrist")
    lower_mass: float = quantity(84.0, "kg", 0.1, 1e4, "of that boom")
    lower_stiffness: float = quantity(2.7e6, "Nm2", 1e3, 1e12, "in bending, EI, of that boom")
    boom_damping: float = quantity(0.005, "", 1e-6, 0.5, "damping ratio of each boom's mode")
    wrist_length: float = quantity(1.9, "m", 0.05, 20, "from the last joint to the grapple's seat")
    wrist_mass: float = quantity(90.0, "kg", 0.1, 1e4, "of the link behind the last joint")
    grapple_mass: float = quantity(20.0, "kg", 0.01, 1e3, "of what the grapple's drive moves along the wrist")
    payload_mass: float = quantity(1e4, "kg", 0.1, 1e6, "of the payload that is captured")
    payload_edge: float = quantity(3.0, "m", 0.01, 50, "of the cube that its inertia is that of")
    payload_reach: float = quantity(1.5, "m", 0.001, 50, "from its point of contact to its centre of mass")
    latch_stiffness: float = quantity(2e4, "Npm", 1, 1e9, "of the closed latch, ahead and across")
    latch_damping: float = quantity(1e4, "Nspm", 1e-3, 1e9, "of the closed latch, ahead and across")
    latch_turn_stiffness: float = quantity(2e4, "Nmprad", 1, 1e9, "of the closed latch against turning")
    latch_turn_damping: float = quantity(1e4, "Nmsprad", 1e-3, 1e9, "of the closed latch against turning")

    rover = "space_arm"

    def arm(self) -> SpaceArm:
        """The arm alone, on its spacecraft."""
        booms = (
            replace(boom, length=length, mass=mass, bending_stiffness=stiffness, damping_ratio=self.boom_damping)
            for boom, length, mass, stiffness in (
                (UPPER, self.upper_length, self.upper_mass, self.upper_stiffness),
                (LOWER, self.lower_length, self.lower_mass, self.lower_stiffness),
            )
        )
        upper, lower = booms
        return SpaceArm(
            spacecraft_mass=self.spacecraft_mass,
            spacecraft_size=(self.spacecraft_length, self.spacecraft_width, self.spacecraft_height),
            shoulder=(0.2 * self.spacecraft_length, 0.3 * self.spacecraft_width, 0.0),
            upper=upper,
            lower=lower,
            wrist_length=self.wrist_length,
            wrist_mass=self.wrist_mass,
        )

    def tree(self) -> Tree:
        """The arm with grapple and payload; the payload is at the seat where all joints are at zero."""
        arm = self.arm()
        bare, seat, light = arm.tree(), arm.contact, _LIGHT * self.payload_mass
        along, across, turn = LATCH
        centre = (self.payload_reach, 0.0, 0.0)
        springs = (self.latch_stiffness, self.latch_damping)
        small = (0.1, 0.1, 0.1)  # as they are drawn
        thin, edge = box(light, (self.payload_edge,) * 3), (self.payload_edge,) * 3
        bodies = (
            Body(GRAPPLE, self.grapple_mass, (0.0, 0.0, 0.0), box(self.grapple_mass, (0.3, 0.3, 0.3))),
            Body("latch_1", light, (0.0, 0.0, 0.0), thin, small),
            Body("latch_2", light, (0.0, 0.0, 0.0), thin, small),
            Body(PAYLOAD, self.payload_mass, centre, box(self.payload_mass, edge), edge),
        )
        here = (0.0, 0.0, 0.0)
        joints = (
            Joint(GRAPPLE, EFFECTOR, GRAPPLE, (seat[0] - 0.3, 0.0, 0.0), LENGTHWISE, slides=True),
            Joint(along, EFFECTOR, "latch_1", seat, LENGTHWISE, None, None, True, *springs),
            Joint(across, "latch_1", "latch_2", here, LATERAL, None, None, True, *springs),
            Joint(
                turn, "latch_2", PAYLOAD, here, VERTICAL, None, None, False, self.latch_turn_stiffness,
                self.latch_turn_damping,
            ),
        )  # fmt: skip
        return replace(bare, bodies=(*bare.bodies, *bodies), joints=(*bare.joints, *joints))
