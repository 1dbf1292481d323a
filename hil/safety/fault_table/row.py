"""One row of the fault table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hil.safety.fault_table.times import ByDevice, ReactionTimes

# How a latched fault is cleared; it latches again if its cause is still there.
BY_OPERATOR = "by an operator: hil command clear NUMBER"
# A row that is not a latched fault.
NOTHING_TO_CLEAR = "nothing to clear"
NOT_ARMED = "nothing to clear: a run is armed once the check holds"


@dataclass(frozen=True)
class FaultRow:
    """What is watched, how soon it is noticed, what happens then, and what a person does."""

    number: int  #: of the row; the number of the fault in a record, if it is one
    name: str  #: as a person says it
    watched: str  #: what is watched
    #: longest time from the cause to the reaction [ms], of a rig where it depends on the config, and by the name of the
    #: link where they differ; None: not a matter of time, or not watched on that rig
    bound_ms: Callable[[ReactionTimes], ByDevice | float | None] | float | None
    bound: str  #: the bound in words, with the config keys that set it
    reaction: str  #: what the program does
    clears: str  #: how it is cleared: NOTHING_TO_CLEAR and NOT_ARMED are of rows that latch nothing
    operator: str  #: what the person at the rig looks at and does
    #: its cause lies outside the values of a tick; the others are noticed again wherever the values are the same
    external: bool = False

    @property
    def latched(self) -> bool:
        """Safe stays latched until an operator clears the fault."""
        return self.clears not in (NOTHING_TO_CLEAR, NOT_ARMED)

    def bounds(self, times: ReactionTimes) -> ByDevice | float | None:
        """`bound_ms` of that rig."""
        return self.bound_ms(times) if callable(self.bound_ms) else self.bound_ms

    def bound_for(self, times: ReactionTimes, device: str = "") -> float | None:
        """Longest time from cause to reaction on that rig [ms], in the link `device` or any; None: as `bound_ms`."""
        found = self.bounds(times)
        if not isinstance(found, dict):
            return found
        return found.get(device) if device else max(found.values(), default=None)

    def as_json(self) -> dict[str, Any]:
        """The columns for a person; `bound_ms` is None where it depends on the config."""
        columns = ("number", "name", "watched", "bound_ms", "bound", "reaction", "latched", "clears", "operator")
        values = {name: getattr(self, name) for name in columns}
        return values | {"bound_ms": None if callable(self.bound_ms) else self.bound_ms}
