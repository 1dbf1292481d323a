"""What a bench could not measure, and why: it ends with what it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class LeftOut:
    """A list of measurements that came to nothing.

    Args:
        progress: told at once, a line at a time.

    Attributes:
        items: what, and the reasons.
    """

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self.items: list[dict[str, Any]] = []

    def add(self, what: str, reasons: Sequence[str]) -> None:
        """Note one."""
        self.items.append({"what": what, "reasons": list(reasons)})
        self._progress(f"left out: {what}")
