"""Share of the shear limit that a wheel's traction takes over slip: it levels off, or it peaks and falls.

Petersen 2012, 2.2.2: the shear stress of most soils nears its limit, (2.7); that of others peaks and falls to a
residual, by the laws of Oida and of Wong with two parameters each, which the thesis names and does not print.

A wheel's traction is lumped over its slip, (4.30): tanh(s/K). That is (2.7), 1 - exp(-j/K_x), at a mean displacement
j = K_x ln((1 + exp(2 s/K))/2). "exponential" is (2.7) at j = K_x s/K, in proportion to the slip; it is nearer to the
integral of (2.7) over the contact. The laws that peak are taken at the displacement of the tanh. With x the
displacement over that of the peak, K_r the residual over the limit and r = sqrt(1 - K_r), both are (1 - y)(K_r + c y):

    Oida    y = (r/(1 + r))^x    c = (1 + r)^2             its largest value is 1, at x = 1
    Wong    y = exp(-x)          c = e^2/(e - 1) - e K_r   1 at x = 1; its largest value is up to 1.076

The slip modulus of such a soil is the slip at which x = 1.

Slip sinkage: a wheel that slips loosens and carries away the soil that bears it, and sinks further.

The pressure at a depth falls by exp(-a (n + 1/2) D), so that at a small sinkage, where the load is as z^(n + 1/2), the
sinkage grows by exp(a D). D is |slip| times the share of the shear limit that it mobilises: soil that is hardly sheared
is not moved. Ding et al. (2010) and Pavlov and Johnson (2022) let the exponent grow with the slip, n_0 + n_1 s, to the
same effect; here the closed forms of the wheel stay as they are, times one number. a belongs to soil and wheel:
docs/reproduce/soil-measurements.md has it for seven wheels.

Under a wheel that goes on digging D is a state: it nears its value over a contact's length of rim or of travel, so a
wheel that stops stays in its hole.

It is a state of the soil, too. In a rut the soil has borne no more than exp(-a (n + 1/2) D) of what its depth says, so
a wheel that comes later meets it with the largest D so far, its own included. With the depth alone, soil that was
dug away would bear as if it had been compacted. On the border of two soils D is that of their mean slip modulus.
"""

from __future__ import annotations

import math

from models.kernels.compiled import FloatArray, kernel
from models.wheel.packed import DIGGING, RADIUS, SHEAR_HUMP, SHEAR_RATE, SHEAR_RESIDUAL, SLIP_MODULUS, TAN_FRICTION


@kernel
def share_of_limit(p: FloatArray, slip: float) -> float:
    """Tangential force over its limit at a slip, of the sign of the slip."""
    relative = slip / p[SLIP_MODULUS]
    if p[SHEAR_RATE] == 0.0:
        return math.tanh(relative)
    return math.copysign(peaking_share(p, abs(relative)), relative)


@kernel
def peaking_share(p: FloatArray, relative: float) -> float:
    """The same of a soil whose stress peaks, or nears its limit exponentially, at slip/K >= 0."""
    if p[SHEAR_RATE] < 0.0:
        return -math.expm1(-relative)
    exponent = p[SHEAR_RATE] * math.log1p(0.5 * math.expm1(2.0 * relative))
    return -math.expm1(-exponent) * (p[SHEAR_RESIDUAL] + p[SHEAR_HUMP] * math.exp(-exponent))


@kernel
def slip_over_grip(p: FloatArray, relative: float) -> float:
    """Total slip over the share of the limit that it mobilises, in units of K; the argument is total slip/K >= 0."""
    if p[SHEAR_RATE] == 0.0:
        return relative / math.tanh(relative) if relative > 1e-9 else 1.0
    if relative > 1e-9:
        return relative / peaking_share(p, relative)
    return 1.0 / abs(p[SHEAR_RATE] * (p[SHEAR_RESIDUAL] + p[SHEAR_HUMP]))


@kernel
def dug_by(p: FloatArray, slip: float, modulus: float) -> float:
    """D of steady motion at a slip [-], >= 0, on soil of this slip modulus K [-]."""
    return abs(slip * share_of_limit(p, slip * (p[SLIP_MODULUS] / modulus)))


@kernel
def dug_after(p: FloatArray, before: float, slip: float, modulus: float, sinkage: float, moved: float) -> float:
    """D after a step.

    Args:
        p: Packed parameters, shape (packed.SIZE,).
        before: D before it [-].
        slip: In the step [-].
        modulus: K of the soil [-].
        sinkage: z [m].
        moved: The larger of the axle's distance and the rim's in the step [m], >= 0.
    """
    if sinkage <= 0.0:
        return 0.0
    length = math.sqrt(2.0 * p[RADIUS] * sinkage)
    return before + (dug_by(p, slip, modulus) - before) * moved / (moved + length)


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
