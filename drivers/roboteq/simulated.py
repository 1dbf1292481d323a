"""A dual-channel Roboteq controller with wheels, simulated at the protocol level."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from drivers.roboteq import protocol, status
from drivers.roboteq.motor_layout import RPM
from drivers.roboteq.protocol import FaultFlag, MotorFlag, RoboteqCommand
from drivers.sim.protocol.plant_ports import NEVER_NS, AxlePorts

# Kind and number of a processor, but for the last part, by which two of them differ.
PROCESSOR = "300-1089-4194303-3758096384"


class SimRoboteq(ABC):
    """A `SimulatedSerialDevice`: one controller on its port. The echo comes with the answers.

    Args:
        settings: its configuration, by name; of each the value, or that of both channels.
        queries: what it reads, by name.
        identity: kind and number of its processor; "": as one of its kind, with the last part 12.

    Attributes:
        pressed: its emergency stop is pressed; takes effect with the next `wake`, and lasts until `!MG` after it.
        faults: other faults that it reports; they keep the motors off.
        motor_flags: flags of both channels that it reports in addition to those of the watchdog.
        script: a MicroBasic script runs, whose commands feed the watchdog; `!R 0` stops it.
        kinds: of faults: status, the flags (`value`) that it reports of a query (`status`), FM of its first channel;
            script: a script runs; setting: a setting (`name`) has a `value`; identity: its processor is `value`.
        watchdog_ms: how long it runs without a `!` command [ms]; 0: for ever.
        timed_out: the watchdog has stopped the motors.
        stops: end times of commands that stopped both channels [ns], oldest first.
    """

    kinds: tuple[str, ...] = ("status", "script", "setting", "identity")

    def __init__(
        self, settings: dict[str, list[int]], queries: dict[str, Callable[[], tuple[int, ...]]], identity: str
    ) -> None:
        self._settings = {"RWD": [1000], "ECHOF": [0], "BRUN": [0], **settings}
        self._buffer, self._identity = b"", identity or f"{PROCESSOR}-12"
        self._fed_ns: int | None = None  # not before the first command
        self._stopped, self._flags = False, 1
        self.pressed = self.timed_out = self.script = False
        self.faults, self.motor_flags = FaultFlag(0), (0, 0)
        self.stops: list[int] = []
        self._queries: dict[str, Callable[[], tuple[int, ...]]] = {
            "FF": lambda: (self.faults | (FaultFlag.EMERGENCY_STOP if self._stopped else 0),),
            "FM": lambda: tuple(flags | (MotorFlag.SAFETY_STOP if self.timed_out else 0) for flags in self.motor_flags),
            "UID": lambda: tuple(map(int, self._identity.split("-"))),
            "FS": lambda: (self._flags | (status.SCRIPT_RUNS if self.script else 0),),
            **queries,
        }

    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:
        """Start a fault; see `OwnFaults`."""
        if kind == "script":
            self.script = True
            return
        value = how["value"]
        if kind == "setting":
            self._settings[how["name"]] = [value]
        elif kind == "identity":
            self._identity = value
        elif how["status"] == status.MOTOR.name:
            self.motor_flags = (value, 0)
        elif how["status"] == status.CONTROLLER.name:
            self._flags = value
        else:
            self.faults = FaultFlag(value)
            self._drive()

    @property
    def _off(self) -> bool:
        """An emergency stop or a fault keeps its output off."""
        return self._stopped or bool(self.faults)

    @abstractmethod
    def _drive(self) -> None:
        """Command the motors by set-points, watchdog and emergency stop."""

    @abstractmethod
    def _powered(self) -> bool:
        """A motor moves, or is held, by a set-point."""

    @abstractmethod
    def _take(self, name: str, numbers: tuple[int, ...]) -> bool:
        """Take set-points of a `!` command; whether it is one."""

    def _later(self, now_ns: int) -> int:  # noqa: ARG002
        """Move what moves by itself; when it goes on [ns]."""
        return NEVER_NS

    @property
    def watchdog_ms(self) -> int:
        """Time after which a controller without a command stops [ms]."""
        return self._settings["RWD"][0]

    def press(self, pressed: bool) -> None:
        """Press or release its emergency stop."""
        self.pressed = pressed
        if pressed:
            self._stopped = True
            self._drive()

    def wake(self, now_ns: int) -> int:
        """Stop the motors after a watchdog time-out, or while the emergency stop is pressed."""
        if self.pressed:
            self._stopped = True
        over_ns = NEVER_NS
        if self.script:
            self._fed_ns = now_ns
        if self.watchdog_ms and self._fed_ns is not None:
            over_ns = self._fed_ns + self.watchdog_ms * 1_000_000
        if now_ns >= over_ns:
            self.timed_out, over_ns = True, NEVER_NS
        self._drive()
        return min(over_ns, self._later(now_ns))

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        """Receive bytes of a host; the bytes sent back."""
        answers = b""
        for place, byte in enumerate(data, start=1):
            t_ns = began_ns + (ended_ns - began_ns) * place // len(data)
            char = bytes([byte])
            if byte < ord(" ") and char != protocol.END:
                continue
            answers += b"" if self._settings["ECHOF"][0] else char
            if char in (protocol.END, protocol.ALSO_END):
                text, self._buffer = self._buffer, b""
                answers += self._obey(text, t_ns) if text else b""
            else:  # a line that is too long is refused at its end
                self._buffer = (self._buffer + char)[: protocol.MAX_COMMAND + 1]
        return answers

    def _obey(self, text: bytes, t_ns: int) -> bytes:
        self.wake(t_ns)
        command = protocol.parse(text)
        answer = None if command is None else self._answer(command, t_ns)
        return protocol.NOT_DONE.encode() + protocol.END if answer is None else answer

    def _answer(self, command: RoboteqCommand, t_ns: int) -> bytes | None:
        """The answer to a command, None if refused."""
        if command.sign == "?":
            return self._query(self._queries.get(command.name), command)
        if command.sign == "~":
            values = self._settings.get(command.name)
            return None if values is None else self._query(lambda: tuple(values), command)
        done = self._do(command, t_ns) if command.sign == "!" else self._set(command)
        return protocol.DONE.encode() + protocol.END if done else None

    def _query(self, read: Callable[[], tuple[int, ...]] | None, command: RoboteqCommand) -> bytes | None:
        """All values, or the requested one, counted from 1."""
        if read is None or len(command.numbers) > 1:
            return None
        values = read()
        if command.numbers:
            if not 1 <= command.numbers[0] <= len(values):
                return None
            values = (values[command.numbers[0] - 1],)
        return protocol.answer(command.name, *(int(value) for value in values))

    def _set(self, command: RoboteqCommand) -> bool:
        values = self._settings.get(command.name)
        if values is None or len(command.numbers) != len(values[1:]) + 1 or not 0 <= command.numbers[-1] <= 65535:
            return False
        place = command.numbers[0] - 1 if len(values) > 1 else 0
        if not 0 <= place < len(values):
            return False
        values[place] = command.numbers[-1]
        return True

    def _do(self, command: RoboteqCommand, t_ns: int) -> bool:
        """Obey a `!` command. Any of them feeds the watchdog and ends its stop: the motors resume their old speeds."""
        if (command.name, command.numbers) == ("EX", ()):
            self._stopped = True
        elif (command.name, command.numbers) == ("MG", ()):
            self._stopped = self.pressed
        elif (command.name, command.numbers) == ("R", (0,)):
            self.script = False
        elif not self._take(command.name, command.numbers):
            return False
        self._fed_ns, self.timed_out = t_ns, False
        ran = self._powered()
        self._drive()
        if ran and not self._powered():
            self.stops.append(t_ns)
        return True


class RoboteqDevice(SimRoboteq):
    """A controller with two wheels on its channels, in closed-loop speed mode or open loop.

    Simplified: a command acts at once, without the controller's ramps. In closed loop a set-point of zero holds the
    speed at zero, and so does the stop of the watchdog; only an emergency stop switches the output off. In open loop
    each of them is a duty of zero.
    Set-points are accepted during an emergency stop, and obeyed when it is over.

    Args:
        wheels: wheels of the rig.
        channels: which of them are on its two channels.
        max_rpm: MXRPM, speed of the motor at command 1000 [1/min].
        gear_ratio: turns of the motor for one of the axle.
        sign: of each channel, -1 where the motor is mounted the other way round.
        open_loop: set up for it (MMOD 0): a command is a duty in thousandths.
        identity: see SimRoboteq.
    """

    def __init__(
        self,
        wheels: AxlePorts,
        channels: Sequence[int],
        *,
        max_rpm: int,
        gear_ratio: float,
        sign: Sequence[int] = (1, 1),
        open_loop: bool = False,
        identity: str = "",
    ) -> None:
        self._wheels, self._channels, self._gear_ratio, self._sign = wheels, channels, gear_ratio, sign
        mode = protocol.OPEN_LOOP if open_loop else protocol.CLOSED_LOOP_SPEED
        self._values = [0, 0]
        self._driven: list[tuple[int, bool]] = [(0, True), (0, True)]  # set-point, and whether the output is cut
        queries: dict[str, Callable[[], tuple[int, ...]]] = {
            "S": lambda: (self._rpm(0), self._rpm(1)),
            "A": lambda: (self._tenths_A(0), self._tenths_A(1)),
            "V": lambda: (120, round(10.0 * wheels.supply_V()), 4980),
        }
        super().__init__({"MXRPM": [max_rpm, max_rpm], "MMOD": [mode] * 2}, queries, identity)

    def _take(self, name: str, numbers: tuple[int, ...]) -> bool:
        full = protocol.FULL_SCALE
        if name != "G" or len(numbers) != 2 or numbers[0] not in protocol.CHANNELS or not -full <= numbers[1] <= full:
            return False
        self._values[numbers[0] - 1] = numbers[1]
        return True

    def _powered(self) -> bool:
        return any(value for value, _ in self._driven)

    def _drive(self) -> None:
        for place, wheel in enumerate(self._channels):
            output = 0 if self._off or self.timed_out else self._values[place]
            if (output, self._off) == self._driven[place]:
                continue
            self._driven[place] = (output, self._off)
            if self._off:
                self._wheels.cut(wheel)
            elif self._settings["MMOD"][place] == protocol.OPEN_LOOP:
                self._wheels.drive(wheel, self._sign[place] * output / protocol.FULL_SCALE)
            else:
                rpm = self._sign[place] * output * self._settings["MXRPM"][place] / protocol.FULL_SCALE
                self._wheels.hold(wheel, rpm * RPM / self._gear_ratio)

    def _rpm(self, place: int) -> int:
        axle_radps = self._wheels.speed_radps(self._channels[place])
        return round(self._sign[place] * axle_radps * self._gear_ratio / RPM)

    def _tenths_A(self, place: int) -> int:
        return round(10.0 * self._sign[place] * self._wheels.current_A(self._channels[place]))
