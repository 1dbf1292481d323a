"""Servos of driven joints on RoboClaw controllers in position mode, over one serial bus or several.

Each period every controller receives the positions of its joints (command 67; 65 or 66 where only one channel is used),
with the speed and acceleration of their profile, and reports its counts (78). The gains of its position loop are
set with the maker's program; the ends of its positions (61, 62) are set here, to the joints' angles.
"""

from __future__ import annotations

from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError, ServosDevice
from drivers.messages import JointCommand, JointSample
from drivers.motor_controllers import power_sample
from drivers.roboclaw import protocol
from drivers.roboclaw.motor_layout import RoboClawJoints
from drivers.roboclaw.motors import RoboClawMotors
from drivers.roboclaw.protocol import CommandCode, PositionPid
from drivers.roboclaw.section import RoboClawServosSection
from drivers.roboclaw.unit import Unit

_PID = (CommandCode.POSITION_PID_M1, CommandCode.POSITION_PID_M2)
_SET_PID = (CommandCode.SET_POSITION_PID_M1, CommandCode.SET_POSITION_PID_M2)
_SET_COUNT = (CommandCode.SET_COUNT_M1, CommandCode.SET_COUNT_M2)


class RoboClawServos(RoboClawMotors[JointCommand, JointSample], ServosDevice):
    """Servos: see `RoboClawMotors`.

    A controller with an incremental encoder that was without power does not know where its joint stands: it is refused,
    unless the section says where (`JointScale.start_rad`). During a run that is a failure of the device.

    Args:
        section: of the config.
        rig: with the driven joints.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    name = "servos"

    def __init__(
        self, section: RoboClawServosSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        motors = RoboClawJoints(section, rig)
        self._joints = motors.joints
        self._angle = [0.0] * len(motors.names)
        self._targets = [0] * len(motors.names)
        self._run_command = motors.run_command
        super().__init__(motors, host, alive)

    def _take(self, command: JointCommand) -> None:
        if len(command.angle_rad) != len(self._joints):
            raise ValueError(f"angle_rad: {len(command.angle_rad)} angles, needed: {len(self._joints)}")
        each = zip(self._joints, command.angle_rad, strict=True)
        self._targets = [joint.check_command(angle) for joint, angle in each]

    def _values(self, unit: Unit) -> tuple[CommandCode, tuple[int, ...]]:
        values: list[int] = []
        for joint in unit.controller.motors:
            speed, acceleration = self._joints[joint].profile
            values += (acceleration, speed, acceleration, self._targets[joint])
        return self._run_command(unit.controller), (*values, protocol.AT_ONCE)

    def _take_reading(self, unit: Unit, command: CommandCode) -> None:  # noqa: ARG002  there is one reading
        for joint, count in unit.counts().items():
            self._angle[joint] = self._joints[joint].check_known(count, unit.where)

    def _sample(self, sequence: int, t_ns: int, confirmed_ns: int, stopped_ns: int) -> JointSample:
        currents_A = power_sample(unit.power() for unit in self._units).current_A
        return JointSample(sequence, t_ns, tuple(self._angle), confirmed_ns, stopped_ns, currents_A)

    def _set_up(self, unit: Unit) -> None:
        """Check encoders and position loops, set the ends of the positions, and find out where the joints stand."""
        modes = unit.ask(protocol.reading(unit.controller.address, CommandCode.ENCODER_MODES))
        for channel, joint in enumerate(unit.controller.channels):
            if joint is not None:
                self._check_encoder(unit, channel, joint, modes[channel])
                self._set_ends(unit, channel, joint)
        for joint, count in unit.counts().items():
            scale = self._joints[joint]
            if scale.lost(count) and scale.start_rad is not None:
                unit.set(_SET_COUNT[unit.controller.channels.index(joint)], scale.count(scale.start_rad))
        for joint, count in unit.counts().items():
            scale = self._joints[joint]
            self._angle[joint] = scale.check_known(count, unit.where)
            scale.check_start(self._angle[joint], unit.where)

    def _check_encoder(self, unit: Unit, channel: int, joint: int, mode: int) -> None:
        """Raises DeviceError."""
        found, wanted = bool(mode & protocol.ABSOLUTE), self._joints[joint].absolute
        if found is not wanted:
            kinds = "incremental", "absolute"
            raise DeviceError(
                f"{unit.where}: encoder {channel + 1}, of {self._joints[joint].name}, is {kinds[found]}, needed: "
                f"{kinds[wanted]}; set it with the maker's program, or correct encoder in devices.servos.joints"
            )

    def _set_ends(self, unit: Unit, channel: int, joint: int) -> None:
        """Set the ends of its positions, with its own gains; they are read back, as their order differs."""
        scale, address = self._joints[joint], unit.controller.address
        pid = PositionPid(*unit.ask(protocol.reading(address, _PID[channel])))
        if pid.p == pid.i == pid.d == 0:
            raise DeviceError(
                f"{unit.where}: position loop of motor {channel + 1}, of {scale.name}: P, I and D are 0, so it never "
                "moves; tune it with the maker's program and store it in the controller"
            )
        lowest, highest = scale.ends
        wanted = pid._replace(lowest=lowest, highest=highest)
        if pid == wanted:
            return
        unit.set(_SET_PID[channel], *wanted.as_set)
        found = PositionPid(*unit.ask(protocol.reading(address, _PID[channel])))
        if found != wanted:
            raise DeviceError(
                f"{unit.where}: position loop of motor {channel + 1}, of {scale.name}: {tuple(found)} after "
                f"{tuple(wanted)} was set; is its firmware older than 4.2, or is it locked?"
            )
