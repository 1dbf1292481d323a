"""Parts of a simulated chassis: modules, sensors and wires, and the tasks, channels and errors of NI-DAQmx."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from nidaqmx.constants import ShuntElementLocation
from nidaqmx.utils import unflatten_channel_string

from drivers.channel_calibration import Teds
from drivers.ni.section import chassis_of

TaskKind = Literal["", "ai", "ao", "di", "do", "ci", "watchdog"]
CHASSIS = "cDAQ1"
LINES = 8
BITS = 24  # of its converters
VOLTAGE, BRIDGE = 10322, 15908  # kinds of analog channels


class DaqmxError(Exception):
    """An error of NI-DAQmx: its code, its text, and for a read the number of samples read."""

    def __init__(self, code: int, text: str, samples_read: int | None = None) -> None:
        super().__init__(text)
        self.code, self.samples_read = code, samples_read


class ServerFault(msgspec.Struct, frozen=True):
    """A fault of the server. Kinds as of devices in one process, and two more.

    Attributes:
        kind: delayed: the next `count` reads are answered late; error: they fail with `code`; off: the server stops
            and loses its tasks; reconnect starts it anew. Of all counters: cable_open: they count no more;
            cable_crossed: the two signals of each encoder are exchanged, so it counts the other way; cable_whole.
        count: number of reads.
        ms: delay [ms].
        code: of NI-DAQmx.
    """

    kind: Literal["delayed", "error", "off", "reconnect", "cable_open", "cable_crossed", "cable_whole"]
    count: int = 1
    ms: float = 100.0
    code: int = -201003


class Module(NamedTuple):
    """A device as listed."""

    product: str
    serial: int
    ai: tuple[str, ...] = ()
    ao: tuple[str, ...] = ()
    di: tuple[str, ...] = ()
    do: tuple[str, ...] = ()
    ci: tuple[str, ...] = ()


class VirtualChannel(NamedTuple):
    """A virtual channel.

    Attributes:
        name: of it.
        physical: the physical channel; of several lines the first.
        per_volt: units of it for each volt, or for each count.
        more: the other lines of a digital channel of several.
        measures: what an analog one measures, as `ai_meas_type` or `ao_output_type` has it.
        limits: smallest and largest value asked for, in its unit; of a counter the first is its initial value.
    """

    name: str
    physical: str
    per_volt: float = 1.0
    more: tuple[str, ...] = ()
    measures: int = VOLTAGE
    limits: tuple[float, float] = (0.0, 0.0)

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines of a digital channel."""
        return (self.physical, *self.more)

    @property
    def bridge(self) -> bool:
        """Whether it measures a bridge."""
        return self.measures == BRIDGE


class Task(msgspec.Struct, eq=False):
    """A task.

    Attributes:
        buffer: samples of its buffer; of a finite task, those that it takes or generates.
        timed: it has a sample clock; otherwise it reads and writes on demand.
        rate_hz: asked of that clock.
        automatic: started by a read or a write: it ends by itself.
        first: the sample of the rig that is its own sample 0.
        position: the next to be read.
        wave: (channels, samples) to be generated with its clock.
        began_ns: when it was started.
        gains: of shunt calibrations, by the channel's name.
    """

    name: str
    kind: TaskKind = ""
    channels: list[VirtualChannel] = []
    buffer: int = 0
    timed: bool = False
    continuous: bool = False
    rate_hz: float = 0.0
    running: bool = False
    automatic: bool = False
    first: int = 0
    position: int = 0
    wave: npt.NDArray[np.float64] | None = None
    began_ns: int = 0
    gains: dict[str, float] = {}

    @property
    def module(self) -> str:
        """The device of its first channel; "" before it has any."""
        return self.channels[0].physical.partition("/")[0] if self.channels else ""


class ChassisWatchdog(msgspec.Struct):
    """The chassis's watchdog; `states` are the safe ones of its lines and outputs."""

    timeout_s: float
    states: dict[str, float] = {}
    due_ns: int | None = None
    expired: bool = False


def resources(task: Task) -> set[str]:
    """Resources that only one running task may reserve: a module's sample clock, or each line."""
    if task.kind == "watchdog":
        return {CHASSIS}
    if task.timed:
        return {channel.physical.partition("/")[0] for channel in task.channels}
    return {line for channel in task.channels for line in channel.lines}


def converted(
    volts: npt.NDArray[np.float64], channels: list[VirtualChannel], columns: list[int], range_V: float
) -> tuple[npt.NDArray[np.float64], set[str]]:
    """Volts (samples, channels of the module) as converted: whole counts, in the units of the channels asked.

    Args:
        volts: overwritten.
        channels: those asked.
        columns: their places in `volts`.
        range_V: full scale, either sign [V].

    Returns:
        (channels asked, samples), and names of those at full scale.
    """
    least, most = 2 * range_V / 2**BITS, 2 ** (BITS - 1) - 1
    np.clip(np.rint(volts / least), -most - 1, most, out=volts)
    full = np.abs(volts).max(axis=0) >= most
    units = np.array([[least * channel.per_volt] for channel in channels])
    overloaded = {channel.name for channel, at in zip(channels, columns, strict=True) if full[at]}
    return np.asarray(volts.T[columns] * units), overloaded


def unsupported(what: str, asked: float, most: float | None = None) -> DaqmxError:
    """The error for a property out of its range, which ends at +-most."""
    limits = "" if most is None else f" Maximum Value: {most:g} Minimum Value: {-most:g}"
    return DaqmxError(
        -200077,
        f"Requested value is not a supported value for this property. Property: {what} "
        f"Requested Value: {asked:g}{limits}",
    )


def per_volt(volts: float) -> float:
    """Units per volt, the inverse of volts per unit. Raises DaqmxError."""
    if volts <= 0:
        raise unsupported("sensitivity or excitation", volts)
    return 1 / volts


def named_channels(
    physical: str,
    name: str,
    units_per_volt: float,
    measures: int = VOLTAGE,
    limits: tuple[float, float] = (0.0, 0.0),
) -> list[VirtualChannel]:
    """Returns the virtual channels of a list or range of physical ones, numbered where several share one name."""
    each = unflatten_channel_string(physical)
    given = [name] if name and len(each) == 1 else [f"{name}{i}" if name else channel for i, channel in enumerate(each)]
    return [
        VirtualChannel(called, channel, units_per_volt, (), measures, limits)
        for called, channel in zip(given, each, strict=True)
    ]


def digital_channels(lines: str, name: str, *, together: bool) -> list[VirtualChannel]:
    """Returns the channels of a list or range of lines or whole ports: one each, or one of all of them `together`."""
    each = [line for item in unflatten_channel_string(lines) for line in _lines_of(item)]
    if not together or len(each) == 1:
        return named_channels(", ".join(each), name, 1.0)
    return [VirtualChannel(name or f"{each[0]}...", each[0], 1.0, tuple(each[1:]))]


def line_number(line: str) -> int:
    """Returns the number of a line in its port: its bit in the port's value."""
    return int(line.rpartition("/line")[2])


def _lines_of(item: str) -> list[str]:
    """A line, or all lines of a port."""
    return [item] if "/line" in item else [f"{item}/line{number}" for number in range(LINES)]


class ChannelNames(NamedTuple):
    """Names of all channels, each group in the order of what is connected to it.

    Attributes:
        sampled: of the force sensors.
        lines: digital outputs, those of the valves first.
        outputs: analog outputs, those of the regulators first.
        inputs: digital inputs, that of the emergency stop first.
        pressures: of the valves' chambers.
        loads: slow channels.
        counters: of the encoders.
    """

    sampled: tuple[str, ...]
    lines: tuple[str, ...]
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    pressures: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()


_GROUPS = (
    ("simulated IEPE input", "ai"),
    ("simulated digital output", "do"),
    ("simulated analog output", "ao"),
    ("simulated digital input", "di"),
    ("simulated voltage input", "ai"),
    ("simulated slow input", "ai"),
    ("simulated counter", "ci"),
)


def usual_names(channels: int, valves: int, regulators: int, loads: int) -> ChannelNames:
    """Names on a chassis with a module for each group.

    Args:
        channels: sampled ones, of the first module.
        valves: with a line and a pressure each.
        regulators: with an output each.
        loads: slow channels.
    """

    def named(slot: int, what: str, count: int) -> tuple[str, ...]:
        return tuple(f"{CHASSIS}Mod{slot}/{what}{number}" for number in range(count))

    return ChannelNames(
        named(1, "ai", channels),
        named(2, "port0/line", max(LINES, valves)),
        named(3, "ao", max(1, regulators)),
        named(4, "port0/line", LINES),
        named(5, "ai", valves),
        named(6, "ai", loads),
    )


def modules(names: ChannelNames) -> dict[str, Module]:
    """All devices by name: each that a channel names, and its chassis, if it is a module of one."""
    found: dict[str, Module] = {}
    for slot, ((product, kind), group) in enumerate(zip(_GROUPS, names, strict=True), start=1):
        for name in group:
            device = name.partition("/")[0]
            if (chassis := chassis_of(name)) != device:
                found.setdefault(chassis, Module("simulated chassis", 0x5100000))
            module = found.setdefault(device, Module(product, 0x5100000 + slot))
            names_of_kind: dict[str, Any] = {kind: (*getattr(module, kind), name)}
            found[device] = module._replace(**names_of_kind)
    return found


def attribute_text(module: Module, attribute: int) -> str:
    """An attribute of a device, by its number. Raises DaqmxError: not supported."""
    names: dict[int, tuple[str, ...]] = {
        0x631: (module.product,),
        0x231E: module.ai,
        0x231F: module.ao,
        0x2320: module.di,
        0x2322: module.do,
        0x2324: module.ci,
    }
    if attribute not in names:
        raise DaqmxError(-200197, "Attribute is not supported by the device.")
    return ", ".join(names[attribute])


def watchdog_of(device: str, timeout_s: float, lines: Iterable[str], *, expired: bool) -> ChassisWatchdog:
    """The watchdog of a device with output lines. Raises DaqmxError: it has none, or not this time-out [s]."""
    if device not in map(chassis_of, lines):
        raise DaqmxError(-200662, f"Watchdog timer is not supported by this device. Device: {device}")
    if not 0.01 <= timeout_s <= 107:
        raise DaqmxError(-200668, f"Watchdog timeout is out of range: {timeout_s} s, allowed: 0.01 to 107 s")
    return ChassisWatchdog(timeout_s, expired=expired)


_ARMS = tuple(arm.value for arm in ShuntElementLocation if arm is not ShuntElementLocation.NONE)


class Sensors(msgspec.Struct):
    """The sensors behind physical channels; without an entry: wires without loss, and no TEDS.

    Attributes:
        wires: share of a bridge's output that arrives at the device, by physical channel.
        teds: by physical channel.
    """

    wires: dict[str, float] = {}
    teds: dict[str, Teds] = {}

    def perform_shunt(self, task: Task, request: Any) -> None:
        """Set the gains of a task's channels so that the shunt reads as it should. Raises DaqmxError."""
        names = [channel.name for channel in task.channels]
        if request.channel and request.channel not in names:
            raise DaqmxError(-200170, f"Channel is not in the task. Channel: {request.channel}")
        for channel in task.channels:
            if request.channel not in ("", channel.name):
                continue
            if not channel.bridge:
                raise DaqmxError(-209810, f"Channel does not support shunt calibration. Channel: {channel.name}")
            if request.shunt_resistor_location_raw not in _ARMS or request.shunt_resistor_value <= 0:
                raise DaqmxError(-209810, "Invalid shunt calibration configuration.")
            task.gains = {**task.gains, channel.name: 1.0 / self.wires.get(channel.physical, 1.0)}

    def calls(self) -> Mapping[str, Callable[[Any], dict[str, Any]]]:
        """Returns the calls of the device server about physical channels, by name."""

        def configure(request: Any) -> dict[str, Any]:
            self._of(request)
            return {}

        return {
            "ConfigureTEDS": configure,
            "GetPhysicalChanAttributeUInt32": lambda r: {"value": self._number(r)},
            "GetPhysicalChanAttributeString": lambda r: {"value": self._of(r).version[:1]},
        }

    def _number(self, request: Any) -> int:
        teds = self._of(request)
        numbers = {0x21DA: teds.manufacturer, 0x21DB: teds.model, 0x21DC: teds.serial}
        return numbers.get(request.attribute_raw, int(teds.version[1:] or 0))

    def _of(self, request: Any) -> Teds:
        if request.physical_channel not in self.teds:
            raise DaqmxError(-200709, f"TEDS sensor was not detected. Channel: {request.physical_channel}")
        return self.teds[request.physical_channel]
