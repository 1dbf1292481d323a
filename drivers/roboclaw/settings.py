"""Settings of motors on RoboClaw controllers, their limits, and the line time that they need."""

from __future__ import annotations

import struct
from typing import ClassVar, Literal

import msgspec
from typing_extensions import override

from drivers.host import line_time_s
from drivers.joint_scale import JointScale
from drivers.roboclaw.protocol import (
    READINGS,
    SETTINGS,
    SLOW,
    VERSION_BYTES,
    WIDE,
    CommandCode,
)

# Rate at which each controller's status, with its emergency stop, is read [1/s].
STATUS_HZ = 20.0
# So many set-points must fit into a serial time-out, so that the motors do not stop when one is lost.
FEEDS_PER_TIMEOUT = 2


class Bus(msgspec.Struct, frozen=True):
    """A serial port with controllers on it.

    Attributes:
        port: path.
        baud: its speed.
        turnaround_us: from the last byte of a request to the first of its answer, the adapter's delay included [us].
    """

    port: str
    baud: int = 115200
    turnaround_us: int = 200


class RoboClawControllerSettings(msgspec.Struct, frozen=True):
    """A dual controller.

    Attributes:
        bus: which of the buses it is on.
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


class _ControllerPlaces(msgspec.Struct, frozen=True):
    """The ports, and the controllers with their motors; every wheel or joint once."""

    buses: tuple[Bus, ...]
    controllers: tuple[RoboClawControllerSettings, ...]


class RoboClawBusSettings(_ControllerPlaces, frozen=True, kw_only=True):
    """What wheel drives and servos on RoboClaw controllers have in common.

    Attributes:
        moves: what a motor moves, for messages.
        buses: the ports.
        controllers: with their motors; every wheel or joint once.
        rate_hz: set-points and encoder readings a second.
        timeout_ms: serial time-out of the controllers, in steps of 100 ms.
        answer_timeout_ms: how long an answer may take, without line time. More than 10 ms, so that a controller with
            half a packet has dropped it before the retry. The link counts as lost after two of them (within the 50 ms
            of the fault table if 20 ms at most), and two must fit into timeout_ms.
        stop_together: write the stops of all controllers of a bus at once, before any has answered; False where their
            answers collide.
        on_cut: what the power stage does at duty 0. It is set at the controller and only reported here.
        slow_hz: how often each controller's slow readings (`protocol.SLOW`) are read [1/s].
    """

    moves: ClassVar[str]

    rate_hz: float = 50.0
    timeout_ms: int = 100
    answer_timeout_ms: float = 15.0
    stop_together: bool = True
    on_cut: Literal["coast", "brake"] = "brake"
    slow_hz: float = 1.0

    @property
    def count(self) -> int:
        """How many wheels or joints there are."""
        raise NotImplementedError

    def sign_of(self, motor: int) -> int:
        """-1 where a motor is mounted the other way round, otherwise 1."""
        raise NotImplementedError

    def counts_per_turn(self, motor: int) -> float:
        """Encoder counts (all four edges) of one turn of a wheel or joint."""
        raise NotImplementedError

    def run_command(self, controller: RoboClawControllerSettings) -> CommandCode:
        """The command of a controller's set-points."""
        raise NotImplementedError

    @property
    def readings(self) -> tuple[CommandCode, ...]:
        """What is read of a controller each time."""
        raise NotImplementedError

    def wrong(self) -> list[str]:
        """Its own settings that cannot work, in words."""
        return []

    def on(self, bus: int) -> list[RoboClawControllerSettings]:
        """Returns the controllers of a bus."""
        return [controller for controller in self.controllers if controller.bus == bus]

    def where(self, controller: RoboClawControllerSettings) -> str:
        """Address and port of a controller, for messages."""
        return f"address {controller.address:#04x} on {self.buses[controller.bus].port}"


class RoboClawSettings(RoboClawBusSettings, frozen=True):
    """Wheel drives on RoboClaw controllers.

    Attributes:
        counts_per_rev: encoder counts (all four edges) of one turn of the axle.
        sign: of each wheel, 1 or -1: -1 where the motor is mounted the other way round.
        acceleration_qpps2: ramp of the speed [counts/s^2]; 0: none but the controller's own.
        raw_speed: read both speeds at once (command 79), counted over 1/300 s and therefore in steps of 300 counts/s;
            otherwise each by itself (18, 19), filtered by the controller.
    """

    moves = "wheel"

    counts_per_rev: float
    sign: tuple[int, ...] = (1, 1, 1, 1, 1, 1)
    acceleration_qpps2: int = 0
    raw_speed: bool = False

    @property
    @override
    def count(self) -> int:
        return len(self.sign)

    @override
    def sign_of(self, motor: int) -> int:
        return self.sign[motor]

    @override
    def counts_per_turn(self, motor: int) -> float:
        return self.counts_per_rev

    @override
    def run_command(self, controller: RoboClawControllerSettings) -> CommandCode:
        return CommandCode.RUN_ACCELERATING if self.acceleration_qpps2 else CommandCode.RUN

    @property
    @override
    def readings(self) -> tuple[CommandCode, ...]:
        return (CommandCode.RAW_SPEEDS,) if self.raw_speed else (CommandCode.SPEED_M1, CommandCode.SPEED_M2)


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


def check(settings: RoboClawBusSettings) -> None:
    """Refuse settings that cannot work. Raises ValueError that lists all errors."""
    wrong = [*_wrong_places(settings), *settings.wrong(), *_wrong_numbers(settings)]
    if wrong:
        raise ValueError("RoboClaw settings: " + "; ".join(wrong))


def _wrong_places(settings: RoboClawBusSettings) -> list[str]:
    wrong = []
    seen: set[tuple[int, int]] = set()
    for controller in settings.controllers:
        if not 0 <= controller.bus < len(settings.buses):
            last = len(settings.buses) - 1
            wrong.append(f"controllers: bus {controller.bus} of {controller.address:#04x}, allowed: 0 to {last}")
        if (controller.bus, controller.address) in seen:
            wrong.append(
                f"controllers: address {controller.address:#04x} twice on bus {controller.bus}; give each its own"
            )
        seen.add((controller.bus, controller.address))
    motors = sorted(motor for controller in settings.controllers for motor in controller.motors)
    if motors != list(range(settings.count)):
        wrong.append(f"controllers: {settings.moves}s {motors}, needed: each of 0 to {settings.count - 1} once")
    ports = [bus.port for bus in settings.buses]
    wrong += [
        f"buses: port {port} twice; put all its controllers on one bus" for port in {*ports} if ports.count(port) > 1
    ]
    wrong += [f"buses: no controller on {ports[bus]}" for bus in range(len(ports)) if not settings.on(bus)]
    return wrong


def _wrong_numbers(settings: RoboClawBusSettings) -> list[str]:
    wrong = []
    if settings.rate_hz < (slowest := FEEDS_PER_TIMEOUT * 1e3 / settings.timeout_ms):
        wrong.append(
            f"rate_hz: {settings.rate_hz}, allowed with timeout_ms {settings.timeout_ms}: {slowest:g} at least"
        )
    longest_ms = settings.timeout_ms / 2
    if not 10.0 < settings.answer_timeout_ms < longest_ms:
        wrong.append(f"answer_timeout_ms: {settings.answer_timeout_ms}, allowed: above 10 and below {longest_ms:g}")
    return wrong


def answer_s(settings: RoboClawBusSettings, bus: Bus) -> float:
    """Returns how long an answer may take, with the line time of the longest transaction [s]."""
    stop_together = len(settings.controllers) * _size(CommandCode.DUTY)
    return settings.answer_timeout_ms * 1e-3 + line_time_s(max(stop_together, 4 + VERSION_BYTES), bus.baud)


def budget(settings: RoboClawBusSettings) -> float:
    """Returns the share of each second that the transactions need: line time of requests and answers, and turnarounds.

    Buses are served in turn by one worker, so their times add up. Above 1 the rate cannot be held.
    """
    return sum(_controller_s(settings, controller) for controller in settings.controllers)


def in_flight_s(settings: RoboClawBusSettings) -> float:
    """Returns how long a cut may have to wait for its bus [s].

    With `stop_together` for the end of a request that is being sent, otherwise for its answer too.
    """
    runs = {settings.run_command(controller) for controller in settings.controllers}
    if settings.stop_together:
        request = max(2 + SETTINGS[run].size + 2 for run in runs)
        return max(line_time_s(request, bus.baud) for bus in settings.buses)
    longest = max(_size(command) for command in (*runs, *settings.readings, *SLOW))
    return max(line_time_s(longest, bus.baud) + bus.turnaround_us * 1e-6 for bus in settings.buses)


def cut_s(settings: RoboClawBusSettings) -> float:
    """Time from the first byte of a cut to the last byte of the last stop [s]; all buses at the same time."""
    frame = 2 + SETTINGS[CommandCode.DUTY].size + 2
    times_s = []
    for place, bus in enumerate(settings.buses):
        count, line_s = len(settings.on(place)), line_time_s(1, bus.baud)
        # one by one: each stop waits for the previous answer, and the buses wait for each other
        answers_s = 0.0 if settings.stop_together else (count - 1) * (line_s + bus.turnaround_us * 1e-6)
        times_s.append(count * frame * line_s + answers_s)
    return max(times_s) if settings.stop_together else sum(times_s)


def _controller_s(settings: RoboClawBusSettings, controller: RoboClawControllerSettings) -> float:
    """Returns the time of a controller's transactions in each second [s]."""
    bus = settings.buses[controller.bus]
    each = settings.run_command(controller), *settings.readings
    rates = [(command, settings.rate_hz) for command in each] + [
        (CommandCode.STATUS, STATUS_HZ),
        *((command, settings.slow_hz) for command in SLOW),
    ]
    line_s = line_time_s(1, bus.baud)
    return sum(rate * (_size(command) * line_s + bus.turnaround_us * 1e-6) for command, rate in rates)


def _size(command: CommandCode) -> int:
    """Bytes of a request and its answer, at most."""
    if (layout := SETTINGS.get(command)) is not None:
        return 2 + layout.size + 2 + 1
    answered: struct.Struct = WIDE.layout if command is CommandCode.STATUS else READINGS[command]
    return 2 + answered.size + 2
