"""Settings of Roboteq wheel drives, their limits, and the line time that they need."""

from __future__ import annotations

import math

import msgspec

from drivers.host import line_time_s
from drivers.roboteq import protocol
from drivers.roboteq.protocol import Exchange

RPM = 2.0 * math.pi / 60.0
# So many set-points must fit into the watchdog's time, so that the motors do not stop when one is lost.
FEEDS_PER_WATCHDOG = 2
# So many answers may time out within it.
ANSWERS_PER_WATCHDOG = 4
# Slow state, one query per period, controller by controller.
SLOW = (
    Exchange((protocol.FAULTS,), (1,)),
    Exchange((protocol.MOTOR_FLAGS,), (2,)),
    Exchange((protocol.AMPS,), (2,)),
    Exchange((protocol.VOLTS,), (3,)),
)
SPEEDS = Exchange((protocol.SPEEDS,), (2,))
STOP = Exchange((protocol.EMERGENCY_STOP,))
_FASTEST = Exchange(tuple(protocol.go(channel, -protocol.FULL_SCALE) for channel in protocol.CHANNELS))


class RoboteqControllerSettings(msgspec.Struct, frozen=True):
    """A dual-channel controller on its port.

    Attributes:
        port: path.
        wheel_1: index of the wheel on its first channel.
        wheel_2: of that on its second.
    """

    port: str
    wheel_1: int
    wheel_2: int

    @property
    def wheels(self) -> tuple[int, int]:
        """Both wheels."""
        return self.wheel_1, self.wheel_2


class RoboteqSettings(msgspec.Struct, frozen=True):
    """Wheel drives on Roboteq controllers, in closed-loop speed mode or open loop.

    Attributes:
        controllers: with their wheels; every wheel once.
        max_rpm: speed of the motor at command 1000 [1/min]; must match the controllers' configuration.
        gear_ratio: turns of the motor for one of the axle.
        sign: of each wheel, 1 or -1: -1 where the motor is mounted the other way round.
        baud: of all ports, 8N1.
        rate_hz: set-points and speeds a second.
        watchdog_ms: how long a controller runs without a command.
        answer_timeout_ms: how long an answer may take, line time included; a quarter of watchdog_ms at most.
        turnaround_us: from the last byte of a request to the first of its answer, the adapter's delay included [us].
        open_loop: a command is a duty, not a speed; must match the controllers' configuration.
    """

    controllers: tuple[RoboteqControllerSettings, ...]
    max_rpm: int
    gear_ratio: float
    sign: tuple[int, ...] = (1, 1, 1, 1, 1, 1)
    baud: int = 115200
    rate_hz: float = 50.0
    watchdog_ms: int = 100
    answer_timeout_ms: float = 20.0
    turnaround_us: int = 500
    open_loop: bool = False

    @property
    def operating_mode(self) -> int:
        """MMOD of every channel."""
        return protocol.OPEN_LOOP if self.open_loop else protocol.CLOSED_LOOP_SPEED

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
        """Axle speed of a motor speed [1/min]."""
        return self.sign[wheel] * rpm * RPM / self.gear_ratio

    def exchange_s(self, exchange: Exchange) -> float:
        """Longest time of a request and its answer [s]."""
        size = len(exchange.frame) + exchange.longest_answer
        return line_time_s(size, self.baud) + self.turnaround_us * 1e-6


def check(settings: RoboteqSettings) -> None:
    """Refuse settings that cannot work. Raises ValueError that lists all errors."""
    wrong: list[str] = []
    wheels = sorted(wheel for controller in settings.controllers for wheel in controller.wheels)
    if wheels != list(range(len(settings.sign))):
        wrong.append(f"controllers: wheels {wheels}, needed: each of 0 to {len(settings.sign) - 1} once")
    ports = [controller.port for controller in settings.controllers]
    wrong += [f"controllers: port {port} twice; each has its own" for port in {*ports} if ports.count(port) > 1]
    if any(sign not in (1, -1) for sign in settings.sign):
        wrong.append(f"sign: {settings.sign}, allowed: 1 and -1")
    if not 10 <= settings.max_rpm <= 65535:
        wrong.append(f"max_rpm: {settings.max_rpm}, allowed: 10 to 65535")
    if not 0.0 < settings.gear_ratio < math.inf:
        wrong.append(f"gear_ratio: {settings.gear_ratio}, allowed: above 0")
    if not 1200 <= settings.baud <= 1_000_000:
        wrong.append(f"baud: {settings.baud}, allowed: 1200 to 1000000")
    if not 10 <= settings.watchdog_ms <= 65000:
        wrong.append(f"watchdog_ms: {settings.watchdog_ms}, allowed: 10 to 65000, never 0, which turns it off")
    elif not (slowest := FEEDS_PER_WATCHDOG * 1e3 / settings.watchdog_ms) <= settings.rate_hz <= 1000.0:
        wrong.append(
            f"rate_hz: {settings.rate_hz}, allowed with watchdog_ms {settings.watchdog_ms}: {slowest:g} to 1000"
        )
    if not 5.0 <= settings.answer_timeout_ms <= (most := settings.watchdog_ms / ANSWERS_PER_WATCHDOG):
        wrong.append(
            f"answer_timeout_ms: {settings.answer_timeout_ms}, allowed with watchdog_ms {settings.watchdog_ms}: "
            f"5 to {most:g}"
        )
    if wrong:
        raise ValueError("Roboteq settings: " + "; ".join(wrong))


def budget(settings: RoboteqSettings) -> float:
    """Share of each second that the transactions need: line time of requests and answers, and turnarounds.

    Set-points and speeds are exchanged on all ports at the same time. Above 1 the rate cannot be held.
    """
    each_s = settings.exchange_s(_FASTEST) + settings.exchange_s(SPEEDS)
    slow_s = max(settings.exchange_s(exchange) for exchange in SLOW)
    return settings.rate_hz * (each_s + slow_s)


def in_flight_s(settings: RoboteqSettings) -> float:
    """Longest transaction that a cut may have to wait for, turnaround included [s]."""
    return max(settings.exchange_s(exchange) for exchange in (_FASTEST, SPEEDS, *SLOW))


def cut_s(settings: RoboteqSettings) -> float:
    """Time from the first byte of a cut to the last byte of its stop [s]; on all ports at the same time."""
    return line_time_s(len(STOP.frame), settings.baud)
