"""Six wheel drives on three dual-channel Roboteq controllers, one port each.

What `!G n value` commands is set at the controller: a speed in closed loop, a duty in open loop. So a command of the
other kind is refused.
"""

from __future__ import annotations

from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError
from drivers.messages import DriveCommand, DriveSample
from drivers.motor_controllers import STANDING_RADPS, power_sample
from drivers.roboteq import protocol
from drivers.roboteq.controller import RoboteqController
from drivers.roboteq.motor_layout import RoboteqWheels
from drivers.roboteq.motors import RoboteqMotors
from drivers.roboteq.protocol import Exchange
from drivers.roboteq.section import RoboteqDrivesSection


class RoboteqDrives(RoboteqMotors[DriveCommand, DriveSample]):
    """Wheel drives: see `RoboteqMotors`.

    Args:
        section: of the config.
        rig: with the wheels.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    def __init__(
        self, section: RoboteqDrivesSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        self._drives = RoboteqWheels(section, rig)
        super().__init__(self._drives, host, alive)

    def _set_up(self) -> None:
        self._together([self.motors.reading] * len(self._controllers))
        for wheel, speed in enumerate(self._speeds_radps()):
            if abs(speed) > STANDING_RADPS:
                raise DeviceError(
                    f"{self._drives.device}: {self._drives.names[wheel]} turns at {speed:.3f} rad/s after its stop; "
                    "wait until it stands still"
                )

    def _set_points(self, controller: RoboteqController, command: DriveCommand) -> Exchange:
        drives = self._drives
        value, outputs = (drives.duty_value, command.duty) if drives.open_loop else (drives.value, command.speed_radps)
        return Exchange(
            tuple(protocol.go(channel, value(wheel, outputs[wheel])) for channel, wheel in controller.by_channel)
        )

    def _made(self, sequence: int, t_ns: int, acknowledged_ns: int, stopped_ns: int) -> DriveSample:
        power = power_sample(controller.power() for controller in self._controllers)
        return DriveSample(sequence, t_ns, self._speeds_radps(), acknowledged_ns, stopped_ns, power)

    def _speeds_radps(self) -> tuple[float, ...]:
        of = {
            wheel: self._drives.speed_radps(wheel, controller.values[channel - 1])
            for controller in self._controllers
            for channel, wheel in controller.by_channel
        }
        return tuple(of[wheel] for wheel in sorted(of))

    def _check_command(self, command: DriveCommand) -> None:
        by_duty, most, what, unit = self._drives.open_loop, self._drives.full_speed_radps, "speed", " rad/s"
        name = self._drives.device
        if bool(command.duty) != by_duty:
            outputs, mode = ("duty", "closed-loop speed") if command.duty else ("speeds", "open loop")
            needed = "drive by speed" if command.duty else "drive by duty"
            raise DeviceError(f"{name}: {outputs} commanded, but the controllers are in {mode} mode (MMOD); {needed}")
        if by_duty:
            most, what, unit = 1.0, "duty", ""
        for wheel, output in enumerate(command.duty if by_duty else command.speed_radps):
            if not abs(output) <= most:
                allowed = f"up to {most:.3f} forward and backward"
                raise DeviceError(f"{name}: {what} of wheel {wheel}: {output}{unit}, allowed: {allowed}")
