"""Messages between the loop and its links, in shared memory: of each its row, and how it is packed and unpacked.

The fields of a sample are the signals of a tick that it is the source of, so that a new one stands in one table. Times
in shared memory and in a record are of the run: 0 at its start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from drivers.interfaces import Health
from drivers.messages import (
    DaqBlock,
    DriveCommand,
    DriveSample,
    JointCommand,
    JointSample,
    Reading,
    ValveCommand,
    ValveSample,
    ValveSet,
)
from drivers.reported import DeviceReport
from hil.messages.layout import INSTRUMENTS, Layout
from hil.messages.schema import recorded_detail
from hil.messages.signals import TICK, Signal

Sample = TypeVar("Sample", DriveSample, ValveSample, Reading, JointSample)
Numbers = tuple[Any, ...]
# Which field of `Samples` has the newest sample of a link, and its class.
SAMPLES: dict[str, type[Any]] = {
    "drives": DriveSample,
    "valves": ValveSample,
    **dict.fromkeys(INSTRUMENTS, Reading),
    "servos": JointSample,
}


class _Part(NamedTuple):
    """A signal of a sample: its field, of which class where that is a sample of its own, and its numbers in the row."""

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


class SampleRow(Generic[Sample]):
    """A sample of drives, valves, servos or an instrument as a row.

    Its two functions are generated once for a layout, as `hil.messages.packer` makes that of a tick: to go through the
    signals one by one takes eight times as long, in each tick.

    Args:
        kind: of the sample.
        layout: of the rig.
        link: that it comes from, a key of `SAMPLES`; by default the only one with such samples.

    Attributes:
        dtype: of the row.
        pack: the numbers of the row of a sample, in a run whose t = 0 on the clock of its times is given [ns]; a time
            before it, but that of the sample itself, is -1.
        unpack: the sample of the numbers of a row.
    """

    def __init__(self, kind: type[Sample], layout: Layout, link: str = "") -> None:
        link = link or next(name for name, of in SAMPLES.items() if of is kind)
        self._parts: list[_Part] = list(_parts(kind, layout, f"samples.{link}."))
        fields: list[Any] = [(part.signal.name, f"<{part.signal.kind}", part.shape) for part in self._parts]
        self.dtype: np.dtype[Any] = np.dtype([("sequence", "<i8"), *fields])
        names: dict[str, Any] = {"since": since, "flat": chain.from_iterable, "nan": math.nan}
        packed = ", ".join(part.packed() for part in self._parts)
        self.pack: Callable[[Sample, int], Numbers] = eval(
            f"lambda sample, start_ns: (sample.sequence, {packed})", names
        )
        names["kind"], unpacked = kind, ["sequence=numbers[0]"]
        unpacked += [part.unpacked() for part in self._parts if not part.kind]
        unpacked += [f"{name}=()" for name in _empty(layout, f"samples.{link}.")]
        for name, inner in {(part.path[0], part.kind) for part in self._parts if part.kind}:
            names[name] = inner
            of_inner = ", ".join(part.unpacked() for part in self._parts if part.path[0] == name)
            unpacked.append(f"{name}={name}({of_inner})")
        self.unpack: Callable[[Numbers], Sample] = eval(f"lambda numbers: kind({', '.join(unpacked)})", names)

    def of_tick(self, row: np.void) -> Sample:
        """What the loop had of it in a tick.

        Args:
            row: of `tick_dtype`.
        """
        numbers: list[Any] = [int(row["tick"])]
        for part in self._parts:
            value = row[part.signal.name]
            numbers += value.reshape(-1).tolist() if part.shape else [value.item()]
        return self.unpack(tuple(numbers))


def _parts(kind: type[Any], layout: Layout, place: str) -> Iterator[_Part]:
    first = 1
    for signal in TICK:
        source = signal.source.removeprefix("flat(").removesuffix(")")
        if not source.startswith(place) or not signal.present(layout):
            continue
        path, shape = tuple(source.removeprefix(place).split(".")), signal.shape(layout)
        inner = next(iter(get_args(get_type_hints(kind)[path[0]])), None) if len(path) > 1 else None
        yield _Part(signal, path, inner, first, shape)
        first += math.prod(shape)


def _empty(layout: Layout, place: str) -> Iterator[str]:
    """Fields of a sample of which a rig has no elements, and a row no signal: speeds of a vehicle without wheels."""
    for signal in TICK:
        name = signal.source.removeprefix(place)
        if name != signal.source and name.isidentifier() and not signal.needs and 0 in signal.shape(layout):
            yield name


class DriveCommandRow:
    """A command to the drives as a row; of a rig that may be driven by duty with the duties, NaN where speeds hold."""

    def __init__(self, layout: Layout) -> None:
        self._wheels, self._no_duty = len(layout.wheels), layout.no_duty
        fields = [("t_ns", "<i8"), ("cut", "<u1"), ("speed_radps", "<f8", (self._wheels,))]
        duty = [("duty", "<f8", (self._wheels,))] if layout.open_loop else []
        self.dtype: np.dtype[Any] = np.dtype([*fields, *duty])

    def pack(self, command: DriveCommand) -> Numbers:
        """The numbers of its row."""
        return command.t_ns, command.cut, *command.speed_radps, *(command.duty or self._no_duty)

    def unpack(self, numbers: Sequence[Any], start_ns: int) -> DriveCommand:
        """The command, whose time is of the clock on which the run starts at `start_ns` [ns]."""
        t_ns, cut, *outputs = numbers
        speeds, duty = tuple(outputs[: self._wheels]), tuple(outputs[self._wheels :])
        by_duty = bool(duty) and not math.isnan(duty[0])
        return DriveCommand(start_ns + t_ns, bool(cut), speeds, duty if by_duty else ())


class ValveCommandRow:
    """A command to the valves and regulators as a row."""

    def __init__(self, layout: Layout) -> None:
        self._switches = 2 * len(layout.cylinders)
        fields: list[Any] = [("t_ns", "<i8")]
        if layout.cylinders:
            fields.append(("powered", "<u1", (len(layout.cylinders), 2)))
        if layout.regulators:
            fields.append(("regulators_Pa", "<f8", (len(layout.regulators),)))
        if layout.trigger:
            fields.append(("trigger", "<u1"))
        self._end, self._trigger = 1 + self._switches + len(layout.regulators), layout.trigger
        self.dtype: np.dtype[Any] = np.dtype(fields)

    def pack(self, command: ValveCommand) -> Numbers:
        """The numbers of its row."""
        numbers = command.t_ns, *chain.from_iterable(command.powered), *command.regulators_Pa
        return (*numbers, command.trigger) if self._trigger else numbers

    def unpack(self, numbers: Sequence[Any], start_ns: int) -> ValveCommand:
        """As `DriveCommandRow.unpack`."""
        end, switches = self._end, 1 + self._switches
        powered: ValveSet = pairs(tuple(map(bool, numbers[1:switches])))
        trigger = self._trigger and bool(numbers[end])
        return ValveCommand(start_ns + numbers[0], powered, tuple(numbers[switches:end]), trigger)


class JointCommandRow:
    """A command to the servos as a row."""

    def __init__(self, layout: Layout) -> None:
        self.dtype: np.dtype[Any] = np.dtype(
            [("t_ns", "<i8"), ("cut", "<u1"), ("angle_rad", "<f8", (len(layout.servos),))]
        )

    @staticmethod
    def pack(command: JointCommand) -> Numbers:
        """The numbers of its row."""
        return command.t_ns, command.cut, *command.angle_rad

    @staticmethod
    def unpack(numbers: Sequence[Any], start_ns: int) -> JointCommand:
        """As `DriveCommandRow.unpack`."""
        t_ns, cut, *angles = numbers
        return JointCommand(start_ns + t_ns, bool(cut), tuple(angles))


class BlockRow:
    """A whole block of sensor samples as a row.

    Args:
        samples: of each channel in a block.
        channels: of them.
    """

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


def pairs(numbers: Sequence[Any]) -> tuple[tuple[Any, Any], ...]:
    """By cylinder, (extend, retract), of numbers one after the other."""
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def since(at_ns: int, start_ns: int) -> int:
    """A time of the run; -1 for one before it, or not known."""
    return at_ns - start_ns if at_ns >= start_ns else -1
