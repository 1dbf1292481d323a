"""What a benchmark could not measure, and why; it reports the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class FailedMeasurements:
    """A list of measurements that failed.

    Args:
        progress: called at once with each one.

    Attributes:
        items: the measurements, with the reasons.
    """

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self.items: list[dict[str, Any]] = []

    def add(self, what: str, reasons: Sequence[str]) -> None:
        """Add a measurement."""
        self.items.append({"what": what, "reasons": list(reasons)})
        self._progress(f"left out: {what}")
