"""Slip sinkage: a wheel that slips loosens and carries away the soil that bears it, and sinks further.

The pressure at a depth falls by exp(-a (n + 1/2) D), so that at a small sinkage, where the load is as z^(n + 1/2), the
sinkage grows by exp(a D). D is |slip| times the share of the shear limit that it mobilises: soil that is hardly sheared
is not moved. Ding et al. (2010) and Pavlov and Johnson (2022) let the exponent grow with the slip, n_0 + n_1 s, to the
same effect; here the closed forms of the wheel stay as they are, times one number. a belongs to soil and wheel:
docs/reproduce/soil-measurements.md has it for seven wheels.

Under a wheel that goes on digging D is a state: it nears its value over a contact's length of rim or of travel, so a
wheel that stops stays in its hole.
"""

import math

from models.kernels.compiled import FloatArray, kernel
from models.wheel.packed import DIGGING, RADIUS, TAN_FRICTION
from models.wheel.shear_law import share_of_limit


@kernel
def dug_by(p: FloatArray, slip: float) -> float:
    """D of steady motion at a slip [-], >= 0."""
    return abs(slip * share_of_limit(p, slip))


@kernel
def dug_after(p: FloatArray, before: float, slip: float, sinkage: float, moved: float) -> float:
    """D after a step.

    Args:
        p: Packed parameters, shape (packed.SIZE,).
        before: D before it [-].
        slip: In the step [-].
        sinkage: z [m].
        moved: The larger of the axle's distance and the rim's in the step [m], >= 0.
    """
    if sinkage <= 0.0:
        return 0.0
    length = math.sqrt(2.0 * p[RADIUS] * sinkage)
    return before + (dug_by(p, slip) - before) * moved / (moved + length)


@kernel
def on_dug(p: FloatArray, dug: float, normal: float, limit: float) -> tuple[float, float]:
    """Normal force F_n and shear limit [N] of `kernels.resultant` on soil that has been dug; cohesion stays.

    Args:
        p: Packed parameters, shape (packed.SIZE,).
        dug: D [-].
        normal: F_n without digging [N].
        limit: F_shear_max without digging [N].
    """
    left = normal * math.exp(-p[DIGGING] * dug)
    return left, limit - (normal - left) * p[TAN_FRICTION]
