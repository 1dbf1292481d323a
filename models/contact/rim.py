"""Where a wheel's rim touches a plane: below its centre, or, of a crowned rim that leans, off its middle."""

from __future__ import annotations

import math

from models.kernels.compiled import FloatArray, kernel
from models.rover.points import Direction, dot

# Columns of `Chain.crown`, a row for each wheel: radius of the crown and half the width [m].
CROWN, HALF = 0, 1


@kernel
def rim_contact(
    crown: FloatArray | None, wheel: int, radius: float, normal: Direction, axle: Direction
) -> tuple[float, Direction]:
    """The point of a wheel that is nearest to a plane.

    A wheel without a crown touches a radius from its centre along the normal, whatever its lean: as a sphere does. A
    crowned rim is the envelope of a sphere of the crown's radius whose centre runs round the axle, R - rho from it. So
    it touches along the normal below that centre, off its middle by rho times the sine of the lean; at its edge if
    it leans more than its rim is curved.

    Args:
        crown: `Chain.crown`; which of the two it is is decided at compile time.
        wheel: number of the wheel.
        radius: of its middle [m].
        normal: of the plane, out of it; unit vector in any axes.
        axle: of the wheel, unit vector in the same axes.

    Returns:
        Distance of the wheel's centre from the plane when it touches [m]; from the centre to the point, same axes [m].
    """
    if crown is None:
        return radius, (-radius * normal[0], -radius * normal[1], -radius * normal[2])
    rho, half = crown[wheel, CROWN], crown[wheel, HALF]
    lean = dot(normal, axle)  # sine
    level = math.sqrt(max(1.0 - lean * lean, 1e-18))
    aside = -rho * lean
    from_axle = radius - rho + rho * level
    if abs(aside) > half:
        aside = math.copysign(half, aside)
        from_axle = radius - rho + math.sqrt(rho * rho - half * half)
    down = -from_axle / level
    arm = (
        down * (normal[0] - lean * axle[0]) + aside * axle[0],
        down * (normal[1] - lean * axle[1]) + aside * axle[1],
        down * (normal[2] - lean * axle[2]) + aside * axle[2],
    )
    return -dot(arm, normal), arm
