"""The normal force of ground that deforms by a contact law, on a point of a body."""

from __future__ import annotations

from models.contact.laws import KELVIN_VOIGT, VISCO_ELASTIC, Law, law_force
from models.kernels.compiled import kernel
from models.rover.dynamics import Workspace
from models.rover.factor import add_sliding
from models.rover.points import Direction, project
from models.rover.reduction import Chain


@kernel
def press(
    chain: Chain,
    law: Law,
    normal: Direction,
    body: int,
    arm: Direction,
    depth: float,
    rising: float,
    dt: float,
    work: Workspace,
) -> float:
    """Add the normal force at a point of a body to work, its spring and its damper linearly implicit.

    Args:
        chain: the rover.
        law: Kelvin-Voigt, visco-elastic or Hertz.
        normal: of the ground, world axes.
        body: which body it acts on.
        arm: [m] world axes, from the body's origin to the point.
        depth: of the point in the ground [m], above 0.
        rising: its speed along the normal [m/s].
        dt: step [s].
        work: placed.

    Returns:
        The force at the start of the step [N].
    """
    force = law_force(law, depth, -rising, 0.0)
    if force > 0.0:
        # increase of the force over a step: by depth, dt * rate deeper, and by rate
        power = 1.0 if law.exponent == 1.0 else depth ** (law.exponent - 1.0)
        stiffness = law.stiffness * law.exponent * power
        damping = 0.0
        if law.law == KELVIN_VOIGT:
            damping = law.damping
        elif law.law == VISCO_ELASTIC:
            damping = law.damping * depth * power
            stiffness += law.damping * law.exponent * power * max(-rising, 0.0)
        later = force - dt * stiffness * rising
        if later > 0.0:  # otherwise the point lifts off within this step: no force pulls it back
            project(chain, work, body, normal, (0.0, 0.0, 0.0), arm, work.row)
            slope = dt * (damping + dt * stiffness)
            add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, 5 + body, later, slope)
    return force
