"""When to look at a port to which messages come at a steady rate, so that about one look a message is enough."""

from __future__ import annotations

# A message that is there at the first look is looked for sooner the next time, by twice as much each time [ns].
SOONER_NS = 20_000
# One that is not there is looked for again after so long, and after twice as long the next time [ns].
LATER_NS = 100_000
# After so many looks a message counts as missing, and the next one is awaited at its time.
PATIENT_LOOKS = 3
# Where none comes at its time, one is searched for, a quarter of a period apart or so far [ns].
LEAST_SEARCH_NS, MOST_SEARCH_NS = 500_000, 4_000_000


class Looks:
    """Times of the looks.

    A wake-up is dear on a small virtual machine, and a message that waits unread gets too late a time stamp. So the
    rhythm of the device is followed: each look is a period after the last one that found a message, and a little sooner.

    Args:
        period_ns: of the messages [ns].

    Attributes:
        due_ns: of the next look [ns].

    Example:
        >>> looks = Looks(5_000_000)
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
        self._aim_ns = self.due_ns = now_ns
        self._sooner_ns, self._missed = SOONER_NS, PATIENT_LOOKS + 2

    def came(self, now_ns: int) -> None:
        """A look has found one message, or several."""
        if not self._missed:
            self._aim_ns -= self._sooner_ns
            self._sooner_ns = min(2 * self._sooner_ns, self._period_ns // 8)
        else:
            self._sooner_ns = SOONER_NS
            if self._missed != PATIENT_LOOKS + 1:
                self._aim_ns = now_ns
        self._missed = 0
        self._aim_ns += self._period_ns * max(1, -((self._aim_ns - now_ns) // self._period_ns))
        self.due_ns = self._aim_ns

    def missed(self, now_ns: int, missing_ns: int = 0) -> None:
        """A look has found none.

        Args:
            now_ns: time of the look [ns].
            missing_ns: line time of what is missing of a message that has begun to come [ns]; 0: none has.
        """
        self._missed += 1
        if missing_ns:
            self.due_ns = now_ns + missing_ns
        elif self._missed <= PATIENT_LOOKS:
            self.due_ns = now_ns + (LATER_NS << (self._missed - 1))
        elif self._missed == PATIENT_LOOKS + 1:
            self._aim_ns += self._period_ns
            self.due_ns = max(self._aim_ns, now_ns)
        else:
            self.due_ns = now_ns + self._search_ns
