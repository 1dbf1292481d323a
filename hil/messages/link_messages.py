"""Rows of numbers as they are on disk, and messages between the loop and its links."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, ClassVar, NamedTuple, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from drivers.interfaces import Health
from drivers.messages import DaqBlock
from drivers.reported import DeviceReport
from hil.messages.layout import ROLES, Layout, Signal
from hil.messages.signals import EVENTS, TICK, TIMES, row_dtype

IMPACT = "impact"  # name of the event that records an impact
BURST_SLACK_S = 0.25  # an event may be recorded this long after its sample, and still no sample of its burst is lost
# Rows that are the same for any rig.
_ANY = Layout((), (), ())
EVENT, TIMING = row_dtype(EVENTS, _ANY), row_dtype(TIMES, _ANY)


class Row:
    """One row, allocated once and reused, so that a tick allocates nothing for it.

    Attributes:
        array: the row, an array of length 1.
        set: sets all numbers, each an argument, those of arrays one by one.
    """

    _CODES: ClassVar = {"i8": "q", "f8": "d", "f4": "f", "u1": "B", "u4": "I"}

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.array = np.zeros(1, dtype)
        self._bytes = self.array.view(np.uint8).data
        codes = (self._CODES[kind.base.str[1:]] * math.prod(kind.shape) for kind, *_ in (dtype.fields or {}).values())
        self._struct = struct.Struct("<" + "".join(codes))
        self.set: Callable[..., None] = partial(self._struct.pack_into, self._bytes, 0)

    def numbers(self) -> tuple[Any, ...]:
        """All numbers, those of arrays one by one."""
        return self._struct.unpack_from(self._bytes)


def event_row(
    id: int,
    name: str,
    tick: int,
    t_ns: int,
    value: float = 0.0,
    limit: float = 0.0,
    reaction_tick: int = -1,
    detail: str = "",
) -> NDArray[np.void]:
    """One event as it is recorded and published: an array with one row of `EVENT`.

    Args:
        id: Fault number; 0 for an event that is not a fault.
        name: Its name, cut off after 32 bytes.
        tick: Tick of detection.
        t_ns: Its time [ns].
        value: The value found.
        limit: The value allowed.
        reaction_tick: Tick whose command reacted, -1 if none did.
        detail: Text, cut off after 128 bytes.
    """
    row = (id, _fitting(name, "name"), tick, t_ns, value, limit, reaction_tick, _fitting(detail, "detail"))
    return np.array([row], EVENT)


def triggers_capture(event: np.void) -> bool:
    """Whether an event, a row of `EVENT`, triggers a burst of sensor samples: an impact and a fault do."""
    return bool(event["id"]) or event["name"] == IMPACT.encode()


def recorded_detail(text: str) -> str:
    """What the detail of an event holds of a text."""
    return _fitting(text, "detail").decode()


def _fitting(text: str, field: str) -> bytes:
    """Returns the text as UTF-8, cut between two characters where the field of `EVENT` is too short for it."""
    return text.encode()[: EVENT[field].itemsize].decode(errors="ignore").encode()


Numbers = tuple[Any, ...]
# The field of `Command` in the source of a signal.
_FIELD = re.compile(r"\bcommand\.(\w+)")


class _SampleSignal(NamedTuple):
    """A signal of a sample: its field, of which class where that is a separate sample, and its numbers in the row."""

    signal: Signal
    path: tuple[str, ...]
    kind: type[Any] | None
    first: int
    shape: tuple[int, ...]

    def packed(self) -> str:
        """Expression of its numbers, of a `sample` in a run from `start_ns` on; -1 or NaN if it has none."""
        value, unit = f"sample.{'.'.join(self.path)}", "-1" if self.signal.kind == "i8" else "nan"
        if not self.shape:
            number = f"{value} - start_ns" if self.path == ("t_ns",) else f"since({value}, start_ns)"
            return f"{unit} if sample.{self.path[0]} is None else {number}" if self.kind else number
        numbers = value if len(self.shape) == 1 else f"flat({value})"
        none = f"({unit},) * {math.prod(self.shape)} if sample.{self.path[0]} is None else "
        return f"*({none if self.kind else ''}{numbers})"

    def unpacked(self) -> str:
        """Expression of its field, of the `numbers` of a row."""
        first, end = self.first, self.first + math.prod(self.shape)
        if len(self.shape) == 2:
            by_two = "".join(f"(numbers[{place}], numbers[{place + 1}])," for place in range(first, end, 2))
            return f"{self.path[-1]}=({by_two})"
        return f"{self.path[-1]}=numbers[{first}{f':{end}' if self.shape else ''}]"


class SampleRow:
    """The newest sample of a device as a row.

    Its two functions are generated once for a layout, as `hil.messages.stages` makes that of a tick: to go through the
    signals one by one takes eight times as long, in each tick.

    Args:
        link: that it comes from, one of `NEWEST`.

    Attributes:
        dtype: of the row.
        pack: the numbers of the row of a sample, in a run whose t = 0 on the clock of its times is given [ns]; a time
            before it, but that of the sample itself, is -1.
        unpack: the sample of the numbers of a row.
    """

    def __init__(self, link: str, layout: Layout) -> None:
        kind: Any = ROLES[link].sample
        self._parts: list[_SampleSignal] = list(_parts(kind, layout, f"samples.{link}."))
        fields: list[Any] = [(part.signal.name, f"<{part.signal.kind}", part.shape) for part in self._parts]
        self.dtype: np.dtype[Any] = np.dtype([("sequence", "<i8"), *fields])
        names: dict[str, Any] = {"since": since, "flat": chain.from_iterable, "nan": math.nan}
        packed = ", ".join(part.packed() for part in self._parts)
        self.pack: Callable[[Any, int], Numbers] = eval(f"lambda sample, start_ns: (sample.sequence, {packed})", names)
        names["kind"], unpacked = kind, ["sequence=numbers[0]"]
        unpacked += [part.unpacked() for part in self._parts if not part.kind]
        unpacked += [f"{name}=()" for name in _empty(layout, f"samples.{link}.")]
        for name, inner in {(part.path[0], part.kind) for part in self._parts if part.kind}:
            names[name] = inner
            of_inner = ", ".join(part.unpacked() for part in self._parts if part.path[0] == name)
            unpacked.append(f"{name}={name}({of_inner})")
        self.unpack: Callable[[Numbers], Any] = eval(f"lambda numbers: kind({', '.join(unpacked)})", names)

    def of_tick(self, row: np.void) -> Any:
        """What the loop had of it in a tick.

        Args:
            row: of `tick_dtype`.
        """
        numbers: list[Any] = [int(row["tick"])]
        for part in self._parts:
            value = row[part.signal.name]
            numbers += value.reshape(-1).tolist() if part.shape else [value.item()]
        return self.unpack(tuple(numbers))


def _parts(kind: type[Any], layout: Layout, place: str) -> Iterator[_SampleSignal]:
    first = 1
    for signal in TICK:
        source = signal.source.removeprefix("flat(").removesuffix(")")
        if not source.startswith(place) or not signal.present(layout):
            continue
        path, shape = tuple(source.removeprefix(place).split(".")), signal.shape(layout)
        inner = next(iter(get_args(get_type_hints(kind)[path[0]])), None) if len(path) > 1 else None
        yield _SampleSignal(signal, path, inner, first, shape)
        first += math.prod(shape)


def _empty(layout: Layout, place: str) -> Iterator[str]:
    """Fields of a sample of which a rig has no elements, and a row no signal: speeds of a vehicle without wheels."""
    for signal in TICK:
        name = signal.source.removeprefix(place)
        if name != signal.source and name.isidentifier() and not signal.needs and 0 in signal.shape(layout):
            yield name


class CommandRow:
    """A command to a device as a row; its fields are the signals of a tick that have the same of `Command`.

    Args:
        link: that it goes to, one of `COMMANDED`.

    Attributes:
        dtype: of the row.
        pack: the numbers of the row of a command.
        unpack: the command of the numbers of a row, whose time is of the clock on which the run starts at the given
            time [ns].
    """

    def __init__(self, link: str, layout: Layout) -> None:
        role, first = ROLES[link], 1
        kind, sources = role.command, {name: field for field, name in role.fields.items()}
        fields: list[Any] = [("t_ns", "<i8")]
        packed, unpacked = ["command.t_ns"], ["start_ns + numbers[0]"]
        for signal in TICK:
            found = _FIELD.search(signal.source)
            if found is None or (field := sources.get(found[1])) is None:
                continue
            if not signal.present(layout):
                unpacked += [f"{field}=()"] if signal.elements else []
                continue
            shape = signal.shape(layout)
            end = first + math.prod(shape)
            fields.append((field, f"<{signal.kind}", shape))
            packed.append(("*" if shape else "") + _FIELD.sub(f"command.{field}", signal.source))
            unpacked.append(f"{field}={_of_numbers(signal, first, end, len(shape))}")
            first = end
        self.dtype: np.dtype[Any] = np.dtype(fields)
        names = {"kind": kind, "flat": chain.from_iterable, "layout": layout}
        self.pack: Callable[[Any], Numbers] = eval(f"lambda command: ({', '.join(packed)},)", names)
        self.unpack: Callable[[Sequence[Any], int], Any] = eval(
            f"lambda numbers, start_ns: kind({', '.join(unpacked)})", names
        )


def _of_numbers(signal: Signal, first: int, end: int, dimensions: int) -> str:
    """Expression of a field of a command, of the `numbers` of its row; empty where what stands for it was not a number.

    Of what may be left out, as `signal.source` says, no number stands in the row.
    """
    each = [f"bool(numbers[{place}])" if signal.flag else f"numbers[{place}]" for place in range(first, end)]
    if not dimensions:
        return each[0]
    if dimensions == 2:
        return f"({' '.join(f'({one}, {other}),' for one, other in zip(each[::2], each[1::2], strict=True))})"
    if signal.flag:
        return f"({', '.join(each)},)"
    tail = f" if numbers[{first}] == numbers[{first}] else ()" if " or " in signal.source else ""
    return f"tuple(numbers[{first}:{end}]){tail}"


class BlockRow:
    """A whole block of sensor samples as a row."""

    def __init__(self, samples: int, channels: int) -> None:
        by_channel: list[Any] = []
        if channels:
            by_channel = [("volts", "<f8", (samples, channels)), ("overload", "<u1", (channels,))]
        self.dtype: np.dtype[Any] = np.dtype(
            [("sequence", "<i8"), ("t_ns", "<i8", (samples,)), *by_channel, ("arrived_ns", "<i8")]
        )

    @staticmethod
    def pack(row: Any, block: DaqBlock, sequence: int, start_ns: int) -> None:
        """Fill a row with a block.

        Args:
            row: (1,) of the dtype.
            block: which one.
            sequence: its number in the run.
            start_ns: t = 0 of the run on the clock of its times [ns].
        """
        row["sequence"], row["overload"], row["volts"] = sequence, block.overload, block.values
        row["t_ns"] = block.t_ns - start_ns if start_ns else block.t_ns
        row["arrived_ns"] = since(block.arrived_ns, start_ns)

    @staticmethod
    def view(row: Any) -> tuple[Any, ...]:
        """Views of the fields of a row, for `unpack`."""
        return row["sequence"], row["t_ns"][0], row["volts"][0], row["overload"][0], row["arrived_ns"]

    @staticmethod
    def unpack(views: tuple[Any, ...]) -> DaqBlock:
        """The block of a row, whose arrays are those of the row."""
        sequence, t_ns, volts, overload, arrived_ns = views
        return DaqBlock(sequence.item(), t_ns, volts, tuple(overload.tolist()), arrived_ns.item())


HEALTH = np.dtype(  # drivers.interfaces.Health of a link, as its worker sees it
    [
        ("t_ns", "<i8"),
        ("open", "<u1"),
        ("e_stop", "<u1"),
        ("errors", "<i8"),
        ("retries", "<i8"),
        ("rate_hz", "<f8"),
        ("age_ms", "<f8"),
        ("detail", "S200"),
        ("reports", "S1024"),  # what the device reports about itself, a line each
    ]
)


def health_row(health: Health, t_ns: int) -> NDArray[np.void]:
    """The state of a link at a time [ns] as a row of `HEALTH`."""
    words = health.detail.encode()[: HEALTH["detail"].itemsize]
    counts = health.open, health.e_stop, health.errors, health.retries
    lines = b"\n".join(reported(health, report).encode() for report in health.reports)
    return np.array([(t_ns, *counts, health.rate_hz, health.age_ms, words, lines)], HEALTH)


def reported(health: Health, report: DeviceReport) -> str:
    """What a device reports, with its name, as an event holds it."""
    return recorded_detail(f"{health.device}: {report.words}")


def reports_of(row: NDArray[np.void]) -> list[str]:
    """What the device reports about itself in a row of `HEALTH`."""
    return [line.decode(errors="ignore") for line in row["reports"][0].splitlines()]


def health_of(row: NDArray[np.void]) -> dict[str, Any]:
    """Errors, retries, rate_hz and age_ms of a row of `HEALTH` (None where not counted), and the device's status."""
    numbers = {key: row[key][0].item() for key in ("errors", "retries", "rate_hz", "age_ms")}
    counted = {key: value if math.isfinite(value) else None for key, value in numbers.items()}
    return {**counted, "detail": row["detail"][0].decode(errors="replace")}


def since(at_ns: int, start_ns: int) -> int:
    """A time of the run; -1 for one before it, or not known."""
    return at_ns - start_ns if at_ns >= start_ns else -1
