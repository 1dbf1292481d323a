"""Incremental encoders on counters of NI-DAQmx: a draw-wire encoder as a distance, and angles of joints."""

from __future__ import annotations

import math
from collections import deque
from contextlib import suppress
from typing import Any, NamedTuple

from drivers.driver_type import InstrumentSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError, Health, LinkLostError
from drivers.messages import Reading
from drivers.ni.section import EDGES, NiJointsSection, NiMotionSection
from drivers.ni.session import NiSession

# How long a counter may take to answer [s].
TIMEOUT_S = 0.05
REST_NS = 4_000_000
# Counts after which a counter begins anew.
COUNTS = 2**32
# Readings by which their rate is counted.
_COUNTED = 51


class _Counter(NamedTuple):
    """A counter of the config.

    Attributes:
        name: of what it measures.
        physical: NI's name of it.
        per_count: what a count is [m or rad].
        pulses: of a turn of an angle; 0: a distance.
        initial: what it measures when it is opened [m or rad].
    """

    name: str
    physical: str
    per_count: float
    pulses: int
    initial: float


def _counters(section: NiMotionSection | NiJointsSection, channels: tuple[str, ...]) -> list[_Counter]:
    """Returns those of a section, in the order of the channels of a reading."""
    edges = EDGES[section.decoding]
    if isinstance(section, NiMotionSection):
        return [_Counter(channels[0], section.counter, section.m_per_pulse / edges, 0, section.initial_m)]
    by_joint = {one.joint: one for one in section.encoders}
    return [
        _Counter(
            name,
            by_joint[name].counter,
            math.tau / (by_joint[name].pulses_per_turn * edges),
            by_joint[name].pulses_per_turn,
            math.radians(by_joint[name].initial_deg),
        )
        for name in channels
    ]


class NiCounters:
    """An `InstrumentDevice`: each period all counters are read one after the other, which is a reading.

    The time of a reading is the middle between the first request and the last answer. A counter that begins anew after
    2^32 counts is followed. It counts from where it was opened: after a failure nobody knows how far it has moved
    since, so it is not opened again.

    Args:
        section: of the config.
        setup: of the rig.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.
    """

    def __init__(
        self,
        section: NiMotionSection | NiJointsSection,
        setup: InstrumentSetup,
        host: Host = COMPUTER,
        alive: Alive = lambda: None,
    ) -> None:
        self._section, self._host, self._alive = section, host, alive
        self._counters = _counters(section, setup.channels)
        self._session = NiSession(f"counters of {section.role}", section.server, alive, host)
        self._period_ns = round(1e9 / setup.rate_hz)
        self._tasks: list[Any] = []
        self._readers: list[Any] = []
        self._turned = [0] * len(self._counters)  # counts that a counter has lost by beginning anew
        self._newest = [0] * len(self._counters)  # counts since it was opened, as read
        self._reading: Reading | None = None
        self._sequence = self._due_ns = self._errors = 0
        self._taken_ns: deque[int] = deque(maxlen=_COUNTED)
        self._detail, self._lost = "not opened yet", ""

    def open(self) -> None:
        """Reserve the counters; from now on they count. Raises DeviceError."""
        self.close()
        if self._lost:
            raise DeviceError(
                f"{self._session.where}: it failed ({self._lost}), and what it has counted is lost; bring the rover to "
                "its start place, and start this program again"
            )
        try:
            self._session.open()
            self._find()
            with self._session.translated_errors("setting up the counters"):
                for counter in self._counters:
                    self._set_up(counter)
        except DeviceError:
            self._errors += 1
            self.close()
            raise
        self._turned[:] = self._newest[:] = [0] * len(self._counters)
        self._reading, self._due_ns = None, self._host.now_ns()
        self._taken_ns.clear()
        self._session.deadline_s = TIMEOUT_S

    def close(self) -> None:
        """Release the counters; never raises."""
        for task in self._tasks:
            with suppress(Exception):  # the link may be lost, and nidaqmx passes on any exception of gRPC
                task.close()
        self._tasks.clear()
        self._readers.clear()
        self._session.close()

    def health(self) -> Health:
        """Returns the state of the link; the rate is that of readings."""
        spans = len(self._taken_ns) - 1
        rate_hz = spans * 1e9 / max(self._taken_ns[-1] - self._taken_ns[0], 1) if spans > 0 else math.nan
        age_ms = (self._host.now_ns() - self._taken_ns[-1]) * 1e-6 if self._taken_ns else math.nan
        opened = bool(self._readers)
        return Health(self._session.device, opened, self._errors, self._detail, rate_hz=rate_hz, age_ms=age_ms)

    def step(self) -> None:
        """Read all counters if a reading is due, else rest until then. Raises DeviceError."""
        if not self._readers:
            raise LinkLostError(f"{self._session.where}: not open")
        began_ns = self._host.now_ns()
        if (left_ns := self._due_ns - began_ns) > 0:
            self._host.rest(min(left_ns, REST_NS) * 1e-9)
            return
        self._due_ns = max(self._due_ns + self._period_ns, began_ns)
        try:
            values = tuple([self._read(place) for place in range(len(self._readers))])
        except DeviceError as error:
            self._errors, self._lost = self._errors + 1, str(error)
            self.close()
            raise
        now_ns = self._host.now_ns()
        self._sequence += 1
        self._taken_ns.append(now_ns)
        self._reading = Reading(self._sequence, (began_ns + now_ns) // 2, values, now_ns)

    def read(self, t_ns: int) -> Reading | None:  # noqa: ARG002
        """The newest reading not yet read, or None."""
        reading, self._reading = self._reading, None
        return reading

    def _read(self, place: int) -> float:
        """Returns what a counter measures [m or rad]. Raises DeviceError."""
        counter = self._counters[place]
        with self._session.translated_errors(f"reading {counter.physical} ({counter.name})"):
            value = self._readers[place].read_one_sample_double(timeout=TIMEOUT_S)
        self._alive()
        counts = round((value - counter.initial) / counter.per_count)
        if abs(counts - self._newest[place]) > COUNTS // 2:
            self._turned[place] += COUNTS if counts < self._newest[place] else -COUNTS
        self._newest[place] = counts
        return float(counter.initial + (counts + self._turned[place]) * counter.per_count)

    def _find(self) -> None:
        """Check that all counters exist. Raises DeviceError."""
        devices = self._session.devices()
        there = {name: device for device in devices for name in device.ci}
        missing = [f"{one.physical!r} ({one.name})" for one in self._counters if one.physical not in there]
        if missing:
            found = ", ".join(there) or "no counters at all"
            raise DeviceError(f"{self._session.where}: there is no counter {', '.join(missing)}; found: {found}")
        used = dict.fromkeys(there[one.physical] for one in self._counters)
        products = ", ".join(f"{device.name} {device.product} no. {device.serial}" for device in used)
        self._detail = f"{products}; {len(self._counters)} counters, {self._section.decoding}"

    def _set_up(self, counter: _Counter) -> None:
        from nidaqmx.constants import AngleUnits, EncoderType, LengthUnits
        from nidaqmx.stream_readers import CounterReader

        task = self._session.task(f"rover_hil_{self._section.role}_{counter.name}")
        self._tasks.append(task)
        decoding = EncoderType[f"X_{self._section.decoding[1]}"]
        if counter.pulses:
            task.ci_channels.add_ci_ang_encoder_chan(
                counter.physical,
                decoding_type=decoding,
                units=AngleUnits.RADIANS,
                pulses_per_rev=counter.pulses,
                initial_angle=counter.initial,
            )
        else:
            task.ci_channels.add_ci_lin_encoder_chan(
                counter.physical,
                decoding_type=decoding,
                units=LengthUnits.METERS,
                dist_per_pulse=counter.per_count * EDGES[self._section.decoding],
                initial_pos=counter.initial,
            )
        reader = CounterReader(task.in_stream)
        reader.verify_array_shape = False
        task.start()
        self._readers.append(reader)
