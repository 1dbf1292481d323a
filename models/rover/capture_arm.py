"""A space arm with a grapple, and the payload that it is to capture: one tree, in which the payload is free at first.

Three joints behind the end effector carry the payload: how far it is ahead of the grapple's seat, how far across,
and how far it is turned. Without springs they bear nothing, so that it is a free body in the plane of the arm; with
springs they are a soft latch. So the dynamics need nothing new, and momentum is that of one tree.

What leaves the plane of the arm, the payload does with the end effector: in that plane nothing does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from models.rover.arm_names import EFFECTOR, GRAPPLE, LATCH, PAYLOAD
from models.rover.assembly import LATERAL, LENGTHWISE, VERTICAL, box
from models.rover.parameters import Parameters, quantity
from models.rover.tree import Body, Joint, Tree

if TYPE_CHECKING:
    from models.rover.space_arm import SpaceArm  # imports kernels and scipy, which a config does without

# Bodies between two joints of the latch, as a share of the payload: no body is without mass.
_LIGHT = 1e-6


@dataclass(frozen=True)
class CaptureArmParameters(Parameters):
    """A three-link arm with two flexible booms on a free spacecraft, and the payload that it captures.

    After Cyril, Jaar and Misra 1993, who print the ratio of the masses only; all other numbers are assumptions of the
    size of the SRMS. Booms bend in the plane in which the arm moves, in one mode each as built: its first frequency is
    right within 1 %, its second up to a third too high; with two modes each, within 0.1 %.
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
    upper_modes: int = quantity(1, "", 0, 4, "bending modes of the boom from shoulder to elbow; 0: rigid", later=True)
    lower_modes: int = quantity(1, "", 0, 4, "bending modes of the boom from elbow to wrist; 0: rigid", later=True)

    rover = "space_arm"
    shaping = ("upper_modes", "lower_modes")

    def arm(self) -> SpaceArm:
        """The arm alone, on its spacecraft."""
        from models.rover.space_arm import LOWER, UPPER, SpaceArm

        booms = (
            replace(
                boom,
                length=length,
                mass=mass,
                bending_stiffness=stiffness,
                modes=modes or 1,
                damping_ratio=self.boom_damping,
            )
            for boom, length, mass, stiffness, modes in (
                (UPPER, self.upper_length, self.upper_mass, self.upper_stiffness, self.upper_modes),
                (LOWER, self.lower_length, self.lower_mass, self.lower_stiffness, self.lower_modes),
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
            rigid=tuple(name for name in ("upper", "lower") if not getattr(self, f"{name}_modes")),
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
