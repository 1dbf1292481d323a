"""Selects the sensor samples to record: all of them, or those around an impact."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.messages.schema import BURST_SLACK_S

_EVER = (-(2**62), 2**62)
_SLACK_NS = round(BURST_SLACK_S * 1e9)

Samples = tuple[NDArray[np.int64], NDArray[np.float64]]


class TriggeredCapture:
    """Buffers the newest blocks until a trigger selects the samples, then returns each selected one once, in order.

    Args:
        channels: of the sensor samples.
        before_ns: time selected before a trigger; None: every sample is selected, with or without a trigger.
        after_ns: time selected after it.
    """

    def __init__(self, channels: int, before_ns: int | None, after_ns: int) -> None:
        self._channels, self._before_ns, self._after_ns = channels, before_ns or 0, after_ns
        self._blocks: deque[Samples] = deque()
        self._last_ns = _EVER[0]
        self._window = _EVER if before_ns is None else None  # first and last time of the burst, once triggered

    def append(self, t_ns: NDArray[np.int64], volts: NDArray[np.float64]) -> None:
        """Add a block. Raises ValueError if times do not increase or the shapes are wrong."""
        n = len(t_ns)
        if t_ns.shape != (n,) or volts.shape != (n, self._channels):
            allowed = f"(n,) and (n, {self._channels})"
            raise ValueError(f"Recorder.block: shapes are {t_ns.shape} and {volts.shape}, allowed: {allowed}")
        if n == 0:
            return
        first_ns = t_ns.item(0)
        # count_nonzero takes a fifth of the time of any()
        if first_ns <= self._last_ns or np.count_nonzero(t_ns[1:] <= t_ns[:-1]):
            found = f"times from {first_ns} to {t_ns[-1]} ns after a sample at {self._last_ns} ns"
            raise ValueError(f"Recorder.block: {found}, allowed: strictly increasing")
        self._last_ns = t_ns.item(-1)
        if self._window is None or first_ns <= self._window[1]:
            self._blocks.append((t_ns.copy(), volts.copy()))
        if self._window is None:
            oldest_ns = self._last_ns - self._before_ns - _SLACK_NS
            while self._blocks[0][0].item(-1) < oldest_ns:
                self._blocks.popleft()

    def trigger(self, t_ns: int) -> None:
        """Select the samples around t_ns; only the first call has an effect."""
        self._window = self._window or (t_ns - self._before_ns, t_ns + self._after_ns)

    def finish(self) -> None:
        """End the capture; without a trigger the burst is the time before the newest sample."""
        self._window = self._window or (self._last_ns - self._before_ns, self._last_ns)

    def due(self, period_ns: int) -> bool:
        """Whether selected samples of at least one period can be taken."""
        return (
            self._window is not None and bool(self._blocks) and self._last_ns - self._blocks[0][0].item(0) >= period_ns
        )

    def take(self) -> Samples | None:
        """Times and readings of the selected samples that were not taken yet."""
        if self._window is None or not self._blocks:
            return None
        parts: Any = zip(*self._blocks, strict=True)
        t_ns, volts = (np.concatenate(part) for part in parts)
        self._blocks.clear()
        inside = (t_ns >= self._window[0]) & (t_ns <= self._window[1])
        return t_ns[inside], volts[inside]
