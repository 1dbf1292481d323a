"""Time until every kernel of a tick has run: in a first process, which compiles them, and in later ones."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

# in a separate process: numba, once imported, and kernels, once loaded, would not be loaded again here
PROGRAM = """
from hil.config.rig import Rig
from hil.app.warm_up import warm_up
from hil.config import load_config
warm_up(Rig(load_config("sim_impact")))
"""


def start_times_s(cached: int) -> tuple[float, list[float]]:
    """Measure whole processes, including interpreter and imports.

    Args:
        cached: number of processes that load the kernels from the cache.

    Returns:
        Time with an empty cache, and the times of the processes after it [s].
    """
    with tempfile.TemporaryDirectory(prefix="rover-hil-bench-") as folder:
        return _process_s(folder), [_process_s(folder) for _ in range(cached)]


def _process_s(cache: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "ROVER_HIL_CACHE": cache}, check=True)
    return time.perf_counter() - began
