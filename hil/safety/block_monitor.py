"""Watches the blocks of one data acquisition: rows 1 to 4 and 7 of the fault table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from drivers.messages import DaqBlock
from hil.messages.fault import Fault
from hil.messages.fault_bounds import BAD_TICKS_ALLOWED, GAP_ALLOWED

# Latches a fault: fault, value, limit, description.
Latch = Callable[[Fault, float, float, str], None]


class BlockMonitor:
    """Checks what a tick took in from one data acquisition.

    Args:
        device: name for messages.
        age_limit_ms: largest age of the newest sample [ms].
        names: of the channels.
        still_allowed: number of equal samples in a row from which each channel counts as frozen; infinity: not checked.
        setting: config key of that number.
    """

    def __init__(
        self, device: str, age_limit_ms: float, names: Sequence[str], still_allowed: Sequence[float], setting: str
    ) -> None:
        self._device, self._names, self._setting = device, names, setting
        self.age_limit_ns = age_limit_ms * 1e6
        self._still_allowed = still_allowed
        self._least_still = min(still_allowed, default=math.inf)
        self._bad_ticks = 0

    def check_age(self, age_ns: int, latch: Latch) -> None:
        """Latch a fault if the newest sample is too old."""
        if age_ns > self.age_limit_ns:
            age_ms = age_ns * 1e-6
            detail = f"{self._device}: newest sample is {age_ms:.1f} ms old"
            latch(Fault.SENSOR_DROPOUT, age_ms, self.age_limit_ns * 1e-6, detail)

    def check_blocks(
        self,
        blocks: Sequence[DaqBlock],
        gap: int,
        *,
        finite: bool,
        saturated: bool,
        still: Sequence[int],
        latch: Latch,
    ) -> None:
        """Check the blocks of a tick that took in any: missing blocks, samples not finite, frozen, saturated."""
        device = self._device
        self._bad_ticks = 0 if finite else self._bad_ticks + 1
        if gap > GAP_ALLOWED:
            detail = f"{device}: {gap} blocks of samples are missing in a row, allowed: {GAP_ALLOWED}"
            latch(Fault.SEQUENCE_GAP, gap, GAP_ALLOWED, detail)
        if max(still, default=0) >= self._least_still:
            for name, count, allowed in zip(self._names, still, self._still_allowed, strict=True):
                if count >= allowed:
                    detail = f"{device}: {name} has not changed in {count} samples ({self._setting})"
                    latch(Fault.SENSOR_STALE, count, allowed, detail)
        if saturated or any(True in block.overload for block in blocks):
            latch(Fault.ADC_SATURATED, math.nan, math.nan, f"{device}: a channel at the end of its range")
        if self._bad_ticks > BAD_TICKS_ALLOWED:
            detail = f"{device}: samples that are not finite in 3 reads in a row"
            latch(Fault.SAMPLE_NOT_FINITE, math.nan, BAD_TICKS_ALLOWED, detail)
