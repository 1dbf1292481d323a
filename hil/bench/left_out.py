"""What a bench could not measure, and why: it ends with what it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class LeftOut:
    """A list of measurements that came to nothing.

    Args:
        say: told at once, a line at a time.

    Attributes:
        items: what, and the reasons.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.items: list[dict[str, Any]] = []

    def note(self, what: str, reasons: Sequence[str]) -> None:
        """Note one."""
        self.items.append({"what": what, "reasons": list(reasons)})
        self._say(f"left out: {what}")
