"""When the plant of a simulated rig at the protocol level moves: when its samples are due to be read."""

from __future__ import annotations

import numpy as np

from hil.simulator.sampled_memory import BLOCKS, SampledMemory

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
