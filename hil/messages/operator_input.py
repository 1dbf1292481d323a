"""What an operator asks of the rig: an input of the tick like any sample, checked, recorded and replayed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Protocol, TypeAlias, Union

import msgspec
import numpy as np

from hil.messages.schema import EVENT, event_row

# Names of the events that record them begin so.
PREFIX = "operator "
# A command fits into the detail of an event, as JSON.
MOST_BYTES = EVENT["detail"].itemsize
# Words of an operator are cut off after so many bytes: a command fits into the detail of an event.
LONGEST_WORDS = 80


class Arm(msgspec.Struct, frozen=True, tag="arm"):
    """Make the arming checks, and stand armed if all pass."""


class Start(msgspec.Struct, frozen=True, tag="start"):
    """Begin to move."""


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """End the experiment: drives cut, valves off. No fault."""

    reason: str = ""


class EStop(msgspec.Struct, frozen=True, tag="e_stop"):
    """Safe at once, latched."""

    reason: str = ""


class ClearFault(msgspec.Struct, frozen=True, tag="clear"):
    """Clear one latched fault, by its number; it latches again if its cause is still there."""

    fault: int


class SetPoint(msgspec.Struct, frozen=True, tag="set_point"):
    """Change a set-point of the experiment that runs."""

    name: str
    value: float


class Mode(msgspec.Struct, frozen=True, tag="mode"):
    """Change the mode of the experiment that runs."""

    name: str


class Custom(msgspec.Struct, frozen=True, tag="custom"):
    """A command that one experiment defines: its kind and its content."""

    kind: str
    content: str = ""


OperatorCommand: TypeAlias = Union[Arm, Start, Stop, EStop, ClearFault, SetPoint, Mode, Custom]  # noqa: UP007 - msgspec
OperatorInput: TypeAlias = tuple[OperatorCommand, ...]

_DECODER = msgspec.json.Decoder(OperatorCommand)


class OperatorSource(Protocol):
    """Where the operator's commands come from."""

    def read(self) -> OperatorInput:
        """All that were given since the last call, oldest first; never blocks."""


class OperatorQueue:
    """Commands given in the loop's own process. `put` may be called in a signal handler."""

    def __init__(self) -> None:
        self._waiting: deque[OperatorCommand] = deque()

    def put(self, command: OperatorCommand) -> None:
        """Hand a command to the next tick. Raises ValueError: it is too long to be recorded."""
        command_to_bytes(command)
        self._waiting.append(command)

    def read(self) -> OperatorInput:
        """See `OperatorSource`."""
        if not self._waiting:
            return ()
        return tuple(self._waiting.popleft() for _ in range(len(self._waiting)))


def asks(commands: Iterable[OperatorCommand], what: type[OperatorCommand]) -> bool:
    """Whether one of the commands is of that kind."""
    return any(isinstance(command, what) for command in commands)


def command_to_bytes(command: OperatorCommand) -> bytes:
    """A command as JSON; `command_of_bytes` reads it back.

    Raises:
        ValueError: it does not fit into the detail of an event.
    """
    content = msgspec.json.encode(command)
    if len(content) > MOST_BYTES:
        raise ValueError(f"operator command of {len(content)} bytes, allowed: {MOST_BYTES} ({content[:40]!r}...)")
    return content


def command_of_bytes(content: bytes) -> OperatorCommand:
    """The command of such JSON. Raises ValueError: it is none."""
    try:
        command: OperatorCommand = _DECODER.decode(content)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{content[:40]!r} is no operator command: {error}") from None
    return command


def command_event(command: OperatorCommand, tick: int, t_ns: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """The event, a row of `EVENT`, that a command is recorded as; `command_of` reads it back.

    Raises:
        ValueError: the command does not fit into the detail of an event.
    """
    name = f"{PREFIX}{command.__struct_config__.tag}"
    return event_row(0, name, tick, t_ns, detail=command_to_bytes(command).decode())


def is_command(event: np.void) -> bool:
    """Whether an event, a row of `EVENT`, records an operator's command."""
    return bytes(event["name"]).startswith(PREFIX.encode())


def command_of(event: np.void) -> OperatorCommand:
    """The command that an event records. Raises ValueError: it records none."""
    try:
        return command_of_bytes(bytes(event["detail"]))
    except ValueError as error:
        raise ValueError(f"event {bytes(event['name']).decode()!r} records no operator command: {error}") from None


def shortened(words: str) -> str:
    """Words that fit into a recorded command, cut between two characters."""
    return words.encode()[:LONGEST_WORDS].decode(errors="ignore")
