"""How many of the newest answers of a device, or of its messages, were damaged: row 14 of the fault table."""

from __future__ import annotations

from collections import deque

from drivers.interfaces import DamagedError

# So many of the last ten may be damaged.
DAMAGED_ALLOWED = 2
LOOKED_AT = 10


class DamageCount:
    """Counts them, and fails at one too many.

    Args:
        where: device and port, for messages.
        what: arrives there, in the plural.
        to_do: when there are too many.
    """

    def __init__(self, where: str, what: str, to_do: str = "check cable, ground and baud rate") -> None:
        self._where, self._what, self._to_do = where, what, to_do
        self._newest: deque[bool] = deque(maxlen=LOOKED_AT)

    def forget(self) -> None:
        """Judge by later ones only."""
        self._newest.clear()

    def good(self) -> None:
        """One arrived whole."""
        self._newest.append(False)

    def damaged(self, found: str) -> None:
        """One was damaged. Raises DamagedError: more than DAMAGED_ALLOWED of the last ones."""
        self._newest.append(True)
        if sum(self._newest) > DAMAGED_ALLOWED:
            raise DamagedError(
                f"{self._where}: {sum(self._newest)} of the last {len(self._newest)} {self._what} damaged, "
                f"allowed: {DAMAGED_ALLOWED} of {LOOKED_AT}; newest: {found}; {self._to_do}"
            )
