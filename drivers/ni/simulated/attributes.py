"""Attributes of tasks, channels and clocks that the simulated server knows, as the nidaqmx package asks for them.

Each is under the call that reads it and the number in its request, with the name that nidaqmx gives it.

Calls of a device server that read and write samples: analog and digital, one or many, of one channel or several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from nidaqmx.constants import (
    AcquisitionType,
    ChannelType,
    Edge,
    FillMode,
    OverwriteMode,
    ReadRelativeTo,
    RegenerationMode,
    SampleTimingType,
    WriteRelativeTo,
)
from nidaqmx.utils import unflatten_channel_string

from drivers.host import Host
from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.parts import DaqmxError, ServerFault, Task, VirtualChannel, line_number

_TYPES = {
    "ai": ChannelType.ANALOG_INPUT,
    "ao": ChannelType.ANALOG_OUTPUT,
    "di": ChannelType.DIGITAL_INPUT,
    "do": ChannelType.DIGITAL_OUTPUT,
    "ci": ChannelType.COUNTER_INPUT,
}
_DIFFERENTIAL = 10106
_VOLTS = 10348


class AttributeTarget(NamedTuple):
    """What an attribute is asked of; `channel` is the first that is named, or the task's first."""

    chassis: Chassis
    task: Task
    channel: VirtualChannel | None

    @property
    def one(self) -> VirtualChannel:
        """The channel. Raises DaqmxError: the task has none."""
        if self.channel is None:
            raise DaqmxError(-200478, "Specified operation cannot be performed when there are no channels in the task.")
        return self.channel


class Attribute(NamedTuple):
    """Name in nidaqmx, and how its value is found."""

    name: str
    value: Callable[[AttributeTarget], Any]


def _names(asked: AttributeTarget) -> str:
    return ", ".join(channel.name for channel in asked.task.channels)


def _lines(asked: AttributeTarget) -> int:
    return max((len(channel.lines) for channel in asked.task.channels), default=0)


def _devices(asked: AttributeTarget) -> list[str]:
    return sorted({channel.physical.partition("/")[0] for channel in asked.task.channels})


def _mode(asked: AttributeTarget) -> int:
    value: int = (AcquisitionType.CONTINUOUS if asked.task.continuous else AcquisitionType.FINITE).value
    return value


def _default_count(asked: AttributeTarget) -> int:
    """How many samples a read of all gets: of a finite task its samples, else those that wait; on demand one."""
    task = asked.task
    if not task.timed:
        return 1
    return asked.chassis.available(task) if task.continuous else task.buffer


# By the call; then by the number.
ATTRIBUTES: Mapping[str, Mapping[int, Attribute]] = {
    "GetTaskAttributeString": {
        0x1276: Attribute("name", lambda a: a.task.name),
        0x1273: Attribute("channel_names", _names),
        0x230E: Attribute("devices", lambda a: ", ".join(_devices(a))),
    },
    "GetTaskAttributeUInt32": {
        0x2181: Attribute("number_of_channels", lambda a: len(a.task.channels)),
        0x29BA: Attribute("number_of_devices", lambda a: len(_devices(a))),
    },
    "GetChanAttributeInt32": {
        0x187F: Attribute("chan_type", lambda a: _TYPES[a.task.kind].value),
        0x0695: Attribute("ai_meas_type", lambda a: a.one.measures),
        0x1108: Attribute("ao_output_type", lambda a: a.one.measures),
        0x1097: Attribute("ai_term_cfg", lambda _: _DIFFERENTIAL),
        0x1094: Attribute("ai_voltage_units", lambda _: _VOLTS),
        0x1184: Attribute("ao_voltage_units", lambda _: _VOLTS),
    },
    "GetChanAttributeUInt32": {
        0x2178: Attribute("di_num_lines", lambda a: len(a.one.lines)),
        0x2179: Attribute("do_num_lines", lambda a: len(a.one.lines)),
    },
    "GetChanAttributeDouble": {
        0x17DD: Attribute("ai_max", lambda a: a.one.limits[1]),
        0x17DE: Attribute("ai_min", lambda a: a.one.limits[0]),
        0x1186: Attribute("ao_max", lambda a: a.one.limits[1]),
        0x1187: Attribute("ao_min", lambda a: a.one.limits[0]),
        0x193F: Attribute("ai_bridge_shunt_cal_gain_adjust", lambda a: a.task.gains.get(a.one.name, 1.0)),
        0x2FED: Attribute("ai_filter_delay", lambda a: a.chassis.filter_delay_s),
    },
    "GetChanAttributeString": {
        0x18F5: Attribute("physical_channel", lambda a: a.one.physical),
        0x1926: Attribute("description", lambda _: ""),
    },
    "GetChanAttributeBool": {0x2304: Attribute("is_global", lambda _: False)},
    "GetReadAttributeUInt32": {
        0x217B: Attribute("num_chans", lambda a: len(a.task.channels)),
        0x217C: Attribute("di_num_booleans_per_chan", _lines),
        0x1223: Attribute("avail_samp_per_chan", lambda a: a.chassis.available(a.task)),
        0x31E8: Attribute("number of samples that read(READ_ALL_AVAILABLE) gets", _default_count),
    },
    "GetReadAttributeUInt64": {
        0x1221: Attribute("curr_read_pos", lambda a: a.task.position),
        0x192A: Attribute("total_samp_per_chan_acquired", lambda a: a.chassis.acquired(a.task)),
    },
    "GetReadAttributeBool": {
        0x2174: Attribute("overloaded_chans_exist", lambda a: a.chassis.overload_exists(a.task)),
        0x1215: Attribute("read_all_avail_samp", lambda _: False),
        0x1826: Attribute("auto_start", lambda _: True),
    },
    "GetReadAttributeString": {
        0x1823: Attribute("channels_to_read", _names),
        0x2175: Attribute("overloaded_chans", lambda a: ", ".join(a.chassis.overloaded)),
    },
    "GetReadAttributeInt32": {
        0x190A: Attribute("relative_to", lambda _: ReadRelativeTo.CURRENT_READ_POSITION.value),
        0x190B: Attribute("offset", lambda _: 0),
        0x1211: Attribute("overwrite", lambda _: OverwriteMode.DO_NOT_OVERWRITE_UNREAD_SAMPLES.value),
    },
    "GetWriteAttributeUInt32": {
        0x217E: Attribute("num_chans", lambda a: len(a.task.channels)),
        0x217F: Attribute("do_num_booleans_per_chan", _lines),
    },
    "GetWriteAttributeUInt64": {
        0x192B: Attribute("total_samp_per_chan_generated", lambda a: a.chassis.generated(a.task)),
        0x1458: Attribute("curr_write_pos", lambda a: 0 if a.task.wave is None else a.task.wave.shape[1]),
    },
    "GetWriteAttributeInt32": {
        0x190C: Attribute("relative_to", lambda _: WriteRelativeTo.CURRENT_WRITE_POSITION.value),
        0x1453: Attribute("regen_mode", lambda _: RegenerationMode.ALLOW_REGENERATION.value),
    },
    "GetBufferAttributeUInt32": {
        0x186C: Attribute("input_buf_size", lambda a: a.task.buffer),
        0x186D: Attribute("output_buf_size", lambda a: a.task.buffer),
    },
    "GetTimingAttributeDouble": {
        0x1344: Attribute("samp_clk_rate", lambda a: a.chassis.rate_hz(a.task)),
        0x22C8: Attribute("samp_clk_max_rate", lambda a: a.chassis.max_rate_hz),
    },
    "GetTimingAttributeInt32": {
        0x1300: Attribute("samp_quant_samp_mode", _mode),
        0x1301: Attribute("samp_clk_active_edge", lambda _: Edge.RISING.value),
        0x1347: Attribute(
            "samp_timing_type",
            lambda a: (SampleTimingType.SAMPLE_CLOCK if a.task.timed else SampleTimingType.ON_DEMAND).value,
        ),
    },
    "GetTimingAttributeUInt64": {0x1310: Attribute("samp_quant_samp_per_chan", lambda a: a.task.buffer)},
    "GetTimingAttributeString": {
        0x1852: Attribute("samp_clk_src", lambda a: f"/{a.task.module}/{a.task.kind}/SampleClockTimebase"),
        0x2F1B: Attribute("samp_clk_term", lambda a: f"/{a.task.module}/{a.task.kind}/SampleClock"),
    },
}


def value_of(call: str, number: int, chassis: Chassis, task: Task, named: str = "") -> Any:
    """Returns the value of an attribute.

    Args:
        call: of the server, a key of ATTRIBUTES.
        number: of the attribute.
        chassis: of the server.
        task: that is asked.
        named: channels, where it is one of a channel; the first counts.

    Raises:
        DaqmxError: it has no such attribute, or no such channel.
    """
    attribute = ATTRIBUTES[call].get(number)
    if attribute is None:
        raise DaqmxError(-200197, f"Attribute 0x{number:X} is not supported by the simulated device ({call}).")
    channel = task.channels[0] if task.channels else None
    if named:
        first = unflatten_channel_string(named)[0]
        channel = next((one for one in task.channels if first in (one.name, *one.lines)), None)
        if channel is None:
            raise DaqmxError(-200087, f"Specified channel is not in the task. Channel: {first}")
    return attribute.value(AttributeTarget(chassis, task, channel))


_TIMED_OUT = -200284

Fields = dict[str, Any]
Call = Callable[[Any], Fields]


def transfers(
    chassis: Chassis, host: Host, task: Callable[[Any], Task], misbehaviour: Callable[[], ServerFault | None]
) -> Mapping[str, Call]:
    """Returns what each of these calls does.

    Args:
        chassis: that is read and written.
        host: whose clock is used.
        task: of a request.
        misbehaviour: the fault of the next read of analog samples.
    """

    def read(request: Any, count: int) -> npt.NDArray[np.float64]:
        how = misbehaviour()
        if how is not None and how.kind == "error":
            raise DaqmxError(how.code, "Injected fault.", 0)
        values = chassis.read(task(request), count, request.timeout)
        if how is not None:
            host.sleep(how.ms * 1e-3)
        return values

    def read_counter(request: Any) -> float:
        if (how := misbehaviour()) is not None:
            if how.kind == "error":
                raise DaqmxError(how.code, "Injected fault.", 0)
            host.sleep(how.ms * 1e-3)
        return chassis.counters.value(task(request), host.now_ns())

    def read_analog(request: Any) -> Fields:
        try:
            values = read(request, request.num_samps_per_chan)
        except DaqmxError as error:
            if error.code == _TIMED_OUT:
                return {"status": error.code, "samps_per_chan_read": 0}
            raise
        ordered = values if request.fill_mode_raw == FillMode.GROUP_BY_CHANNEL.value else values.T
        return {"read_array": ordered.ravel().tolist(), "samps_per_chan_read": values.shape[1]}

    def read_lines(request: Any) -> Fields:
        """Each channel has as many bytes as that with the most lines."""
        states, count = chassis.read_lines(task(request)), max(request.num_samps_per_chan, 1)
        most = max(map(len, states))
        each = [bytes(lines).ljust(most, b"\0") for lines in states]
        if request.fill_mode_raw == FillMode.GROUP_BY_CHANNEL.value:
            data = b"".join(one * count for one in each)
        else:
            data = b"".join(each) * count
        return {"read_array": data, "samps_per_chan_read": count, "num_bytes_per_samp": most}

    def read_ports(request: Any) -> list[int]:
        """Of each channel a number with a bit for each line of its port."""
        asked = task(request)
        return [
            sum(on << line_number(line) for line, on in zip(channel.lines, lines, strict=True))
            for channel, lines in zip(asked.channels, chassis.read_lines(asked), strict=True)
        ]

    def read_u32(request: Any) -> Fields:
        values, count = read_ports(request), max(request.num_samps_per_chan, 1)
        repeated = np.repeat(np.array(values, dtype=np.uint32)[:, None], count, axis=1)
        ordered = repeated if request.fill_mode_raw == FillMode.GROUP_BY_CHANNEL.value else repeated.T
        return {"read_array": ordered.ravel().tolist(), "samps_per_chan_read": count}

    return {
        "ReadAnalogF64": read_analog,
        "ReadCounterScalarF64": lambda r: {"value": read_counter(r)},
        "ReadAnalogScalarF64": lambda r: {"value": float(read(r, 1)[0, 0])},
        "ReadDigitalLines": read_lines,
        "ReadDigitalU32": read_u32,
        "ReadDigitalScalarU32": lambda r: {"value": read_ports(r)[0]},
        **_writes(chassis, task),
    }


def _writes(chassis: Chassis, task: Callable[[Any], Task]) -> Mapping[str, Call]:
    """Returns what the calls that write do."""

    def write(request: Any, values: Sequence[float], count: int) -> Fields:
        asked = task(request)
        if not asked.channels or len(values) != count * len(asked.channels):
            raise DaqmxError(-200524, "Write failed: number of samples and of channels do not agree.")
        shape = (len(asked.channels), count)
        by_channel = np.array(values, dtype=float).reshape(shape)
        if count > 1 and request.data_layout_raw == FillMode.GROUP_BY_SCAN_NUMBER.value:
            by_channel = np.array(values, dtype=float).reshape(shape[::-1]).T
        chassis.write(asked, by_channel, start=request.auto_start)
        return {"samps_per_chan_written": count}

    def write_lines(request: Any) -> Fields:
        """One byte a line; of several samples the last one stays."""
        asked = task(request)
        lines = [len(channel.lines) for channel in asked.channels]
        most, count = max(lines, default=1), request.num_samps_per_chan
        if len(request.write_array) != len(lines) * count * most:
            raise DaqmxError(-200524, "Write failed: number of samples and of channels do not agree.")
        grouped = np.frombuffer(request.write_array, dtype=np.uint8)
        if request.data_layout_raw == FillMode.GROUP_BY_CHANNEL.value:
            newest = grouped.reshape(len(lines), count, most)[:, -1]
        else:
            newest = grouped.reshape(count, len(lines), most)[-1]
        values = [
            sum(int(bool(level)) << line_number(line) for line, level in zip(channel.lines, row, strict=False))
            if channel.more
            else int(row[0])
            for channel, row in zip(asked.channels, newest, strict=True)
        ]
        chassis.write(asked, np.array(values, dtype=float)[:, None], start=request.auto_start)
        return {"samps_per_chan_written": count}

    def write_u32(request: Any, values: Sequence[int], count: int) -> Fields:
        """A channel of one line takes its bit of the number, as one of several."""
        lines = [channel.lines for channel in task(request).channels]
        single = [line_number(each[0]) if len(each) == 1 else 0 for each in lines]
        shifts = np.repeat(single, count) if len(single) * count == len(values) else np.zeros(len(values), dtype=int)
        return write(request, [value >> int(shift) for value, shift in zip(values, shifts, strict=True)], count)

    def scalar(call: Callable[[Any, list[Any], int], Fields]) -> Call:
        def fields(request: Any) -> Fields:
            call(request, [request.value], 1)
            return {}

        return fields

    return {
        "WriteAnalogF64": lambda r: write(r, r.write_array, r.num_samps_per_chan),
        "WriteAnalogScalarF64": scalar(write),
        "WriteDigitalLines": write_lines,
        "WriteDigitalU32": lambda r: write_u32(r, list(r.write_array), r.num_samps_per_chan),
        "WriteDigitalScalarU32": scalar(write_u32),
    }
