"""The machine on which a benchmark was measured."""

from __future__ import annotations

import os
import platform
from typing import Any

from hil.realtime.processor import cpuinfo, processor_name


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
