"""The motors on Roboteq controllers of a rig, by index, and the line time that they need."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from typing_extensions import override

from drivers.driver_type import RigSetup
from drivers.host import line_time_s
from drivers.roboteq import protocol
from drivers.roboteq.protocol import Exchange
from drivers.roboteq.section import RoboteqDrivesSection, RoboteqServosSection

RPM = 2.0 * math.pi / 60.0
# How long an answer may take, line time included [s]; a quarter of the watchdog at most.
ANSWER_TIMEOUT_S = 20e-3
# From the last byte of a request to the first of its answer, the adapter's delay included [s].
TURNAROUND_S = 500e-6
# Slow state, one query per period, of all controllers at the same time.
MOTOR_FLAGS = Exchange((protocol.MOTOR_FLAGS,), (2,))
FLAGS = Exchange((protocol.FLAGS,), (1,))
SLOW = (MOTOR_FLAGS, Exchange((protocol.AMPS,), (2,)), FLAGS, Exchange((protocol.VOLTS,), (3,)))
FAULTS = Exchange((protocol.FAULTS,), (1,))
SPEEDS = Exchange((protocol.SPEEDS,), (2,))
STOP = Exchange((protocol.EMERGENCY_STOP,))
_FASTEST = Exchange(tuple(protocol.go(channel, -protocol.FULL_SCALE) for channel in protocol.CHANNELS))
_FARTHEST = Exchange(tuple(protocol.go_to(channel, -10_000_000) for channel in protocol.CHANNELS))


class RoboteqPort(NamedTuple):
    """A dual-channel controller on its port.

    Attributes:
        port: path.
        channels: index of the wheel or joint on each channel; None: nothing is connected there.
        identity: number of its processor; "": any.
    """

    port: str
    channels: tuple[int | None, int | None]
    identity: str = ""

    @property
    def motors(self) -> tuple[int, ...]:
        """The wheels or joints that it has."""
        return tuple(motor for motor in self.channels if motor is not None)


class RoboteqMotorLayout(ABC):
    """The wheels or joints on Roboteq controllers.

    Args:
        section: of the config.
        names: of all wheels or joints, in the order of every vector.

    Attributes:
        names: see above.
        device: name for people.
        reading: what is read each time: speeds or counts, and the faults.
        at_rest: commands that set both set-points to zero; empty where zero is not at rest.
        fastest: set-points of both channels, the longest.
        mode: how the controllers are set up, for messages.
        controllers: with their motors.
    """

    device: ClassVar[str]
    reading: ClassVar[Exchange]
    at_rest: ClassVar[tuple[str, ...]]
    fastest: ClassVar[Exchange]
    mode: str

    def __init__(self, section: RoboteqDrivesSection | RoboteqServosSection, names: Sequence[str]) -> None:
        self.section, self.names = section, tuple(names)
        index: dict[str | None, int] = {name: place for place, name in enumerate(names)}
        self.controllers = tuple(
            RoboteqPort(one.port, (index.get(one.channel_1), index.get(one.channel_2)), one.identity)
            for one in section.controllers
        )

    @abstractmethod
    def sign_of(self, motor: int) -> int:
        """-1 where a motor is mounted the other way round, otherwise 1."""

    @abstractmethod
    def needed(self, channel: int, motor: int) -> tuple[tuple[str, str, int], ...]:
        """Returns what the configuration of a channel must be: words, query, value."""

    def exchange_s(self, exchange: Exchange) -> float:
        """Returns the longest time of a request and its answer [s]."""
        return line_time_s(len(exchange.frame) + exchange.longest_answer, self.section.baud) + TURNAROUND_S

    @property
    def budget(self) -> float:
        """Share of each second that the transactions need: line time of requests and answers, and turnarounds.

        Set-points and speeds are exchanged on all ports at the same time. Above 1 the rate cannot be held.
        """
        each_s = self.exchange_s(self.fastest) + self.exchange_s(self.reading)
        return self.section.rate_hz * (each_s + max(self.exchange_s(exchange) for exchange in SLOW))

    @property
    def in_flight_s(self) -> float:
        """Longest transaction that a cut may have to wait for, turnaround included [s]."""
        return max(self.exchange_s(exchange) for exchange in (self.fastest, self.reading, *SLOW))

    @property
    def cut_s(self) -> float:
        """Time from the first byte of a cut to the last byte of its stop [s]; on all ports at the same time."""
        return line_time_s(len(STOP.frame), self.section.baud)


class RoboteqWheels(RoboteqMotorLayout):
    """The wheels of a rig, in closed-loop speed mode or open loop.

    Attributes:
        max_rpm: speed of the motor at command 1000 [1/min]; must match the controllers' configuration.
        sign: of each wheel, 1 or -1: -1 where the motor is mounted the other way round.
        open_loop: a command is a duty, not a speed; must match the controllers' configuration.
    """

    device = "Roboteq drives"
    reading, fastest = Exchange((protocol.SPEEDS, protocol.FAULTS), (2, 1)), _FASTEST
    at_rest = protocol.BOTH_ZERO

    def __init__(self, section: RoboteqDrivesSection, rig: RigSetup) -> None:
        super().__init__(section, rig.wheels)
        self.max_rpm, self._gear_ratio, self.open_loop = round(section.max_rpm), section.gear_ratio, rig.open_loop
        self.sign = tuple(-1 if wheel in section.reversed else 1 for wheel in rig.wheels)
        self._loop = "open loop" if rig.open_loop else "closed-loop speed"
        self.mode = f"{self._loop}, MXRPM {self.max_rpm}"

    @override
    def sign_of(self, motor: int) -> int:
        return self.sign[motor]

    @override
    def needed(self, channel: int, motor: int) -> tuple[tuple[str, str, int], ...]:
        value = protocol.OPEN_LOOP if self.open_loop else protocol.CLOSED_LOOP_SPEED
        speed = f"MXRPM of channel {channel}", protocol.full_speed(channel), self.max_rpm
        return (f"MMOD of channel {channel} ({self._loop})", protocol.operating_mode(channel), value), speed

    @property
    def full_speed_radps(self) -> float:
        """Axle speed at command 1000 [rad/s]."""
        return self.max_rpm * RPM / self._gear_ratio

    def value(self, wheel: int, speed_radps: float) -> int:
        """Command for an axle speed, in thousandths of max_rpm."""
        return round(self.sign[wheel] * speed_radps / self.full_speed_radps * protocol.FULL_SCALE)

    def duty_value(self, wheel: int, duty: float) -> int:
        """Command for a duty, in thousandths of the supply voltage."""
        return round(self.sign[wheel] * duty * protocol.FULL_SCALE)

    def speed_radps(self, wheel: int, rpm: int) -> float:
        """Returns the axle speed of a motor speed [1/min]."""
        return self.sign[wheel] * rpm * RPM / self._gear_ratio


class RoboteqJoints(RoboteqMotorLayout):
    """The driven joints of a rig, in closed-loop count position mode.

    Attributes:
        joints: their scales, in the order of every vector by joint.
    """

    device, mode = "Roboteq servos", "closed-loop count position"
    reading, fastest = Exchange((protocol.COUNTS, protocol.FAULTS), (2, 1)), _FARTHEST
    at_rest = ()

    def __init__(self, section: RoboteqServosSection, rig: RigSetup) -> None:
        super().__init__(section, [joint.name for joint in rig.servos])
        self.joints = section.scales(rig)

    @override
    def sign_of(self, motor: int) -> int:
        return self.joints[motor].sign

    @override
    def needed(self, channel: int, motor: int) -> tuple[tuple[str, str, int], ...]:
        joint = self.joints[motor]
        mode = f"MMOD of channel {channel} ({self.mode})", protocol.operating_mode(channel), protocol.COUNT_POSITION
        pulses = round(joint.shaft_counts / 4.0)
        return mode, (f"EPPR of channel {channel} ({joint.name})", protocol.pulses_per_turn(channel), pulses)
