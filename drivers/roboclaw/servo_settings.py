"""Settings of servos of driven joints on RoboClaw controllers."""

from __future__ import annotations

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
    def count(self) -> int:
        """See RoboClawBusSettings."""
        return len(self.joints)

    def sign_of(self, motor: int) -> int:
        """See RoboClawBusSettings."""
        return self.joints[motor].sign

    def counts_per_turn(self, motor: int) -> float:
        """See RoboClawBusSettings."""
        return self.joints[motor].counts_per_turn

    def run_command(self, controller: RoboClawControllerSettings) -> CommandCode:
        """See RoboClawBusSettings."""
        if None not in controller.channels:
            return CommandCode.GO
        return CommandCode.GO_M1 if controller.m2 is None else CommandCode.GO_M2

    @property
    def readings(self) -> tuple[CommandCode, ...]:
        """See RoboClawBusSettings."""
        return (CommandCode.COUNTS,)

    def wrong(self) -> list[str]:
        """See RoboClawBusSettings."""
        return [problem for joint in self.joints for problem in joint.problems()]
