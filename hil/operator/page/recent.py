"""The newest entries of something, for several readers, each at its own pace; a slow one misses the oldest."""

from __future__ import annotations

from collections import deque
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
        self._entries: deque[tuple[int, T]] = deque(maxlen=most)
        self.count = 0

    def add(self, entry: T) -> None:
        """Add the newest."""
        self._entries.append((self.count + 1, entry))
        self.count += 1

    def since(self, count: int) -> tuple[int, list[T]]:
        """Those added since there were so many, as far as they are kept, oldest first; and the count to ask with next.

        The count is that of the entries returned: a reader sends them one by one, and others are added meanwhile.
        """
        new = [numbered for numbered in tuple(self._entries) if numbered[0] > count]
        return (new[-1][0] if new else count), [entry for _, entry in new]
