"""A value that a run gives, next to what is known of it (`hil.experiments.motion_claims` makes those of the motion)."""

from __future__ import annotations

import math
from typing import NamedTuple

# The summary's key, and how each reason that follows from it begins.
TRUTH_CHECK, FALSE = "truth_check", "not so by the "
SIMULATED, MEASURED, ALONE = "simulated rig", "measured motion", "twin alone"


class Claim(NamedTuple):
    """One value that a run gives.

    Attributes:
        name: of it, in words.
        unit: of all numbers.
        claimed: by the run.
        known: otherwise; NaN: not known.
        allowed: largest difference between the two.
    """

    name: str
    unit: str
    claimed: float
    known: float
    allowed: float

    @property
    def ok(self) -> bool | None:
        """None: one of them is not known."""
        off = abs(self.claimed - self.known)
        return None if math.isnan(off) else off <= self.allowed

    def words(self, by: str) -> str:
        """Why a run with it is not accepted."""
        values = f"{self.name} {self.claimed:.4g} {self.unit}".rstrip() + f", there {self.known:.4g}"
        return f"{FALSE}{by}: {values}; allowed: {self.allowed:.2g} apart, by what the twin is not told"
