"""Samples of a simulated rig in memory, and the rounds in which its plant moves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from drivers.sim.protocol.plant_ports import Analog, Instrument, SampledChannels
from hil.ipc.shm import Mailbox
from hil.ipc.shm.mapped import made_file, mapped_bytes

# Samples kept of each channel: some 4 s at 30 kHz.
REMEMBERED = 2**17
CLOCK = np.dtype([("start_ns", "<i8"), ("rate_hz", "<i8")])  # of the first sample, on CLOCK_MONOTONIC; 0: none
# How many samples there are, when the newest came into the memory [ns of CLOCK_MONOTONIC], and when the next ones will.
TAKEN = np.dtype([("samples", "<i8"), ("at_ns", "<i8"), ("next_ns", "<i8")])
# Newest samples that a device which streams can send late.
STREAMED = 1000
# Which samples are read together: `every` of them, of which one block begins with sample `first`; 0: none yet.
BLOCKS = np.dtype([("first", "<i8"), ("every", "<i8")])


class SampledMemory:
    """Newest samples of all channels, and how many there have been; the plant's process writes them.

    Attributes:
        volts: (REMEMBERED, channels) [V], of load channels in the unit of each; sample n lies in row n % REMEMBERED.
    """

    def __init__(self, folder: Path, prefix: str, channels: int, *, create: bool) -> None:
        self.clock = Mailbox(folder / f"{prefix}clock", CLOCK, create=create)
        self.taken = Mailbox(folder / f"{prefix}taken", TAKEN, create=create)
        self.blocks = Mailbox(folder / f"{prefix}blocks", BLOCKS, create=create)
        self.volts: NDArray[np.float64] = _mapped(folder / f"{prefix}volts", channels, create)

    def close(self) -> None:
        """Unmap all memory; may be called twice."""
        self.clock.close()
        self.taken.close()
        self.blocks.close()
        self.volts = self.volts[:0].copy()  # any view of it keeps it mapped

    def keep(self, first: int, volts: NDArray[np.float64]) -> None:
        """Store samples first, first + 1, ... (n, channels) [V]."""
        self.volts[np.arange(first, first + len(volts)) % REMEMBERED] = volts


class SamplePublisher:
    """Publishes the samples of a plant, and goes on counting when another plant takes its place.

    The first sample is at `start_ns` [ns of CLOCK_MONOTONIC]; rate 0: there are none.
    """

    def __init__(self, memory: SampledMemory, rate_hz: int, start_ns: int) -> None:
        self._memory, self._start_ns, self.rate_hz = memory, start_ns, rate_hz
        self._first = self._given = 0  # sample of the rig that is the plant's sample 0; samples of the rig published
        self._taken = np.zeros(1, TAKEN)
        memory.clock.write(np.array([(start_ns, rate_hz)], CLOCK))

    def hand_out(self, sampled: SampledChannels, now_ns: int, next_ns: int) -> None:
        """Publish the samples taken since the last call, now; the next ones will follow [ns of CLOCK_MONOTONIC]."""
        count = sampled.samples - (self._given - self._first)
        if count > 0:
            volts = np.empty((count, self._memory.volts.shape[1]))
            sampled.copy_samples(self._given - self._first, volts)
            self._memory.keep(self._given, volts)
            self._given += count
            self._taken[0] = (self._given, now_ns, next_ns)
            self._memory.taken.write(self._taken)

    def next_ns(self, now_ns: int) -> int:
        """When the first sample after a time is due [ns of CLOCK_MONOTONIC]."""
        sample = (now_ns - self._start_ns) * self.rate_hz // 1_000_000_000 + 1
        return self._start_ns + sample * 1_000_000_000 // self.rate_hz

    def begin_again(self, at_ns: int) -> None:
        """Another plant begins at that time [ns of CLOCK_MONOTONIC]; samples missed until then are zero."""
        self._first = round((at_ns - self._start_ns) * self.rate_hz / 1e9)
        gap = self._first - self._given
        self._memory.keep(self._given, np.zeros((gap, self._memory.volts.shape[1])))
        self._given = self._first


class AnalogInMemory(Analog):
    """`drivers.sim.protocol.plant_ports.Analog`, for processes other than the plant's; the plant must be running.

    Raises RuntimeError: it is not.
    """

    def __init__(self, memory: SampledMemory) -> None:
        clock = np.zeros(1, CLOCK)
        if memory.clock.read(clock) <= 0:
            raise RuntimeError("the simulated rig's sample clock is not running yet")
        self._start_ns, self.rate_hz = int(clock["start_ns"][0]), int(clock["rate_hz"][0])
        self._memory, self._taken = memory, memory.taken
        self._row, self._blocks = np.zeros(1, TAKEN), np.zeros(1, BLOCKS)
        self.channels = memory.volts.shape[1]

    @override
    def taken(self) -> int:
        self._taken.read(self._row)
        return int(self._row["samples"][0])

    @override
    def due_ns(self, count: int) -> int:
        """With the first of the plant's next rounds that is late enough."""
        self._taken.read(self._row)
        _, at_ns, next_ns = self._row[0].tolist()
        taken_ns, period_ns = self.at_ns(count - 1), next_ns - at_ns
        return next_ns + max(-((next_ns - taken_ns) // period_ns), 0) * period_ns if period_ns > 0 else taken_ns

    @override
    def read_in_blocks(self, first: int, count: int) -> None:
        """The rhythm stays while blocks follow one another, and is then not published again."""
        row = self._blocks[0]
        if row["every"] != count or (first - row["first"]) % count:
            self._blocks[0] = (first, count)
            self._memory.blocks.write(self._blocks)

    @override
    def copy(self, first: int, volts: NDArray[np.float64]) -> None:
        np.take(self._memory.volts, np.arange(first, first + len(volts)) % REMEMBERED, axis=0, out=volts)
        if self.taken() - first > REMEMBERED:
            raise OverflowError(f"sample {first} is gone: {self.taken()} taken, the last {REMEMBERED} kept")

    @override
    def at_ns(self, sample: int) -> int:
        return self._start_ns + sample * 1_000_000_000 // self.rate_hz


class ReadingsInMemory(Instrument):
    """`drivers.sim.protocol.plant_ports.LoadReadings`, for processes other than the plant's."""

    def __init__(self, memory: SampledMemory, channels: tuple[str, ...], rate_hz: float) -> None:
        self._memory, self._row, self._clock = memory, np.zeros(1, TAKEN), np.zeros(1, CLOCK)
        self.channels, self.rate_hz = channels, rate_hz

    def volts(self, channel: int) -> float:
        """Newest sample of a channel [V], where the driver reads volts."""
        self._memory.taken.read(self._row)
        return float(self._memory.volts[(int(self._row["samples"][0]) - 1) % REMEMBERED, channel])

    @override
    def since(self, sequence: int) -> Sequence[tuple[int, int, tuple[float, ...]]]:
        """Sample n has the number n + 1."""
        self._memory.taken.read(self._row)
        self._memory.clock.read(self._clock)
        taken, (start_ns, rate_hz) = int(self._row["samples"][0]), self._clock[0].tolist()
        return [
            (n + 1, start_ns + n * 1_000_000_000 // rate_hz, tuple(self._memory.volts[n % REMEMBERED].tolist()))
            for n in range(max(sequence, taken - STREAMED, 0), taken)
        ]


def _mapped(path: Path, channels: int, create: bool) -> NDArray[np.float64]:
    size = REMEMBERED * channels * 8
    if not size:
        return np.zeros((REMEMBERED, 0))
    handle = made_file(path, size) if create else os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return mapped_bytes(handle, size, populate=False).view(np.float64).reshape(REMEMBERED, channels)
    finally:
        os.close(handle)


# While nobody reads samples in blocks [ns].
_ALONE_NS = 1_000_000
# Between two rounds of a plant whose samples are read in blocks, shortest and longest [ns]: longer blocks are divided,
# because wheel speeds and pressures are as old as the last round; of shorter ones, several are made at a time.
SHORTEST_NS, LONGEST_NS = 1_000_000, 4_000_000
_SECOND_NS = 1_000_000_000


class PlantRounds:
    """A grid of times for the plant's rounds: the ends of the blocks in which its samples are read.

    Each round is a wake-up, after which code and data come from memory, so one round of 3 ms takes a third of the time
    of three rounds of 1 ms. Commands lose nothing: they have their own time. Sample 0 is at `start_ns` [ns of
    CLOCK_MONOTONIC]. Without samples to follow, `sampled` is None or the rate 0.

    Attributes:
        ticks: rounds so far.
        late: rounds that were due before the round before them was over.
        skipped: times of the grid without a round.
        due_ns: time of the newest round [ns of CLOCK_MONOTONIC].
    """

    def __init__(self, sampled: SampledMemory | None, rate_hz: int, start_ns: int) -> None:
        self._blocks = sampled.blocks if sampled is not None and rate_hz else None
        self._rate_hz, self._start_ns = rate_hz, start_ns
        self._row, self._seen = np.zeros(1, BLOCKS), 0
        self._phase_ns, self._every_ns, self._parts = start_ns, _ALONE_NS, 1
        self.due_ns, self._number = start_ns, 0
        self.ticks = self.late = self.skipped = 0

    def next_ns(self, now_ns: int) -> int:
        """When the next round is due [ns of CLOCK_MONOTONIC]; the caller makes it.

        A round whose period is not over yet is due at once; periods that are over are skipped.
        """
        if self._blocks is not None and (version := self._blocks.read(self._row)) > self._seen:
            self._seen = version
            self._follow(*self._row[0].tolist())
        due = self._number + 1
        self._number = due
        self.ticks += 1
        if self._time(due) < now_ns:
            self.late += 1
            self._number = max(self._last_before(now_ns), due)
            self.skipped += self._number - due
        self.due_ns = self._time(self._number)
        return self.due_ns

    @property
    def following_ns(self) -> int:
        """When the round after the newest one is due [ns of CLOCK_MONOTONIC]."""
        return self._time(self._number + 1)

    def begin_again(self, now_ns: int) -> None:
        """Count from now on: the lateness of a rover that was put back to its start does not count [ns]."""
        self._number = self._last_before(now_ns)
        self.due_ns = self._time(self._number)
        self.ticks = self.late = self.skipped = 0

    def _time(self, number: int) -> int:
        """A time of the grid: exact however long it runs, as are the times of samples."""
        return self._phase_ns + number * self._every_ns // self._parts

    def _last_before(self, t_ns: int) -> int:
        """The number of the last time of the grid that is not after another one."""
        return ((t_ns - self._phase_ns + 1) * self._parts - 1) // self._every_ns

    def _follow(self, first: int, every: int) -> None:
        """Make the ends of blocks the grid: of `every` samples each, one of which begins with sample `first`."""
        times = max(-(-SHORTEST_NS * self._rate_hz // (every * _SECOND_NS)), 1)
        self._parts = self._rate_hz * max(-(-every * _SECOND_NS // (LONGEST_NS * self._rate_hz)), 1)
        self._every_ns = every * times * _SECOND_NS
        self._phase_ns = self._start_ns + first * _SECOND_NS // self._rate_hz
        self._number = self._last_before(self.due_ns)
