"""An impact as one mass on springs, with the drag of the ground: what its peak force depends on, without a rover.

The mass is that of the effective kinetic energy, T_c = 1/2 m u^2 at the approach speed u (MacMahon 2016 (3.27)); the
contacts are n alike, side by side. It explains trends and bounds a rover's peak, and knows nothing of its other modes.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, minimize_scalar

from models.checks import Range, problem, refuse
from models.contact.laws import Law, hysteretic_restitution
from models.gravity import GRAVITY_MPS2
from models.wheel import RigidWheel

_ABOVE = Range(0.0, math.inf, "SI", open_low=True)


def peak_over_elastic(factor: float) -> float:
    """Returns the peak force of a law F = k delta (1 + c rate/onset) over that of the spring alone, onset sqrt(k m).

    With s = rate/onset from 1 down to -e, k delta^2 = 2 m onset^2 G(s), G(s) = integral from s to 1 of x/(1 + c x) dx
    (models.contact.laws), so the ratio is the largest (1 + c s) sqrt(2 G(s)). Speed, mass and stiffness drop
    out. It falls and then rises with c: the damping takes depth from the contact, and adds to its force.

    Args:
        factor: c [-] of the law, 0 or more; of Hunt-Crossley 3/2 (1 - e).
    """
    refuse("impact", [problem("factor", factor, Range(0.0, math.inf, ""))])
    c = factor
    if c < 1e-6:
        return 1.0

    def depth(s: float) -> float:
        return math.sqrt(max(2.0 * ((1.0 - s) / c - math.log((1.0 + c) / (1.0 + c * s)) / c**2), 0.0))

    lowest = -hysteretic_restitution(c)
    result = minimize_scalar(
        lambda s: -(1.0 + c * s) * depth(s), bounds=(lowest, 1.0), method="bounded", options={"xatol": 1e-10}
    )
    return -float(result.fun)


def compaction_drag(wheel: RigidWheel, wheels: int, mass: float) -> float:
    """Force [N] by which soil slows a rover whose axles are free: its compaction resistance at the wheels' own weight.

    Args:
        wheel: on its soil.
        wheels: that share the weight alike.
        mass: of the rover [kg].
    """
    weight = mass * GRAVITY_MPS2 / wheels
    sinkage = brentq(lambda z: wheel.normal_force(z)[0] - weight, 1e-9, 0.5 * wheel.radius, xtol=1e-12)
    return wheels * float(wheel.normal_force(sinkage)[1])


def reduced_peak_force(
    law: Law, contacts: int, mass: float, speed: float, deceleration: float = 0.0, fading: float = 0.02
) -> float:
    """Peak force [N] over all contacts of a mass that hits them at a speed, while a drag slows it.

    Args:
        law: of each contact; Hunt-Crossley or Hertz with exponent 1.
        contacts: how many.
        mass: 2 T_c/u^2 [kg].
        speed: u of the approach [m/s].
        deceleration: by which the drag slows the approach [m/s^2].
        fading: speed [m/s] about which the drag fades as the approach ends.

    Raises:
        ValueError: a value out of range, or a law with another exponent.
    """
    not_negative = Range(0.0, math.inf, "SI")
    refuse(
        "reduced impact",
        [
            None if law.exponent == 1.0 else f"exponent is {law.exponent}, allowed: 1",
            problem("contacts", contacts, Range(1.0, math.inf, "")),
            problem("mass", mass, _ABOVE),
            problem("speed", speed, _ABOVE),
            problem("deceleration", deceleration, not_negative),
            problem("fading", fading, _ABOVE),
        ],
    )
    factor = 1.5 * (1.0 - law.restitution)
    stiffness = contacts * law.stiffness

    def force(depth: np.ndarray, rate: np.ndarray) -> np.ndarray:
        return stiffness * depth * (1.0 + factor * rate / speed)

    def motion(_: float, state: np.ndarray) -> list[float]:
        depth, rate = state
        drag = deceleration * rate / math.hypot(rate, fading)
        return [rate, -float(force(depth, rate)) / mass - drag]

    period = 2.0 * math.pi * math.sqrt(mass / stiffness)
    solution = solve_ivp(motion, (0.0, 0.5 * period), [0.0, speed], rtol=1e-9, atol=1e-14, max_step=period / 400.0)
    return float(force(*solution.y).max())
