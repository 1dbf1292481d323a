"""State of each link to real devices, as its worker last reported it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hil.ipc.run_memory import RunMemory
from hil.ipc.shared_types import HEALTH

_NUMBERS = ("errors", "retries", "rate_hz", "age_ms")


def healths(shared: RunMemory) -> dict[str, dict[str, Any]]:
    """By name of the link: errors, retries, rate_hz and age_ms (None where not counted), and the device's status."""
    found = {}
    for name, box in shared.healths.items():
        row = np.zeros(1, HEALTH)
        if box.read(row) > 0:
            numbers = {key: _finite(row[key][0].item()) for key in _NUMBERS}
            found[name] = {**numbers, "detail": row["detail"][0].decode(errors="replace")}
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
