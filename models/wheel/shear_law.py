"""Share of the shear limit that a wheel's traction takes over slip: it levels off, or it peaks and falls.

Petersen 2012, 2.2.2: the shear stress of most soils nears its limit, (2.7); that of others peaks and falls to a
residual, by the laws of Oida and of Wong with two parameters each, which the thesis names and does not print.

A wheel's traction is lumped over its slip, (4.30): tanh(s/K). That is (2.7), 1 - exp(-j/K_x), at a mean displacement
j = K_x ln((1 + exp(2 s/K))/2). The other laws are taken at this same displacement. With x the displacement over that of
the peak, K_r the residual over the limit and r = sqrt(1 - K_r), both are (1 - y)(K_r + c y):

    Oida    y = (r/(1 + r))^x    c = (1 + r)^2             its largest value is 1, at x = 1
    Wong    y = exp(-x)          c = e^2/(e - 1) - e K_r   1 at x = 1; its largest value is up to 1.076

The slip modulus of such a soil is the slip at which x = 1.
"""

import math

from models.kernels.compiled import FloatArray, kernel
from models.wheel.packed import SHEAR_HUMP, SHEAR_RATE, SHEAR_RESIDUAL, SLIP_MODULUS


@kernel
def share_of_limit(p: FloatArray, slip: float) -> float:
    """Tangential force over its limit at a slip, of the sign of the slip."""
    relative = slip / p[SLIP_MODULUS]
    if p[SHEAR_RATE] == 0.0:
        return math.tanh(relative)
    return math.copysign(peaking_share(p, abs(relative)), relative)


@kernel
def peaking_share(p: FloatArray, relative: float) -> float:
    """The same of a soil whose stress peaks, at slip/K >= 0."""
    exponent = p[SHEAR_RATE] * math.log1p(0.5 * math.expm1(2.0 * relative))
    return -math.expm1(-exponent) * (p[SHEAR_RESIDUAL] + p[SHEAR_HUMP] * math.exp(-exponent))


@kernel
def slip_over_grip(p: FloatArray, relative: float) -> float:
    """Total slip over the share of the limit that it mobilises, in units of K; the argument is total slip/K >= 0."""
    if p[SHEAR_RATE] == 0.0:
        return relative / math.tanh(relative) if relative > 1e-9 else 1.0
    if relative > 1e-9:
        return relative / peaking_share(p, relative)
    return 1.0 / (p[SHEAR_RATE] * (p[SHEAR_RESIDUAL] + p[SHEAR_HUMP]))
