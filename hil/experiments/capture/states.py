"""States of a capture."""

from __future__ import annotations

from enum import IntEnum


class CaptureState(IntEnum):
    """State of a capture; numbers as for the states of other experiments where they are alike."""

    IDLE = 0
    ARMED = 1
    APPROACH = 2
    LATCH = 3
    SETTLE = 4
    DONE = 5
    ABORTED = 6
    HOLD = 11
    CONTROL = 12


# faster in a tick, see hil.experiments.base
IDLE, ARMED, APPROACH, LATCH, SETTLE, DONE, ABORTED, HOLD, CONTROL = CaptureState
MOVING = (APPROACH, LATCH, HOLD, CONTROL)
# Names of those while it captures.
PHASES = {int(state): state.name.lower() for state in MOVING}
