"""Counters of a simulated chassis, with an incremental encoder at each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from drivers.ni.simulated.parts import DaqmxError, Task, VirtualChannel
from drivers.sim.protocol.plant_ports import Instrument

_HALF = 2**31  # a counter has 32 bits


class Encoder(NamedTuple):
    """An encoder: the instrument that it is part of, and its place among the channels."""

    instrument: Instrument
    place: int


class Counters:
    """The counters of a chassis.

    A counter has what its encoder measures, in whole counts since its task was started; it begins anew after 2^32.

    Args:
        encoders: by the counter's physical channel.

    Attributes:
        cable: a kind of fault of `ServerFault`.
        ahead: counts that each has beyond what its encoder gives, as after a long run.
    """

    def __init__(self, encoders: Mapping[str, Encoder]) -> None:
        self._encoders = encoders
        self._held: dict[str, int] = {}  # counts while the cable was whole
        self.cable, self.ahead = "cable_whole", 0

    def counts(self, channel: VirtualChannel, now_ns: int) -> int:
        """Returns what an encoder gives at a time, in counts of a channel."""
        instrument, place = self._encoders[channel.physical]
        seen = [values[place] for _, t_ns, values in instrument.since(0) if t_ns <= now_ns]
        measured = [value for value in seen if math.isfinite(value)]
        before = self._held.get(channel.physical, 0)
        if self.cable == "cable_open" or not measured:
            return before
        counts = round(measured[-1] / channel.per_volt)
        self._held[channel.physical] = counts
        return -counts if self.cable == "cable_crossed" else counts

    def value(self, task: Task, now_ns: int) -> float:
        """Returns what a task reads. Raises DaqmxError: it does not run."""
        if not task.running:
            raise DaqmxError(-200088, "Task specified is invalid or does not exist.")
        channel = task.channels[0]
        counts = (self.counts(channel, now_ns) - task.first + self.ahead + _HALF) % (2 * _HALF) - _HALF
        return channel.limits[0] + counts * channel.per_volt
