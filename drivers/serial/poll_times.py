"""When to look at a port to which messages come at a steady rate, so that about one look a message is enough."""

from __future__ import annotations

# A message that is there at the first look is looked for sooner the next time, and twice as much sooner each time [ns].
SOONER_NS = 20_000
# One that is not there is looked for again after so long, and after twice as long each time [ns].
LATER_NS = 100_000
# So long after the time when it was there in the period before, a message counts as missing [ns]. The next one is
# awaited at its time; if that is missing too, the next one is searched for.
PATIENT_NS = 600_000
# Looks of a search are a quarter of a period apart, and at least and at most so far [ns].
LEAST_SEARCH_NS, MOST_SEARCH_NS = 500_000, 4_000_000


class PollTimes:
    """Times of the looks.

    A wake-up is dear on a small virtual machine, and a message that waits unread gets too late a time stamp. So the
    device's rhythm is followed: a look is a period after the last one that found a message, or a little sooner.

    Args:
        period_ns: of the messages [ns].

    Attributes:
        due_ns: of the next look [ns].

    Example:
        >>> looks = PollTimes(5_000_000)
        >>> looks.begin(0)
        >>> looks.came(1_000_000)  # found, after a search
        >>> looks.due_ns
        6000000
        >>> looks.came(6_050_000)  # the look was 50 us late: the next one is not
        >>> looks.due_ns
        10980000
    """

    def __init__(self, period_ns: int) -> None:
        self._period_ns = period_ns
        self._search_ns = min(max(period_ns // 4, LEAST_SEARCH_NS), MOST_SEARCH_NS)
        self.begin(0)

    def begin(self, now_ns: int) -> None:
        """Nothing is known of the rhythm: search."""
        self.due_ns = self._aim_ns = self._there_ns = now_ns
        self._sooner_ns, self._looked, self._missing = SOONER_NS, 0, 2

    def came(self, now_ns: int) -> None:
        """A look has found one message, or several."""
        if self._looked or self._missing:
            self._there_ns = now_ns if self._missing > 1 else self.due_ns
            self._sooner_ns = 0
        else:
            self._there_ns = self._aim_ns
            self._sooner_ns = min(max(2 * self._sooner_ns, SOONER_NS), self._period_ns // 8)
        self._looked = self._missing = 0
        self._there_ns += self._period_ns * max(1, -((self._there_ns - now_ns) // self._period_ns))
        self.due_ns = self._aim_ns = self._there_ns - self._sooner_ns

    def missed(self, now_ns: int, missing_ns: int = 0) -> None:
        """A look has found none.

        Args:
            now_ns: time of the look [ns].
            missing_ns: line time of what is missing of a message that has begun to come [ns]; 0: none has.
        """
        self._looked += 1
        if missing_ns:
            self.due_ns = now_ns + missing_ns
        elif self._missing > 1:
            self.due_ns = now_ns + self._search_ns
        elif now_ns < self._there_ns + PATIENT_NS:
            self.due_ns = now_ns + min(LATER_NS << (self._looked - 1), MOST_SEARCH_NS)
        else:
            self._missing, self._looked = self._missing + 1, 0
            self._there_ns += self._period_ns
            self.due_ns = self._aim_ns = max(self._there_ns, now_ns)
