"""Names of the joints and bodies of a space arm, which a config asks for without making one."""

from __future__ import annotations

JOINTS = ("arm_1_shoulder", "arm_2_elbow", "arm_3_wrist")
EFFECTOR = "end_effector"
GRAPPLE = "grapple"
PAYLOAD = "payload"
# The latch: the payload's point of contact ahead of the seat [m], across it [m], and its turn [rad].
LATCH = ("latch_ahead", "latch_across", "latch_turn")
DRIVEN = (*JOINTS, GRAPPLE)
