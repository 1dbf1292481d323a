"""Commands of an operator: an input of the tick like any sample, checked, recorded and replayed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal, Protocol, TypeAlias, Union

import msgspec
import numpy as np
from typing_extensions import override

from hil.messages.link_messages import EVENT, event_row
from hil.messages.loads import LoadModeName

# The names of the events that record commands begin with this.
PREFIX = "operator "
# A command fits into the detail of an event, as JSON.
MOST_BYTES = EVENT["detail"].itemsize
# Text from an operator is cut off after this many bytes, so that a command fits into the detail of an event.
LONGEST_WORDS = 80


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Frozen; read from JSON with the fields that it has, and no others."""


class Arm(_Message, frozen=True, tag="arm"):
    """Run the arming checks, and arm if all pass."""


class Start(_Message, frozen=True, tag="start"):
    """Start to move."""


class Stop(_Message, frozen=True, tag="stop"):
    """End the experiment: drives cut, valves off. This is not a fault."""

    reason: str = ""


class EStop(_Message, frozen=True, tag="e_stop"):
    """Go to Safe at once, latched."""

    reason: str = ""


class ClearFault(_Message, frozen=True, tag="clear"):
    """Clear one latched fault, by its number; it latches again if its cause is still there."""

    fault: int


class SetPoint(_Message, frozen=True, tag="set_point"):
    """Change a set-point of the running experiment."""

    name: str
    value: float


class Mode(_Message, frozen=True, tag="mode"):
    """Change the mode of the running experiment."""

    name: str


class SetLoads(_Message, frozen=True, omit_defaults=True, tag="set_loads"):
    """Change the wanted distribution of the wheels' loads, where a controller distributes them.

    Attributes:
        mode: name of a `hil.messages.loads.LoadMode`, in lower case.
        share: (wheels,) of the whole load, for mode share.
        wheel: name of the one to unload, for mode unload.
    """

    mode: LoadModeName
    share: tuple[float, ...] = ()
    wheel: str = ""


class Jog(_Message, frozen=True, tag="jog"):
    """Turn wheels for a short time, wheels off the ground; between two runs only.

    Attributes:
        wheels: their names, or all.
        speed_mps: of the rim [m/s]; negative: backward.
        seconds: how long [s].
    """

    wheels: tuple[str, ...]
    speed_mps: float
    seconds: float


class Valve(_Message, frozen=True, tag="valve"):
    """Power one valve for a short time, wheels cut; between two runs only.

    Attributes:
        cylinder: its name.
        way: the direction.
        seconds: how long [s].
    """

    cylinder: str
    way: Literal["extend", "retract"]
    seconds: float


class JogJoint(_Message, frozen=True, tag="jog_joint"):
    """Turn one driven joint, wheels cut; between two runs only.

    Attributes:
        joint: its name.
        angle_deg: that it turns to [deg].
        rate_degps: its speed on the way [deg/s].
        seconds: how long it is driven [s]; then it is where it then is.
    """

    joint: str
    angle_deg: float
    rate_degps: float
    seconds: float


class Campaign(_Message, frozen=True, tag="campaign"):
    """Begin or resume the campaign; pause it after the running trial; end it there.

    Attributes:
        do: which of them.
        operator: name of the operator, for its trials.
    """

    do: Literal["start", "pause", "end"]
    operator: str = ""


class Verdict(_Message, frozen=True, tag="verdict"):
    """The operator's verdict on the trial of a campaign that is over, and a word on it."""

    verdict: Literal["keep", "repeat"]
    word: str = ""


class Set(_Message, frozen=True, omit_defaults=True, tag="set"):
    """Change a setting of the config for the next runs, as `--set` does; between two runs only.

    Attributes:
        key: dotted, like trial.angle_deg.
        value: the new one.
        more: others follow, which are checked together with it and take effect with the last one.
    """

    key: str
    value: bool | int | float | str | None
    more: bool = False


class ChoosePlan(_Message, frozen=True, tag="plan"):
    """Choose the plan of the next campaign, one of those that are offered; between two runs only."""

    name: str


class Custom(_Message, frozen=True, tag="custom"):
    """A command that one experiment defines: its kind and its content."""

    kind: str
    content: str = ""


class ConsoleLost(_Message, frozen=True, tag="console_lost"):
    """No client's command: the operator lease was lost before the start, and the experiment ends; what was found."""

    found: str


class LeaseChange(_Message, frozen=True, tag="lease"):
    """No command: from now on another client holds the operator lease; recorded only.

    Attributes:
        holder: its name; "": nobody.
        why: taken, given by the one that held it, released or expired.
    """

    holder: str
    why: Literal["taken", "given", "released", "expired"]


class RefusedCommands(_Message, frozen=True, tag="refused"):
    """No command: what the command server has refused since it last reported; fault 20, recorded only.

    Attributes:
        count: how many.
        why: reason of the last one.
    """

    count: int
    why: str


# What the command server reports: recorded in a run, and of no effect.
NOTICES = (LeaseChange, RefusedCommands)
# What an operator may ask for.
OperatorRequest: TypeAlias = Union[  # noqa: UP007 - msgspec
    Arm,
    Start,
    Stop,
    EStop,
    ClearFault,
    SetPoint,
    Mode,
    SetLoads,
    Jog,
    JogJoint,
    Valve,
    Campaign,
    Verdict,
    Set,
    ChoosePlan,
    Custom,
]
# The same, what the command server reports, and how the resident process ends a run without its operator.
OperatorCommand: TypeAlias = Union[OperatorRequest, ConsoleLost, LeaseChange, RefusedCommands]  # noqa: UP007 - msgspec
OperatorInput: TypeAlias = tuple[OperatorCommand, ...]

_DECODER = msgspec.json.Decoder(OperatorCommand)


class OperatorSource(Protocol):
    """Where the operator's commands come from."""

    def read(self) -> OperatorInput:
        """All commands since the last call, oldest first; never blocks."""


class OperatorQueue(OperatorSource):
    """Commands from the loop's process. `put` may be called in a signal handler."""

    def __init__(self) -> None:
        self._waiting: deque[OperatorCommand] = deque()

    @property
    def waits(self) -> bool:
        """A command waits for the next tick."""
        return bool(self._waiting)

    def put(self, command: OperatorCommand) -> None:
        """Queue a command for the next tick. Raises ValueError if it is too long to be recorded."""
        command_to_bytes(command)
        self._waiting.append(command)

    @override
    def read(self) -> OperatorInput:
        if not self._waiting:
            return ()
        return tuple(self._waiting.popleft() for _ in range(len(self._waiting)))


def asks(commands: Iterable[OperatorCommand], what: type[OperatorCommand]) -> bool:
    """Whether one of the commands is of that kind."""
    return any(isinstance(command, what) for command in commands)


def command_to_bytes(command: OperatorCommand) -> bytes:
    """A command as JSON; `command_of_bytes` reads it back.

    Raises:
        ValueError: the command does not fit into the detail of an event.
    """
    content = msgspec.json.encode(command)
    if len(content) > MOST_BYTES:
        raise ValueError(f"operator command of {len(content)} bytes, allowed: {MOST_BYTES} ({content[:40]!r}...)")
    return content


def command_of_bytes(content: bytes) -> OperatorCommand:
    """Read a command from JSON. Raises ValueError if it is not a command."""
    try:
        command: OperatorCommand = _DECODER.decode(content)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{content[:40]!r} is no operator command: {error}") from None
    return command


def command_event(command: OperatorCommand, tick: int, t_ns: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """The event, a row of `EVENT`, that records a command; `command_of` reads it back.

    Raises:
        ValueError: the command does not fit into the detail of an event.
    """
    name = f"{PREFIX}{command.__struct_config__.tag}"
    return event_row(0, name, tick, t_ns, detail=command_to_bytes(command).decode())


def is_command(event: np.void) -> bool:
    """Whether an event, a row of `EVENT`, records an operator's command."""
    return bytes(event["name"]).startswith(PREFIX.encode())


def command_of(event: np.void) -> OperatorCommand:
    """The command that an event records. Raises ValueError if it records none."""
    try:
        return command_of_bytes(bytes(event["detail"]))
    except ValueError as error:
        raise ValueError(f"event {bytes(event['name']).decode()!r} records no operator command: {error}") from None


def shortened(words: str) -> str:
    """The text, cut between two characters so that it fits into a recorded command."""
    return words.encode()[:LONGEST_WORDS].decode(errors="ignore")
