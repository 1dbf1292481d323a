"""What runs until it is closed."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Self


class Served:
    """Something that a program or a test starts, and that ends with `close` or with its `with` block.

    A subclass puts what it needs on `_stack`.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()

    def close(self) -> None:
        """Stop it, and remove what it needed; may be called twice."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
