"""One row of the fault table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from hil.safety.fault_table.times import ReactionTimes

# Fields that are of no use to a person.
_INTERNAL = ("external", "by_device")
# How a latched fault is cleared; it latches again if its cause is still there.
BY_OPERATOR = "by an operator: hil command clear NUMBER"
# A row that is not a latched fault.
NOTHING_TO_CLEAR = "nothing to clear"
NOT_ARMED = "nothing to clear: a run is armed once the check holds"


@dataclass(frozen=True)
class FaultRow:
    """What is watched, how soon it is noticed, what happens then, and what a person does.

    Attributes:
        number: of the row; the number of the fault in a record, if it is one.
        name: as a person says it.
        watched: what is watched.
        bound_ms: longest time from the cause to the reaction [ms], of a rig where it depends on the config; None: not a
            matter of time, or not watched on that rig.
        bound: the bound in words, with the config keys that set it.
        reaction: what the program does.
        latched: Safe stays latched until an operator clears the fault.
        clears: how it is cleared.
        operator: what the person at the rig looks at and does.
        external: its cause lies outside the values of a tick; the others are noticed again wherever the values are
            the same.
        by_device: the longest times by the name of the link [ms], where they differ; `bound_ms` is the longest of them.
    """

    number: int
    name: str
    watched: str
    bound_ms: Callable[[ReactionTimes], float | None] | float | None
    bound: str
    reaction: str
    latched: bool
    clears: str
    operator: str
    external: bool = False
    by_device: Callable[[ReactionTimes], Mapping[str, float]] | None = None

    def bound_for(self, times: ReactionTimes, device: str = "") -> float | None:
        """Longest time from the cause to the reaction on that rig [ms]; None: as `bound_ms`.

        Args:
            times: of that rig.
            device: name of the link that the cause is in; empty: any.
        """
        if device and self.by_device is not None:
            return self.by_device(times).get(device)
        return self.bound_ms(times) if callable(self.bound_ms) else self.bound_ms

    def as_json(self) -> dict[str, Any]:
        """The columns for a person; `bound_ms` is None where it depends on the config."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _INTERNAL}
        return values | {"bound_ms": None if callable(self.bound_ms) else self.bound_ms}
