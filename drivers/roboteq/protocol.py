"""ASCII commands of the Roboteq motor controllers: lines, answers, codes; for the driver and for the simulated device.

A command is a sign (`!` do, `?` query, `^` configure, `~` read configuration), a name and numbers, and ends in a
carriage return or an underscore. A command carried out is answered `+`, a query NAME=value:value, a command not
understood `-`, each with a carriage return. There is no check sum: an answer counts only if it has exactly the lines
and names requested. Source: Advanced Digital Motor Controllers User Manual V1.8 (Roboteq), sections 14, 15.
"""

from __future__ import annotations

import re
from enum import IntFlag
from typing import NamedTuple

from drivers.serial.link import BadFrameError

END, ALSO_END = b"\r", b"_"
DONE, NOT_DONE = "+", "-"
FULL_SCALE = 1000
CHANNELS = (1, 2)
EMERGENCY_STOP, RELEASE = "!EX", "!MG"
ECHO_OFF = "^ECHOF 1"
SPEEDS, AMPS, VOLTS, FAULTS, MOTOR_FLAGS, FLAGS = "?S", "?A", "?V", "?FF", "?FM", "?FS"
STOP_SCRIPT, SCRIPT_AT_POWER_UP = "!R 0", "~BRUN"
WATCHDOG = "~RWD"
OPEN_LOOP, CLOSED_LOOP_SPEED, COUNT_POSITION = 0, 1, 3  # MMOD
COUNTS = "?C"
PROCESSOR = "?UID"
# Longest value of an answer, with its sign and a mark between two.
_VALUE_BYTES, _COUNT_BYTES = 7, 11
MAX_COMMAND = 64
_COMMAND = re.compile(r"([!?^~]) *([A-Z]+)((?: +-?[0-9]{1,9})*) *")
_VALUE = rb"(?:0|-?[1-9][0-9]{0,8})"
_VALUES = re.compile(_VALUE + rb"(?::" + _VALUE + rb")*")
_NUMBERS = re.compile(rb"UID=(-?[0-9]{1,10}(?::-?[0-9]{1,10})*)\r")
_OPENED = re.compile(rb"(?:^|\r)FF=(0|[1-9][0-9]{0,4})\r\Z")


class FaultFlag(IntFlag):
    """Bits of the fault flags."""

    OVERHEAT = 1
    OVERVOLTAGE = 2
    UNDERVOLTAGE = 4
    SHORT_CIRCUIT = 8
    EMERGENCY_STOP = 16
    SENSOR = 32
    MOSFET = 64
    DEFAULT_CONFIGURATION = 128


class MotorFlag(IntFlag):
    """Bits of a motor's flags."""

    AMPS_LIMIT = 1
    STALLED = 2
    LOOP_ERROR = 4
    SAFETY_STOP = 8
    FORWARD_LIMIT = 16
    REVERSE_LIMIT = 32
    AMPS_TRIGGER = 64


class RoboteqCommand(NamedTuple):
    """A command as a controller understands it."""

    sign: str
    name: str
    numbers: tuple[int, ...]


def go(channel: int, value: int) -> str:
    """Command a channel: thousandths of its full speed."""
    return f"!G {channel} {value}"


def go_to(channel: int, count: int) -> str:
    """Go to an absolute count and hold it, in count position mode."""
    return f"!P {channel} {count}"


def set_count(channel: int, count: int) -> str:
    """Load an encoder's counter."""
    return f"!C {channel} {count}"


def set_profile(channel: int, speed_rpm: int, tenths_rpm_per_s: int) -> tuple[str, str, str]:
    """Set speed, acceleration and deceleration of the moves in position mode."""
    accelerations = f"!AC {channel} {tenths_rpm_per_s}", f"!DC {channel} {tenths_rpm_per_s}"
    return f"!S {channel} {speed_rpm}", *accelerations


def pulses_per_turn(channel: int) -> str:
    """Read an encoder's pulses in a turn, a quarter of its counts."""
    return f"~EPPR {channel}"


def set_watchdog(time_ms: int) -> str:
    """Returns how long a controller runs without a `!` command [ms]."""
    return f"^RWD {time_ms}"


def full_speed(channel: int) -> str:
    """Read the speed that FULL_SCALE commands [1/min]."""
    return f"~MXRPM {channel}"


def operating_mode(channel: int) -> str:
    """Read how a channel is controlled."""
    return f"~MMOD {channel}"


class Exchange(NamedTuple):
    """Commands sent in one line, and the form of the answer.

    Attributes:
        commands: in order.
        counts: number of values in the answer to each query.
    """

    commands: tuple[str, ...]
    counts: tuple[int, ...] = ()

    @property
    def frame(self) -> bytes:
        """Bytes to send."""
        return ALSO_END.join(command.encode() for command in self.commands) + END

    @property
    def stops_and_reports(self) -> bool:
        """It sets something at rest, and asks for the faults."""
        return self.commands[0][0] == "!" and self.commands[-1] == FAULTS

    @property
    def longest_answer(self) -> int:
        """Bytes of the answer, at most [values of five digits and a sign, counts of nine]."""
        done = sum(command[0] in "!^" for command in self.commands)
        queries = [command for command in self.commands if command[0] in "?~"]
        return 2 * done + sum(
            len(_name(query)) + 1 + (_COUNT_BYTES if query == COUNTS else _VALUE_BYTES) * count
            for query, count in zip(queries, self.counts, strict=True)
        )

    def missing(self, answer: bytes) -> int:
        """Returns the least number of bytes still missing from an answer that begins so."""
        lines = len(self.commands) - answer.count(END)
        begun = len(answer) - answer.rfind(END) - 1
        return max(2 * lines - begun, 1) if lines > 0 else 0

    def decode(self, answer: bytes) -> tuple[tuple[int, ...], ...]:
        """Returns the values of the queries, in order. Raises BadFrameError."""
        lines = answer.split(END)
        if len(lines) != len(self.commands) + 1 or lines[-1]:
            raise BadFrameError(f"{answer!r} has not {len(self.commands)} lines")
        values, counts = [], iter(self.counts)
        for command, line in zip(self.commands, lines[:-1], strict=True):
            if command[0] in "?~":
                values.append(_values(_name(command), line, next(counts)))
            elif line != DONE.encode():
                raise BadFrameError(f"answered {line!r} to {command}")
        return tuple(values)


def _name(command: str) -> str:
    return command[1:].partition(" ")[0]


def _values(name: str, line: bytes, count: int) -> tuple[int, ...]:
    said, _, listed = line.partition(b"=")
    values = listed.split(b":")
    if said != name.encode() or len(values) != count or not _VALUES.fullmatch(listed):
        raise BadFrameError(f"{line!r} is not {name} with {count} values")
    return tuple(int(value) for value in values)


# Set-points of zero on both channels.
BOTH_ZERO = go(1, 0), go(2, 0)


class OpeningLine:
    """The first line to a controller in any state, with or without echo: stop, zero set-points, no echo.

    The carriage return at its beginning ends a partial line of a dead host. The stop comes first: after a time-out of
    its watchdog a controller resumes its old speed with any next command.

    Args:
        zeros: commands that set the set-points to zero, where zero is at rest.

    Attributes:
        frame: bytes to send.
    """

    def __init__(self, zeros: tuple[str, ...] = BOTH_ZERO) -> None:
        self.frame = END + Exchange((EMERGENCY_STOP, *zeros, ECHO_OFF, FAULTS), (1,)).frame

    def missing(self, answer: bytes) -> int:
        """Returns the least number of missing bytes: the answer ends with the faults."""
        return 0 if _OPENED.search(answer) else 1

    def decode(self, answer: bytes) -> FaultFlag:
        """Its faults. Raises BadFrameError."""
        if (flags := _OPENED.search(answer)) is None:
            raise BadFrameError(f"{answer!r} does not end in the faults")
        return FaultFlag(int(flags[1]))


class ProcessorQuery:
    """Asks for kind and number of its processor: values of 32 bits, with a sign or not; old firmware has none."""

    frame = PROCESSOR.encode() + END

    @staticmethod
    def missing(answer: bytes) -> int:
        """Returns the least number of missing bytes: the answer is a line."""
        return 0 if answer.endswith(END) else 1

    @staticmethod
    def decode(answer: bytes) -> str:
        """Its numbers; "": it knows none. Raises BadFrameError."""
        if answer == NOT_DONE.encode() + END:
            return ""
        if (numbers := _NUMBERS.fullmatch(answer)) is None:
            raise BadFrameError(f"{answer!r} is no answer to {PROCESSOR}")
        return "-".join(str(int(number) % 2**32) for number in numbers[1].split(b":"))


def parse(text: bytes) -> RoboteqCommand | None:
    """Parse a command without its end; None if it is not a command."""
    if len(text) > MAX_COMMAND or (parts := _COMMAND.fullmatch(text.decode("latin-1").upper())) is None:
        return None
    return RoboteqCommand(parts[1], parts[2], tuple(int(number) for number in parts[3].split()))


def answer(name: str, *values: int) -> bytes:
    """The answer to a query."""
    return f"{name}={':'.join(str(value) for value in values)}".encode() + END
