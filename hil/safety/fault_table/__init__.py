"""The fault table: everything that is watched, how soon it is noticed, what happens then, and what a person does.

The monitor, `hil faults`, `hil explain`, the operator's page and docs/reference/faults.md read it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hil.messages.fault import Fault
from hil.safety.fault_table.operator_rows import LINK_ROWS, OPERATOR_ROWS
from hil.safety.fault_table.sensor_rows import LOOP_ROWS, SENSOR_ROWS
from hil.safety.fault_table.times import FaultRow, ReactionTimes

if TYPE_CHECKING:
    from hil.config.rig import Rig  # imports kernels

__all__ = [
    "EXTERNAL_FAULTS", "FAULT_TABLE", "WARNINGS", "FaultRow", "ReactionTimes", "bound_ms", "only_marks", "row_of",
    "warnings_for",
]  # fmt: skip

_ROWS = (*SENSOR_ROWS, *LOOP_ROWS, *LINK_ROWS, *OPERATOR_ROWS)
FAULT_TABLE: Mapping[int, FaultRow] = MappingProxyType(
    {row.number: row for row in sorted(_ROWS, key=lambda row: row.number)}
)
# Only recorded: the run is marked and goes on. An impact is detected long before full scale, the drives are cut then,
# and nothing is controlled by a force.
WARNINGS = frozenset(fault for fault in Fault if not FAULT_TABLE[fault].latched)

# Their cause lies outside of a tick's values; the others are noticed again wherever the values are the same.
EXTERNAL_FAULTS = frozenset(fault for fault in Fault if FAULT_TABLE[fault].external)

# Of instruments of motion.
_OF_INSTRUMENTS = frozenset({Fault.MEASURED_MOTION, Fault.NOT_LIVE})
# Some of these latch Safe, and some only mark.
_MARKED_TOO = (*_OF_INSTRUMENTS, Fault.DEVICE_FAULT)


def bound_ms(row: int, times: ReactionTimes, device: str = "") -> float:
    """Longest time from the cause of a row's fault to the reaction [ms]; 0: it is not a matter of time."""
    return FAULT_TABLE[row].bound_for(times, device) or 0.0


def warnings_for(rig: Rig) -> frozenset[Fault]:
    """The faults that are only recorded on a rig.

    Also a lost console, where the run is to finish without it; not an implausible value and a wheel that does not turn,
    where residuals are to lead to Safe, and not a fault of an instrument of motion, where the experiment needs one: one
    that it does not need only marks the run all the same (`only_marks`).
    """
    also = {Fault.CONSOLE_LOST} if rig.config.operator.console_lost == "finish" else set()
    safe = rig.config.residuals.reaction == "safe"
    latching = {Fault.IMPLAUSIBLE_VALUE, Fault.SPEED_NOT_FOLLOWING} if safe else set()
    latching |= _OF_INSTRUMENTS if rig.config.needed_instruments else set()
    return (WARNINGS | also) - latching


def only_marks(events: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which events of a record are faults that only mark it: no tick reacted to them.

    They are of an instrument that the run could do without, or warnings of a device.
    """
    which: NDArray[np.bool_] = np.isin(events["id"], _MARKED_TOO) & (events["reaction_tick"] < 0)
    return which


def row_of(text: str) -> FaultRow:
    """The row with a number or a name; hyphens, spaces and capitals do not matter.

    Args:
        text: "17", "valve stuck" or "VALVE_STUCK".

    Raises:
        ValueError: there is none; the message has all of them.
    """
    for row in FAULT_TABLE.values():
        if text.strip() == str(row.number) or _plain(text) == _plain(row.name):
            return row
    known = ", ".join(f"{row.number} {row.name}" for row in FAULT_TABLE.values())
    raise ValueError(f"fault: found {text!r}, allowed: the number or the name of one of {known}")


def _plain(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())
