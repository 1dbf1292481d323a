"""Six wheel drives on RoboClaw controllers, over one serial bus or several."""

from __future__ import annotations

import math
from collections.abc import Sequence

from drivers.driver_type import RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.messages import DriveCommand, DriveSample, SpeedSet
from drivers.motor_controllers import power_sample
from drivers.roboclaw.motor_layout import RoboClawWheels
from drivers.roboclaw.motors import RoboClawMotors
from drivers.roboclaw.protocol import FULL_DUTY, CommandCode
from drivers.roboclaw.section import RoboClawDrivesSection
from drivers.roboclaw.unit import Unit

# A set-point has to fit into 31 bits and a sign [counts/s].
COUNTS_BELOW = 2.0**31


class RoboClawDrives(RoboClawMotors[DriveCommand, DriveSample]):
    """Wheel drives: see `RoboClawMotors`.

    Args:
        section: of the config.
        rig: with the wheels.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    name = "wheel drives"

    def __init__(
        self, section: RoboClawDrivesSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> None:
        self._drives = RoboClawWheels(section, rig)
        self._outputs, self._by_duty = [0] * len(self._drives.names), False
        super().__init__(self._drives, host, alive)

    def _take(self, command: DriveCommand) -> None:
        self._outputs = self._duties(command.duty) if command.duty else self._in_counts(command.speed_radps)
        self._by_duty = bool(command.duty)

    def _values(self, unit: Unit) -> tuple[CommandCode, tuple[int, ...]]:
        outputs = tuple(self._outputs[wheel] for wheel in unit.controller.motors)
        if self._by_duty:
            return CommandCode.DUTY, outputs
        acceleration = self._drives.acceleration_qpps2
        return self._drives.run_command(unit.controller), (acceleration, *outputs) if acceleration else outputs

    def _take_reading(self, unit: Unit, command: CommandCode) -> None:
        for wheel, speed_radps in unit.speeds(command).items():
            self._speed[wheel] = speed_radps

    def _sample(self, sequence: int, t_ns: int, confirmed_ns: int, stopped_ns: int) -> DriveSample:
        power = power_sample(unit.power() for unit in self._units)
        return DriveSample(sequence, t_ns, tuple(self._speed), confirmed_ns, stopped_ns, power)

    def _in_counts(self, speed_radps: SpeedSet) -> list[int]:
        """Raises ValueError."""
        _check_count("speed_radps", "speeds", speed_radps, len(self._speed))
        turn = self._drives.counts_per_rev / math.tau
        for wheel, speed in enumerate(speed_radps):
            if not abs(speed) * turn < COUNTS_BELOW:
                raise ValueError(f"speed_radps: {speed} of wheel {wheel}, allowed: below {COUNTS_BELOW / turn:g}")
        return [sign * round(speed * turn) for sign, speed in zip(self._drives.sign, speed_radps, strict=True)]

    def _duties(self, duty: SpeedSet) -> list[int]:
        """Raises ValueError."""
        _check_count("duty", "duties", duty, len(self._speed))
        for wheel, share in enumerate(duty):
            if not abs(share) <= 1.0:
                raise ValueError(f"duty: {share} of wheel {wheel}, allowed: -1 to 1")
        return [sign * round(share * FULL_DUTY) for sign, share in zip(self._drives.sign, duty, strict=True)]


def _check_count(field: str, what: str, values: Sequence[float], needed: int) -> None:
    """Raises ValueError."""
    if len(values) != needed:
        raise ValueError(f"{field}: {len(values)} {what}, needed: {needed}")
