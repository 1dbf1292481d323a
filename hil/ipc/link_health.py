"""State of each link to real devices, as its worker last reported it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hil.ipc.run_memory import RunMemory
from hil.messages.link_messages import HEALTH, health_of


def healths(shared: RunMemory) -> dict[str, dict[str, Any]]:
    """By name of the link, what `health_of` says of it."""
    row = np.zeros(1, HEALTH)
    return {name: health_of(row) for name, box in shared.healths.items() if box.read(row) > 0}
