"""A connection to a device server whose calls block, with a sign of life while they do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class BlockingChannel:
    """A gRPC channel for one call at a time; a thread calls `alive` again and again while a call waits.

    gRPC's future, which can be waited for in pieces, starts and ends a thread for each call: at 500 calls a second that
    was a third of the processor time of the process.

    Args:
        channel: gRPC's; closed by `close`.
        alive: called until the deadline of a waiting call, from another thread. A call that hangs beyond its deadline
            counts as a process that hangs.
        every_s: time between two of these calls [s].
    """

    def __init__(self, channel: Any, alive: Callable[[], None], every_s: float) -> None:
        self.channel, self._alive, self._every_s = channel, alive, every_s
        self.unary_stream = channel.unary_stream  # events, which are not used here
        self._until_ns = 0  # deadline of the waiting call; 0: none waits
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._live, name="alive", daemon=True)
        self._thread.start()

    def unary_unary(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """A method of the server: a function of request, metadata and timeout [s] that returns the answer."""
        method = self.channel.unary_unary(*args, **kwargs)

        def call(request: Any, metadata: Any, timeout: float) -> Any:
            self._until_ns = time.monotonic_ns() + round(timeout * 1e9)
            try:
                return method(request, metadata=metadata, timeout=timeout)
            finally:
                self._until_ns = 0

        return call

    def close(self) -> None:
        """Close the channel."""
        self._closed.set()
        self._thread.join()
        self.channel.close()

    def _live(self) -> None:
        while not self._closed.wait(self._every_s):
            if time.monotonic_ns() < self._until_ns:
                self._alive()
