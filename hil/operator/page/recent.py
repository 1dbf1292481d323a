"""The newest entries of something, for several readers, each at its own pace; a slow one misses the oldest."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """Keeps the newest entries, and counts them all.

    Args:
        most: entries kept.

    Attributes:
        count: entries so far.
    """

    def __init__(self, most: int) -> None:
        self._entries: deque[T] = deque(maxlen=most)
        self.count = 0

    def add(self, entry: T) -> None:
        """Add the newest."""
        self._entries.append(entry)
        self.count += 1

    def since(self, count: int) -> list[T]:
        """Those added since there were so many, as far as they are kept, oldest first."""
        kept = len(self._entries)
        return list(islice(self._entries, max(0, kept - (self.count - count)), None))
