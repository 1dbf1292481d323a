"""Samples of the force sensors, read from the running data acquisition without a run; nothing moves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drivers.interfaces import DeviceError
from hil.app.check.access import open_access, read_blocks
from hil.config.rig import Rig

# Nothing may touch the sensors for so long from the beginning on [ns].
UNTOUCHED_NS = 1_000_000_000


def live_samples(
    rig: Rig,
    seconds: float,
    what_to_do: str,
    progress: Callable[[str], None] = lambda _: None,
    endpoints: Path | None = None,
) -> NDArray[np.float64]:
    """Readings (n, channels) [V] of a rig's force sensors from now on, without a gap.

    Args:
        rig: with force sensors.
        seconds: how long.
        what_to_do: with the sensors, once `UNTOUCHED_NS` is over; "" for nothing.
        progress: receives progress lines.
        endpoints: of a running simulated rig at the protocol level (`hil sim --endpoints`).

    Raises:
        DeviceError: the device is missing, in use, silent or lost samples.
    """
    asked = not what_to_do

    def ask(passed_ns: int) -> None:
        nonlocal asked
        if not asked and passed_ns >= UNTOUCHED_NS:
            progress(what_to_do)
            asked = True

    with ExitStack() as stack:
        access, _ = open_access(rig, progress, endpoints, stack)
        daq = stack.enter_context(closing(access.device("daq")))
        daq.open()
        progress(f"recording the sensors for {seconds:g} s: nothing may touch them yet")
        blocks = [block for _, block in read_blocks(access, daq, seconds * 1e9, ask)[0]]
        device = daq.health().device
    sequences = np.array([block.sequence for block in blocks])
    lost = int((np.diff(sequences) - 1).sum()) if len(blocks) > 1 else 0
    if not blocks or lost:
        found = f"{lost} blocks of samples lost" if lost else f"no samples in {seconds:g} s"
        raise DeviceError(f"{device}: {found}; all are needed: is it connected, and the computer idle?")
    return np.concatenate([block.values for block in blocks])
