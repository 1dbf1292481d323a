"""The machine of a benchmark, what could not be measured there, and how long kernels take at the start of a process."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from hil.realtime.long_ticks import cpuinfo, processor_name


class FailedMeasurements:
    """A list of measurements that failed.

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


def machine() -> dict[str, Any]:
    """Processor, kernel and Python, and the load of the machine before the benchmark."""
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "virtual": "hypervisor" in cpuinfo("flags"),
        "load_1min_before": round(os.getloadavg()[0], 2),
    }


# in a separate process: numba, once imported, and kernels, once loaded, would not be loaded again here
PROGRAM = """
from hil.config.rig import Rig
from hil.app.warm_up import warm_up
from hil.config import load_config
warm_up(Rig(load_config("sim_impact")))
"""


def start_times_s(cached: int) -> tuple[float, list[float]]:
    """Measure whole processes, including interpreter and imports.

    `cached` processes load the kernels from the cache. Returns time with an empty cache, and the times of the processes
    after it [s].
    """
    with tempfile.TemporaryDirectory(prefix="rover-hil-bench-") as folder:
        return _process_s(folder), [_process_s(folder) for _ in range(cached)]


def _process_s(cache: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "ROVER_HIL_CACHE": cache}, check=True)
    return time.perf_counter() - began
