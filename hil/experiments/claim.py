"""A value that a run gives, next to what is known of it (`hil.experiments.motion_claims` makes those of the motion)."""

from __future__ import annotations

import math
from typing import NamedTuple

# The summary's key, and how each reason that follows from it begins.
TRUTH_CHECK, FALSE = "truth_check", "not so by the "
SIMULATED, MEASURED, ALONE = "simulated rig", "measured motion", "twin alone"


class Claim(NamedTuple):
    """One value that a run gives."""

    name: str  #: of it, in words
    unit: str  #: of all numbers
    claimed: float  #: by the run
    known: float  #: otherwise; NaN: not known
    allowed: float  #: largest difference between the two

    @property
    def ok(self) -> bool | None:
        """None: one of them is not known."""
        off = abs(self.claimed - self.known)
        return None if math.isnan(off) else off <= self.allowed

    def words(self, by: str) -> str:
        """Why a run with it is not accepted."""
        values = f"{self.name} {self.claimed:.4g} {self.unit}".rstrip() + f", there {self.known:.4g}"
        return f"{FALSE}{by}: {values}; allowed: {self.allowed:.2g} apart, by what the twin is not told"
