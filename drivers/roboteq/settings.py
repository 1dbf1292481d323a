"""Settings of motors on Roboteq controllers, their limits, and the line time that they need."""

from __future__ import annotations

import math
from typing import ClassVar

import msgspec
from typing_extensions import override

from drivers.host import line_time_s
from drivers.joint_scale import JointScale
from drivers.roboteq import protocol
from drivers.roboteq.protocol import Exchange

RPM = 2.0 * math.pi / 60.0
# So many set-points must fit into the watchdog's time, so that the motors do not stop when one is lost.
FEEDS_PER_WATCHDOG = 2
# So many answers may time out within it.
ANSWERS_PER_WATCHDOG = 4
# Slow state, one query per period, of all controllers at the same time.
MOTOR_FLAGS = Exchange((protocol.MOTOR_FLAGS,), (2,))
FLAGS = Exchange((protocol.FLAGS,), (1,))
SLOW = (MOTOR_FLAGS, Exchange((protocol.AMPS,), (2,)), FLAGS, Exchange((protocol.VOLTS,), (3,)))
FAULTS = Exchange((protocol.FAULTS,), (1,))
SPEEDS = Exchange((protocol.SPEEDS,), (2,))
STOP = Exchange((protocol.EMERGENCY_STOP,))
_FASTEST = Exchange(tuple(protocol.go(channel, -protocol.FULL_SCALE) for channel in protocol.CHANNELS))
_FARTHEST = Exchange(tuple(protocol.go_to(channel, -10_000_000) for channel in protocol.CHANNELS))


class RoboteqControllerSettings(msgspec.Struct, frozen=True):
    """A dual-channel controller on its port.

    Attributes:
        port: path.
        motor_1: index of the wheel or joint on its first channel; None: nothing is connected there.
        motor_2: of that on its second.
        identity: number of its processor; "": any.
    """

    port: str
    motor_1: int | None
    motor_2: int | None
    identity: str = ""

    @property
    def channels(self) -> tuple[int | None, int | None]:
        """What is on both channels."""
        return self.motor_1, self.motor_2

    @property
    def motors(self) -> tuple[int, ...]:
        """The wheels or joints that it has."""
        return tuple(motor for motor in self.channels if motor is not None)


class _Controllers(msgspec.Struct, frozen=True):
    """The controllers with their motors; every wheel or joint once."""

    controllers: tuple[RoboteqControllerSettings, ...]


class RoboteqMotorSettings(_Controllers, frozen=True, kw_only=True):
    """What wheel drives and servos on Roboteq controllers have in common.

    Attributes:
        device: name for people.
        moves: what a motor moves, for messages.
        reading: what is read each time: speeds or counts, and the faults.
        at_rest: commands that set both set-points to zero; empty where zero is not at rest.
        fastest: set-points of both channels, the longest.
        controllers: with their motors; every wheel or joint once.
        baud: of all ports, 8N1.
        rate_hz: set-points and readings a second.
        watchdog_ms: how long a controller runs without a command.
        answer_timeout_ms: how long an answer may take, line time included; a quarter of watchdog_ms at most.
        turnaround_us: from the last byte of a request to the first of its answer, the adapter's delay included [us].
    """

    device: ClassVar[str]
    moves: ClassVar[str]
    reading: ClassVar[Exchange]
    at_rest: ClassVar[tuple[str, ...]]
    fastest: ClassVar[Exchange]

    baud: int = 115200
    rate_hz: float = 50.0
    watchdog_ms: int = 100
    answer_timeout_ms: float = 20.0
    turnaround_us: int = 500

    @property
    def count(self) -> int:
        """How many wheels or joints there are."""
        raise NotImplementedError

    @property
    def mode(self) -> str:
        """How the controllers are set up, for messages."""
        raise NotImplementedError

    def sign_of(self, motor: int) -> int:
        """-1 where a motor is mounted the other way round, otherwise 1."""
        raise NotImplementedError

    def needed(self, channel: int, motor: int) -> tuple[tuple[str, str, int], ...]:
        """Returns what the configuration of a channel must be: words, query, value."""
        raise NotImplementedError

    def wrong(self) -> list[str]:
        """Its own settings that cannot work, in words."""
        return []

    def exchange_s(self, exchange: Exchange) -> float:
        """Returns the longest time of a request and its answer [s]."""
        size = len(exchange.frame) + exchange.longest_answer
        return line_time_s(size, self.baud) + self.turnaround_us * 1e-6


class RoboteqSettings(RoboteqMotorSettings, frozen=True):
    """Wheel drives on Roboteq controllers, in closed-loop speed mode or open loop.

    Attributes:
        max_rpm: speed of the motor at command 1000 [1/min]; must match the controllers' configuration.
        gear_ratio: turns of the motor for one of the axle.
        sign: of each wheel, 1 or -1: -1 where the motor is mounted the other way round.
        open_loop: a command is a duty, not a speed; must match the controllers' configuration.
    """

    device, moves = "Roboteq drives", "wheel"
    reading, fastest = Exchange((protocol.SPEEDS, protocol.FAULTS), (2, 1)), _FASTEST
    at_rest = protocol.BOTH_ZERO

    max_rpm: int
    gear_ratio: float
    sign: tuple[int, ...] = (1, 1, 1, 1, 1, 1)
    open_loop: bool = False

    @property
    @override
    def count(self) -> int:
        return len(self.sign)

    @property
    @override
    def mode(self) -> str:
        return f"{'open loop' if self.open_loop else 'closed-loop speed'}, MXRPM {self.max_rpm}"

    @override
    def sign_of(self, motor: int) -> int:
        return self.sign[motor]

    @override
    def needed(self, channel: int, motor: int) -> tuple[tuple[str, str, int], ...]:
        mode = f"MMOD of channel {channel} ({'open loop' if self.open_loop else 'closed-loop speed'})"
        value = protocol.OPEN_LOOP if self.open_loop else protocol.CLOSED_LOOP_SPEED
        speed = f"MXRPM of channel {channel}", protocol.full_speed(channel), self.max_rpm
        return (mode, protocol.operating_mode(channel), value), speed

    @property
    def full_speed_radps(self) -> float:
        """Axle speed at command 1000 [rad/s]."""
        return self.max_rpm * RPM / self.gear_ratio

    def value(self, wheel: int, speed_radps: float) -> int:
        """Command for an axle speed, in thousandths of max_rpm."""
        return round(self.sign[wheel] * speed_radps / self.full_speed_radps * protocol.FULL_SCALE)

    def duty_value(self, wheel: int, duty: float) -> int:
        """Command for a duty, in thousandths of the supply voltage."""
        return round(self.sign[wheel] * duty * protocol.FULL_SCALE)

    def speed_radps(self, wheel: int, rpm: int) -> float:
        """Returns the axle speed of a motor speed [1/min]."""
        return self.sign[wheel] * rpm * RPM / self.gear_ratio


class RoboteqServoSettings(RoboteqMotorSettings, frozen=True):
    """Servos of driven joints on Roboteq controllers, in closed-loop count position mode.

    Attributes:
        joints: their scales, in the order of every vector by joint.
    """

    device, moves = "Roboteq servos", "joint"
    reading, fastest = Exchange((protocol.COUNTS, protocol.FAULTS), (2, 1)), _FARTHEST
    at_rest = ()

    joints: tuple[JointScale, ...]

    @property
    @override
    def count(self) -> int:
        return len(self.joints)

    @property
    @override
    def mode(self) -> str:
        return "closed-loop count position"

    @override
    def sign_of(self, motor: int) -> int:
        return self.joints[motor].sign

    @override
    def needed(self, channel: int, motor: int) -> tuple[tuple[str, str, int], ...]:
        mode = f"MMOD of channel {channel} ({self.mode})"
        pulses = round(self.joints[motor].shaft_counts / 4.0)
        encoder = f"EPPR of channel {channel} ({self.joints[motor].name})", protocol.pulses_per_turn(channel), pulses
        return (mode, protocol.operating_mode(channel), protocol.COUNT_POSITION), encoder

    @override
    def wrong(self) -> list[str]:
        wrong = [problem for joint in self.joints for problem in joint.problems()]
        for joint in self.joints:
            if joint.absolute:
                wrong.append(f"encoder of {joint.name}: absolute, allowed: incremental")
            if abs(joint.shaft_counts / 4.0 - round(joint.shaft_counts / 4.0)) > 1e-6:
                wrong.append(f"counts_per_turn of {joint.name}: {joint.shaft_counts:g}, allowed: a multiple of 4")
        return wrong


def check(settings: RoboteqMotorSettings) -> None:
    """Refuse settings that cannot work. Raises ValueError that lists all errors."""
    wrong: list[str] = []
    motors = sorted(motor for controller in settings.controllers for motor in controller.motors)
    if motors != list(range(settings.count)):
        wrong.append(f"controllers: {settings.moves}s {motors}, needed: each of 0 to {settings.count - 1} once")
    ports = [controller.port for controller in settings.controllers]
    wrong += [f"controllers: port {port} twice; each has its own" for port in {*ports} if ports.count(port) > 1]
    wrong += settings.wrong()
    if settings.rate_hz < (slowest := FEEDS_PER_WATCHDOG * 1e3 / settings.watchdog_ms):
        allowed = f"allowed with watchdog_ms {settings.watchdog_ms}: {slowest:g} at least"
        wrong.append(f"rate_hz: {settings.rate_hz}, {allowed}")
    if not 5.0 <= settings.answer_timeout_ms <= (most := settings.watchdog_ms / ANSWERS_PER_WATCHDOG):
        wrong.append(
            f"answer_timeout_ms: {settings.answer_timeout_ms}, allowed with watchdog_ms {settings.watchdog_ms}: "
            f"5 to {most:g}"
        )
    if wrong:
        raise ValueError("Roboteq settings: " + "; ".join(wrong))


def budget(settings: RoboteqMotorSettings) -> float:
    """Returns the share of each second that the transactions need: line time of requests and answers, and turnarounds.

    Set-points and speeds are exchanged on all ports at the same time. Above 1 the rate cannot be held.
    """
    each_s = settings.exchange_s(settings.fastest) + settings.exchange_s(settings.reading)
    slow_s = max(settings.exchange_s(exchange) for exchange in SLOW)
    return settings.rate_hz * (each_s + slow_s)


def in_flight_s(settings: RoboteqMotorSettings) -> float:
    """Longest transaction that a cut may have to wait for, turnaround included [s]."""
    return max(settings.exchange_s(exchange) for exchange in (settings.fastest, settings.reading, *SLOW))


def cut_s(settings: RoboteqMotorSettings) -> float:
    """Time from the first byte of a cut to the last byte of its stop [s]; on all ports at the same time."""
    return line_time_s(len(STOP.frame), settings.baud)
