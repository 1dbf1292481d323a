"""Data acquisition by NI-DAQmx: continuous, hardware-timed blocks of force channels, and the E-stop's read-back."""

from __future__ import annotations

import math
from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from drivers.device_clock import DeviceClock
from drivers.driver_type import LoadSetup, RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.interfaces import DeviceError, Health, IoDevice, LinkLostError, SamplesLostError
from drivers.messages import DaqBlock
from drivers.ni.channels import add_channel, filter_delay_ns, task_of, to_volts
from drivers.ni.section import NiDaqSection, NiLoadsSection
from drivers.ni.session import NiSession

# The returned times may run so much faster or slower than the estimated rate, to correct an error.
SLEW = 1e-3


class SampleClock:
    """Maps sample counts to the time of the run; the ticks of the device's clock are its samples (`DeviceClock`).

    The returned times follow the clock's line without a jump.

    Args:
        rate_hz: nominal samples a second and channel.
        delay_ns: from a sample to its arrival in the count, such as a filter's; subtracted from the times.
    """

    def __init__(self, rate_hz: float, delay_ns: int = 0) -> None:
        self._clock, self._delay_ns = DeviceClock(rate_hz), delay_ns
        self._count = 0  # samples arrived
        self._stamped: int | None = None  # samples with a time already, and the time of the last [ns since base]
        self._last_ns = 0.0

    @property
    def rate_hz(self) -> float:
        """Samples a second of the run."""
        return 1e9 / (self._clock.tick_ns + self._clock.skew)

    @property
    def offset_ns(self) -> int:
        """Time of the run at sample 0, by the present line [ns]."""
        return self._clock.base_ns + round(self._clock.since_base_ns(1)) - self._delay_ns

    def observe(self, count: int, arrived_ns: int) -> None:
        """Record that so many more samples of each channel had arrived at a time of the run [ns]."""
        self._count += count
        self._clock.observe(self._count, arrived_ns)

    def due_ns(self, count: int) -> int:
        """Earliest time at which so many more samples can have arrived [ns]."""
        return self._clock.base_ns + round(self._clock.since_base_ns(self._count + count))

    def stamp(self, count: int) -> npt.NDArray[np.int64]:
        """Returns the times of the next `count` samples [ns]; shape (count,), strictly increasing."""
        if self._stamped is None:
            self._stamped = self._count - count
            self._last_ns = self._clock.since_base_ns(self._stamped)
        period = self._clock.tick_ns + self._clock.skew
        wanted = (self._clock.since_base_ns(self._stamped + count) - self._last_ns) / count
        step = min(max(wanted, period * (1 - SLEW)), period * (1 + SLEW))
        times = self._last_ns + step * np.arange(1, count + 1)
        self._stamped += count
        self._last_ns = float(times[-1])
        return np.asarray(np.rint(times), np.int64) + (self._clock.base_ns - self._delay_ns)


# A channel counts as overloaded from this share of its range on.
OVERLOAD = 0.99
# Each costs a request to the device server: period of reading the E-stop line and the devices' overload flags [s].
E_STOP_S = 0.01
FLAGS_S = 0.02
# The first blocks are discarded for so long: the least late of them give the sample clock's offset [s].
SETTLE_S = 0.1
# When behind, so many blocks are read at once: the cost of a read hardly depends on its size.
TOGETHER = 16
# Samples that are not read within so long are lost [s]; how long a block may be overdue [s].
BUFFER_S, TIMEOUT_S = 1.0, 0.05
E_STOP_TASK = "rover_hil_e_stop"  # its name at a device server


class NiDaq:
    """Blocks of volts at the sensors.

    NI-DAQmx scales a force channel, and the driver scales it back, so that a block holds volts of the sensor for every
    kind of channel: of a bridge those at its output, of a charge sensor those of an amplifier of 1 mV/pC.

    Args:
        section: of the config.
        rig: with the force sensors, or its load channels.
        host: whose clock and ports are used.
        alive: called while waiting, every few ms.

    Attributes:
        clock: sample clock of the task, with offset and rate for the record; None before the first opening.
        filter_delay_ns: delay of the converters' filters [ns], subtracted from the sample times; the largest of all
            channels.
    """

    def __init__(
        self,
        section: NiDaqSection | NiLoadsSection,
        rig: RigSetup | LoadSetup,
        host: Host = COMPUTER,
        alive: Alive = lambda: None,
    ) -> None:
        self._task = task = task_of(section, rig)
        self._server, self._host, self._alive = section.server, host, alive
        self._session = NiSession(task.device, section.server, alive, host)
        self._tasks: list[Any] = []  # the sampling one first
        self._reader: Any = None
        self._line: Any = None  # reader of the E-stop's line
        self._data = np.zeros(len(task.channels) * task.block_samples * TOGETHER)
        self._to_volts = np.ones(len(task.channels))
        self._limit_V = OVERLOAD * np.array([channel.range_V for channel in task.channels])
        self._none_over = (False,) * len(task.channels)
        self._blocks: deque[DaqBlock] = deque()
        self._sequence = self._errors = 0
        self._arrived_ns = 0
        self._line_due_ns = self._flags_due_ns = 0
        self._flags = False  # whether the device reports overloads
        self._flagged: frozenset[str] = frozenset()
        self._e_stop = False
        self._detail = "not opened yet"
        self.clock: SampleClock | None = None
        self.filter_delay_ns = 0

    def open(self) -> None:
        """Reserve the channels and start sampling. Raises DeviceError."""
        self.close()
        self._to_volts[:] = [to_volts(channel, self._task) for channel in self._task.channels]
        try:
            self._session.open()
            self._find(self._session.devices())
            with self._session.translated_errors("setting up the channels"):
                self._set_up()
            self._settle()
        except DeviceError:
            self._errors += 1
            self.close()
            raise

    def close(self) -> None:
        """Stop sampling and release the channels; never raises."""
        for task in self._tasks:
            with suppress(Exception):  # the link may be lost, and nidaqmx passes on any exception of gRPC
                task.close()
        self._tasks.clear()
        self._blocks.clear()
        self._reader = self._line = None
        self._session.close()

    def health(self) -> Health:
        """Returns the state of the link; the rate is the sample clock's, measured by the time of the run."""
        rate_hz = math.nan if self.clock is None else self.clock.rate_hz
        age_ms = (self._host.now_ns() - self._arrived_ns) * 1e-6 if self._sequence else math.nan
        return Health(
            self._task.device,
            self._reader is not None,
            self._errors,
            self._detail,
            rate_hz=rate_hz,
            age_ms=age_ms,
            e_stop=self._e_stop,
        )

    def step(self) -> None:
        """Read the E-stop or the overload flags if due, else a block, or more if behind. Raises DeviceError."""
        if self._reader is None or self.clock is None:
            raise LinkLostError(f"{self._session.where}: not open")
        now_ns = self._host.now_ns()
        try:
            if self._line is not None and now_ns >= self._line_due_ns:
                self._line_due_ns = now_ns + round(E_STOP_S * 1e9)
                self._ask_e_stop()
            elif self._flags and self._server and now_ns >= self._flags_due_ns:
                self._flags_due_ns = now_ns + round(FLAGS_S * 1e9)
                self._ask_flags()
            else:
                self._take_block(self.clock)
        except DeviceError:
            self._errors += 1
            self.close()
            raise

    def read(self, t_ns: int) -> DaqBlock | None:  # noqa: ARG002
        """The oldest block not yet read, or None."""
        return self._blocks.popleft() if self._blocks else None

    def _find(self, devices: tuple[IoDevice, ...]) -> None:
        """Check that all configured channels exist."""
        inputs = {name: device for device in devices for name in device.ai}
        lines = {name: device for device in devices for name in device.di}
        missing = [
            f"{channel.physical!r} (sensor {channel.name})"
            for channel in self._task.channels
            if channel.physical not in inputs
        ]
        wrong = []
        if missing:
            found = ", ".join(inputs) or "no analog inputs at all"
            wrong.append(f"there is no channel {', '.join(missing)}; found: {found}")
        if self._task.e_stop and self._task.e_stop not in lines:
            found = ", ".join(lines) or "no digital inputs at all"
            wrong.append(f"there is no digital input {self._task.e_stop!r} for the E-stop; found: {found}")
        if wrong:
            raise DeviceError(f"{self._session.where}: {'; '.join(wrong)}")
        used = dict.fromkeys(inputs[channel.physical] for channel in self._task.channels)
        self._detail = ", ".join(f"{device.name} {device.product} no. {device.serial}" for device in used)

    def _set_up(self) -> None:
        from nidaqmx.constants import AcquisitionType
        from nidaqmx.errors import Error
        from nidaqmx.stream_readers import AnalogMultiChannelReader, DigitalSingleChannelReader

        wanted = self._task
        task = self._session.task(wanted.name, self._is_read_by_another)
        self._tasks.append(task)
        inputs = [add_channel(task.ai_channels, channel, wanted) for channel in wanted.channels]
        buffer = max(round(BUFFER_S * wanted.rate_hz), 4 * wanted.block_samples)
        task.timing.cfg_samp_clk_timing(wanted.rate_hz, sample_mode=AcquisitionType.CONTINUOUS, samps_per_chan=buffer)
        task.in_stream.input_buf_size = buffer
        rate_hz = task.timing.samp_clk_rate
        if abs(rate_hz - wanted.rate_hz) > 1e-6 * wanted.rate_hz:
            raise DeviceError(
                f"{self._session.where}: requested {wanted.rate_hz:g} Hz, the device samples at {rate_hz:g} Hz; "
                f"set {wanted.section.role}.rate_hz to a rate that the module supports"
            )
        self.filter_delay_ns = filter_delay_ns(inputs)
        self._reader = AnalogMultiChannelReader(task.in_stream)
        self._reader.verify_array_shape = False
        if wanted.e_stop:
            line = self._session.task(E_STOP_TASK)
            self._tasks.append(line)
            line.di_channels.add_di_chan(wanted.e_stop)
            line.start()
            self._line = DigitalSingleChannelReader(line.in_stream)
            self._line.verify_array_shape = False
        task.start()
        self._flags = False
        with suppress(Error):  # not every device supports the query
            self._flags = isinstance(task.in_stream.overloaded_chans_exist, bool)
        self._detail += f"; filter delay {self.filter_delay_ns * 1e-6:.3f} ms; overloads detected by " + (
            "the device" if self._flags else f"{OVERLOAD:.0%} of range only"
        )

    def _settle(self) -> None:
        """Discard the first blocks and learn the sample clock's offset from them."""
        self._sequence = 0
        self._flagged = frozenset()
        self.clock = SampleClock(self._task.rate_hz, self.filter_delay_ns)
        if self._line is not None:
            self._ask_e_stop()
        for _ in range(math.ceil(SETTLE_S * self._task.rate_hz / self._task.block_samples)):
            self._wait_for(self._task.block_samples)
            self.clock.observe(self._task.block_samples, self._arrived_ns)
            self._alive()
        self._session.deadline_s = 2 * self._block_timeout_s

    def _take_block(self, clock: SampleClock) -> None:
        wanted = self._task
        block_ns = round(wanted.block_samples * 1e9 / wanted.rate_hz)
        late = (self._host.now_ns() - clock.due_ns(wanted.block_samples)) // block_ns
        together = min(1 + max(late, 0), TOGETHER)
        data = self._wait_for(together * wanted.block_samples)
        clock.observe(data.shape[1], self._arrived_ns)
        if self._flags and not self._server:
            self._ask_flags()
        volts = np.multiply(data.T, self._to_volts, order="C")
        times_ns = clock.stamp(len(volts))
        for first in range(0, len(volts), wanted.block_samples):
            rows = slice(first, first + wanted.block_samples)
            self._hand_out(times_ns[rows], volts[rows])
        self._flagged = frozenset()
        if len(self._blocks) * wanted.block_samples > BUFFER_S * wanted.rate_hz:
            raise SamplesLostError(f"{self._session.where}: {len(self._blocks)} unread blocks")

    def _hand_out(self, times_ns: npt.NDArray[np.int64], volts: npt.NDArray[np.float64]) -> None:
        reached, over = np.abs(volts) >= self._limit_V, self._none_over
        if self._flagged or np.count_nonzero(reached):
            over = tuple(
                bool(channel.any()) or sampled.name in self._flagged
                for channel, sampled in zip(reached.T, self._task.channels, strict=True)
            )
        self._sequence += 1
        self._blocks.append(DaqBlock(self._sequence, times_ns, volts, over, self._arrived_ns))

    def _wait_for(self, samples: int) -> npt.NDArray[np.float64]:
        """The next samples in the channels' units, (channels, samples); overwritten by the next call."""
        wanted = self._task
        data = self._data[: len(wanted.channels) * samples].reshape(len(wanted.channels), samples)
        with self._session.translated_errors("reading a block"):
            if not self._server:  # a read of the local driver cannot call `alive` meanwhile
                until = self._host.now_ns() * 1e-9 + self._block_timeout_s
                stream = self._tasks[0].in_stream
                while stream.avail_samp_per_chan < samples and self._host.now_ns() * 1e-9 < until:
                    self._alive()
                    self._host.sleep(0.0005)
            self._reader.read_many_sample(data, samples, self._block_timeout_s if self._server else 0.0)
        self._arrived_ns = self._host.now_ns()
        return data

    @property
    def _block_timeout_s(self) -> float:
        """How long a block may take to arrive [s]."""
        return TIMEOUT_S + self._task.block_samples / self._task.rate_hz

    def _ask_e_stop(self) -> None:
        """Normally closed circuit: low means pressed, or a broken wire."""
        with self._session.translated_errors("reading the E-stop line"):
            self._e_stop = not self._line.read_one_sample_one_line(timeout=TIMEOUT_S)

    def _ask_flags(self) -> None:
        """Channels that the devices flag; a read clears the flags, so they belong to the next block."""
        stream = self._tasks[0].in_stream
        with self._session.translated_errors("reading the overload flags"):
            if stream.overloaded_chans_exist:
                self._flagged = frozenset(stream.overloaded_chans)

    def _is_read_by_another(self, task: Any) -> bool:
        """Returns whether another program reads samples from a task left at a device server."""
        from nidaqmx.errors import Error

        try:
            before = task.in_stream.curr_read_pos
            self._session.wait(0.1)
            return bool(task.in_stream.curr_read_pos != before)
        except Error:
            return False  # the task does not run
