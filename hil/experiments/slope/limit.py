"""The steepest slope by statics: equal wheel loads, and the pull of the wheel-soil model at one slip."""

from __future__ import annotations

import math
from collections import Counter

from scipy.optimize import brentq

from hil.config.rig import Rig

_STEEPEST_DEG = 59.0


def limit_at_even_loads_deg(rig: Rig) -> float | None:
    """Slope on which the wheels' pull at `slope.slip_limit` just carries the weight along it [deg]; None: none does.

    Each wheel has the same load m g cos(slope) / wheels, and the pull of models.wheel at that load (Petersen 2012
    (4.30)-(4.32)), less that of the drawbar. A rover of other loads pulls less on soil whose compaction resistance is
    convex in the load.
    """
    rover, _, _ = rig.nominal.assemble()
    each = Counter(rig.nominal.ground.wheel_of(mount) for mount in rover.tree.wheels)
    slip = rig.config.slope.slip_limit

    def surplus(slope: float) -> float:
        load, pull = rig.weight_N * math.cos(slope) / len(rover.wheel_names), rig.nominal.drawbar.force[0]
        for wheel, count in each.items():
            sinkage = brentq(lambda z, wheel=wheel: float(wheel.forces(z, slip)[1]) - load, 1e-9, 0.8 * wheel.radius)
            pull += float(count * wheel.forces(sinkage, slip)[0])
        return pull - rig.weight_N * math.sin(slope)

    if surplus(0.0) <= 0.0:
        return None
    return math.degrees(float(brentq(surplus, 0.0, math.radians(_STEEPEST_DEG))))
