"""The parameters of a soil by the names of section `soil`, and the ranges that they are searched in."""

from __future__ import annotations

import math
from collections.abc import Mapping

from models.wheel import Soil

# Petersen's four (2012, 6.2), which are identified unless something else is asked for.
USUAL = ("stiffness", "exponent", "rebound", "slip_modulus")
# All are searched in logs: what is above 0 stays above 0, and rebound stays in (0, 1].
RANGES: Mapping[str, tuple[float, float]] = {
    "stiffness": (1e3, 1e9),
    "exponent": (0.3, 1.75),
    "rebound": (1e-3, 1.0),
    "slip_modulus": (0.01, 10.0),
    "friction_angle_deg": (1.0, 60.0),
    "cohesion_Pa": (1.0, 1e6),
}
# Further starts of a search, besides the soil of the config: Petersen's own, sand, and firm soil.
STARTS: tuple[Mapping[str, float], ...] = (
    {"stiffness": 2.5e5, "exponent": 0.5, "rebound": 0.15, "slip_modulus": 0.5},
    {"stiffness": 1.8e6, "exponent": 0.8, "rebound": 0.05, "slip_modulus": 0.2},
    {"stiffness": 2e7, "exponent": 1.1, "rebound": 0.4, "slip_modulus": 0.08},
)


def soil_of(values: Mapping[str, float]) -> Soil:
    """The soil of all six parameters, by name."""
    return Soil(
        values["stiffness"],
        values["exponent"],
        cohesion=values["cohesion_Pa"],
        friction_angle=math.radians(values["friction_angle_deg"]),
        rebound=values["rebound"],
        slip_modulus=values["slip_modulus"],
    )
