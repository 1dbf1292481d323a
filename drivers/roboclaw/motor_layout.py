"""The motors on RoboClaw controllers of a rig, by index, and the line time that they need."""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from typing_extensions import override

from drivers.driver_type import RigSetup
from drivers.host import line_time_s
from drivers.roboclaw.protocol import READINGS, SETTINGS, SLOW, VERSION_BYTES, WIDE, CommandCode
from drivers.roboclaw.section import RoboClawDrivesSection, RoboClawServosSection

# Rate at which each controller's status, with its emergency stop, is read [1/s].
STATUS_HZ = 20.0
# How long an answer may take, without line time [s]. More than 10 ms, so that a controller with half a packet has
# dropped it before the retry. The link counts as lost after two of them (within the 50 ms of the fault table if 20 ms
# at most), and two must fit into the serial time-out.
ANSWER_TIMEOUT_S = 15e-3
# From the last byte of a request to the first of its answer, the adapter's delay included [s].
TURNAROUND_S = 200e-6


class RoboClawController(NamedTuple):
    """A dual controller.

    Attributes:
        bus: which of the ports it is on.
        address: 0x80 to 0x87.
        m1: index of the wheel or joint on its first channel; None: nothing is connected there.
        m2: of that on its second.
        identity: its mark; "": any.
    """

    bus: int
    address: int
    m1: int | None
    m2: int | None
    identity: str = ""

    @property
    def channels(self) -> tuple[int | None, int | None]:
        """What is on both channels."""
        return self.m1, self.m2

    @property
    def motors(self) -> tuple[int, ...]:
        """The wheels or joints that it has."""
        return tuple(motor for motor in self.channels if motor is not None)


class RoboClawMotorLayout(ABC):
    """The wheels or joints on RoboClaw controllers.

    Args:
        section: of the config.
        names: of all wheels or joints, in the order of every vector.
        on_cut: what the power stage does at duty 0. It is set at the controller and only reported here.
        slow_hz: how often each controller's slow readings (`protocol.SLOW`) are read [1/s].

    Attributes:
        names: of the wheels or joints, in the order of every vector.
        controllers: with their motors.
        readings: what is read of a controller each time.
    """

    readings: ClassVar[tuple[CommandCode, ...]]

    def __init__(
        self,
        section: RoboClawDrivesSection | RoboClawServosSection,
        names: Sequence[str],
        on_cut: Literal["coast", "brake"],
        slow_hz: float,
    ) -> None:
        self.section, self.names, self.on_cut, self.slow_hz = section, tuple(names), on_cut, slow_hz
        index: dict[str | None, int] = {name: place for place, name in enumerate(names)}
        self.controllers = tuple(
            RoboClawController(one.bus, one.address, index.get(one.m1), index.get(one.m2), one.identity)
            for one in section.controllers
        )

    @abstractmethod
    def sign_of(self, motor: int) -> int:
        """-1 where a motor is mounted the other way round, otherwise 1."""

    @abstractmethod
    def counts_per_turn(self, motor: int) -> float:
        """Encoder counts (all four edges) of one turn of a wheel or joint."""

    @property
    @abstractmethod
    def longest_run(self) -> CommandCode:
        """The longest command of set-points."""

    @abstractmethod
    def run_command(self, controller: RoboClawController) -> CommandCode:
        """The command of a controller's set-points."""

    def on(self, bus: int) -> list[RoboClawController]:
        """Returns the controllers of a bus."""
        return [controller for controller in self.controllers if controller.bus == bus]

    def where(self, controller: RoboClawController) -> str:
        """Address and port of a controller, for messages."""
        return f"address {controller.address:#04x} on {self.section.ports[controller.bus]}"

    def bus_loads(self) -> list[float]:
        """Returns the share of its time that each bus carries bytes, in the order of the ports."""
        each = (self.longest_run, *self.readings)
        rates = [*((command, self.section.rate_hz) for command in each), *self._slow_rates()]
        controller_s = line_time_s(sum(rate * _size(command) for command, rate in rates), self.section.baud)
        return [len(self.on(bus)) * controller_s for bus in range(len(self.section.ports))]

    @property
    def answer_s(self) -> float:
        """How long an answer may take, with the line time of the longest transaction [s]."""
        stop_together = len(self.controllers) * _size(CommandCode.DUTY)
        return ANSWER_TIMEOUT_S + line_time_s(max(stop_together, 4 + VERSION_BYTES), self.section.baud)

    @property
    def budget(self) -> float:
        """Share of each second that the transactions need: line time of requests and answers, and turnarounds.

        Buses are served in turn by one worker, so their times add up. Above 1 the rate cannot be held.
        """
        return sum(self._controller_s(controller) for controller in self.controllers)

    @property
    def in_flight_s(self) -> float:
        """How long a cut may have to wait for its bus [s]: for the end of a request that is being sent."""
        runs = {self.run_command(controller) for controller in self.controllers}
        return line_time_s(max(2 + SETTINGS[run].size + 2 for run in runs), self.section.baud)

    @property
    def cut_s(self) -> float:
        """Time from the first byte of a cut to the last byte of the last stop [s]; all buses at the same time."""
        most = max(len(self.on(bus)) for bus in range(len(self.section.ports)))
        return most * line_time_s(2 + SETTINGS[CommandCode.DUTY].size + 2, self.section.baud)

    def _controller_s(self, controller: RoboClawController) -> float:
        """Returns the time of a controller's transactions in each second [s]."""
        each = self.run_command(controller), *self.readings
        rates = [*((command, self.section.rate_hz) for command in each), *self._slow_rates()]
        line_s = line_time_s(1, self.section.baud)
        return sum(rate * (_size(command) * line_s + TURNAROUND_S) for command, rate in rates)

    def _slow_rates(self) -> list[tuple[CommandCode, float]]:
        return [(CommandCode.STATUS, STATUS_HZ), *((command, self.slow_hz) for command in SLOW)]


class RoboClawWheels(RoboClawMotorLayout):
    """The wheels of a rig.

    Attributes:
        sign: of each wheel, 1 or -1: -1 where the motor is mounted the other way round.
        acceleration_qpps2: ramp of the speed [counts/s^2]; 0: none but the controller's own.
    """

    readings = (CommandCode.SPEED_M1, CommandCode.SPEED_M2)

    def __init__(self, section: RoboClawDrivesSection, rig: RigSetup) -> None:
        super().__init__(section, rig.wheels, rig.on_cut, rig.power_hz)
        self.counts_per_rev = section.counts_per_rev
        self.sign = tuple(-1 if wheel in section.reversed else 1 for wheel in rig.wheels)
        self.acceleration_qpps2 = round(section.acceleration_radps2 * section.counts_per_rev / math.tau)

    @override
    def sign_of(self, motor: int) -> int:
        return self.sign[motor]

    @override
    def counts_per_turn(self, motor: int) -> float:
        return self.counts_per_rev

    @override
    def run_command(self, controller: RoboClawController) -> CommandCode:
        return self.longest_run

    @property
    @override
    def longest_run(self) -> CommandCode:
        return CommandCode.RUN_ACCELERATING if self.acceleration_qpps2 else CommandCode.RUN


class RoboClawJoints(RoboClawMotorLayout):
    """The driven joints of a rig.

    Attributes:
        joints: their scales, in the order of every vector by joint.
    """

    readings = (CommandCode.COUNTS,)
    longest_run = CommandCode.GO

    def __init__(self, section: RoboClawServosSection, rig: RigSetup) -> None:
        super().__init__(section, [joint.name for joint in rig.servos], rig.servos_on_cut, rig.power_hz)
        self.joints = section.scales(rig)

    @override
    def sign_of(self, motor: int) -> int:
        return self.joints[motor].sign

    @override
    def counts_per_turn(self, motor: int) -> float:
        return self.joints[motor].counts_per_turn

    @override
    def run_command(self, controller: RoboClawController) -> CommandCode:
        if None not in controller.channels:
            return CommandCode.GO
        return CommandCode.GO_M1 if controller.m2 is None else CommandCode.GO_M2


def _size(command: CommandCode) -> int:
    """Bytes of a request and its answer, at most."""
    if (layout := SETTINGS.get(command)) is not None:
        return 2 + layout.size + 2 + 1
    answered: struct.Struct = WIDE.layout if command is CommandCode.STATUS else READINGS[command]
    return 2 + answered.size + 2
