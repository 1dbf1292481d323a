"""Servos of driven joints on dual-channel Roboteq controllers in closed-loop count position mode, one port each.

Each period every controller receives the counts of its joints (`!P`) and says its own (`?C`). Speed and accelerations
of its moves (`!S`, `!AC`, `!DC`) are set when the link is opened. A position is held wherever it is, so a controller
that is stopped is given the counts that it stands at before the stop may end.
"""

from __future__ import annotations

import math

from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError, ServosDevice
from drivers.messages import JointCommand, JointSample
from drivers.motor_controllers import STANDING_RADPS, power_sample
from drivers.roboteq import protocol
from drivers.roboteq.controller import RoboteqController
from drivers.roboteq.motor_layout import RPM, SPEEDS, RoboteqJoints
from drivers.roboteq.motors import RoboteqMotors
from drivers.roboteq.protocol import Exchange
from drivers.roboteq.section import RoboteqServosSection


class RoboteqServos(RoboteqMotors[JointCommand, JointSample], ServosDevice):
    """Servos: see `RoboteqMotors`. What happens after a loss of power is as with `RoboClawServos`.

    Args:
        section: of the config.
        rig: with the driven joints.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    def __init__(
        self, section: RoboteqServosSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        motors = RoboteqJoints(section, rig)
        self._joints = motors.joints
        super().__init__(motors, host, alive)

    def _set_up(self) -> None:
        for controller in self._controllers:
            controller.ask(self.motors.reading)
            self._check_standing(controller)
            for channel, place in controller.by_channel:
                joint, count = self._joints[place], controller.values[channel - 1]
                if joint.lost(count) and joint.start_rad is not None:
                    controller.ask(Exchange((protocol.set_count(channel, joint.count(joint.start_rad)),)))
                rpm, rpm_per_s = joint.shaft_profile
                profile = protocol.set_profile(channel, max(round(rpm), 1), max(round(10.0 * rpm_per_s), 1))
                controller.ask(Exchange(profile))
            controller.ask(self.motors.reading)
            for place, angle in self._angles_of(controller).items():
                self._joints[place].check_start(angle, self._where(controller))

    def _check_standing(self, controller: RoboteqController) -> None:
        """Raises DeviceError."""
        (rpm,) = controller.link.ask(SPEEDS.frame, SPEEDS.missing, SPEEDS.decode)
        for channel, place in controller.by_channel:
            joint = self._joints[place]
            speed_radps = rpm[channel - 1] * RPM / joint.gear
            if abs(speed_radps) > STANDING_RADPS:
                raise DeviceError(
                    f"{self._where(controller)}: {joint.name} turns at {speed_radps:.3f} rad/s after its stop; "
                    "wait until it stands still"
                )

    def _check_command(self, command: JointCommand) -> None:
        if len(command.angle_rad) != len(self._joints):
            found = f"{len(command.angle_rad)} angles commanded, needed: {len(self._joints)}"
            raise DeviceError(f"{self.motors.device}: {found}")
        for joint, angle in zip(self._joints, command.angle_rad, strict=True):
            try:
                joint.check_command(angle)
            except ValueError as error:
                raise DeviceError(f"{self.motors.device}: {error}") from None

    def _set_points(self, controller: RoboteqController, command: JointCommand) -> Exchange:
        return Exchange(
            tuple(
                protocol.go_to(channel, self._joints[place].check_command(command.angle_rad[place]))
                for channel, place in controller.by_channel
            )
        )

    def _made(self, sequence: int, t_ns: int, acknowledged_ns: int, stopped_ns: int) -> JointSample:
        angles = [math.nan] * len(self._joints)
        for controller in self._controllers:
            for place, angle in self._angles_of(controller).items():
                angles[place] = angle
        currents_A = power_sample(controller.power() for controller in self._controllers).current_A
        return JointSample(sequence, t_ns, tuple(angles), acknowledged_ns, stopped_ns, currents_A)

    def _angles_of(self, controller: RoboteqController) -> dict[int, float]:
        """Angles at the counts that were read last, by joint. Raises DeviceError: the controller has lost them."""
        where = self._where(controller)
        return {
            place: self._joints[place].check_known(controller.values[channel - 1], where)
            for channel, place in controller.by_channel
        }

    def _where(self, controller: RoboteqController) -> str:
        return f"{self.motors.device} on {controller.controller.port}"
