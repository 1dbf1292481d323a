"""Calls of a device server that read and write samples: analog and digital, one or many, of one channel or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from nidaqmx.constants import FillMode

from drivers.host import Host
from drivers.ni.simulated.chassis import Chassis
from drivers.ni.simulated.parts import DaqmxError, ServerFault, Task, line_number

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
