"""Settings of servos of driven joints on RoboClaw controllers."""

from __future__ import annotations

from typing_extensions import override

from drivers.joint_scale import JointScale
from drivers.roboclaw.protocol import CommandCode
from drivers.roboclaw.settings import RoboClawBusSettings, RoboClawControllerSettings


class RoboClawServoSettings(RoboClawBusSettings, frozen=True):
    """Servos of driven joints on RoboClaw controllers.

    Attributes:
        joints: their scales, in the order of every vector by joint.
    """

    moves = "joint"

    joints: tuple[JointScale, ...]

    @property
    @override
    def count(self) -> int:
        return len(self.joints)

    @override
    def sign_of(self, motor: int) -> int:
        return self.joints[motor].sign

    @override
    def counts_per_turn(self, motor: int) -> float:
        return self.joints[motor].counts_per_turn

    @override
    def run_command(self, controller: RoboClawControllerSettings) -> CommandCode:
        if None not in controller.channels:
            return CommandCode.GO
        return CommandCode.GO_M1 if controller.m2 is None else CommandCode.GO_M2

    @property
    @override
    def readings(self) -> tuple[CommandCode, ...]:
        return (CommandCode.COUNTS,)

    @override
    def wrong(self) -> list[str]:
        return [problem for joint in self.joints for problem in joint.problems()]
