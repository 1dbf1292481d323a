"""Continuous contact-force laws: from depth and its rate to compression; the law's code and parameters are data.

From a wanted restitution to a law's damping, and from the damping to the resulting restitution.

The laws of MacMahon 2016 (5.5), (5.6), (5.8), (5.10) are all F = k delta^p (1 + c rate/onset). With u = rate/onset,
m u du/(1 + c u) = -k delta^p d(delta)/onset^2, and depth begins and ends at zero, so u from 1 to -e makes
integral u/(1 + c u) du = 0, that is

    c (1 + e) = ln((1 + c)/(1 - c e)).

Mass, stiffness, exponent and speed drop out. It is (5.9) with c = d/e, so Gonthier's law gives the wanted e, and
the others give the e that solves it for their c. All refuse a value out of range with a ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from scipy.optimize import brentq

from models.checks import Range, problem, refuse
from models.kernels.compiled import kernel
from models.rover.dynamics import Workspace
from models.rover.factor import add_sliding
from models.rover.points import Direction, project
from models.rover.reduction import Chain

_NOT_NEGATIVE = Range(0.0, math.inf, "")
_POSITIVE = Range(0.0, math.inf, "SI", open_low=True)


def gonthier_factor(restitution: float) -> float:
    """Gonthier's d/e of a restitution in (0, 1], MacMahon 2016 (5.9), whose second e is Euler's number.

    The trivial root d = 0 is divided out: near it the equation reads d^2/2 (1 - 1/e^2) + d^3/3 (1 + 1/e^3).
    """
    refuse("Gonthier's law", [problem("restitution", restitution, _RESTITUTION)])
    e = restitution
    near = 1.5 * (1.0 / e**2 - 1.0) / (1.0 + 1.0 / e**3)  # d by those two terms: too small, and right as e -> 1
    if near < 1e-6 and e > 0.5:
        return near / e

    def excess(d: float) -> float:
        return (math.log1p(d / e) - math.log1p(-d) - d * (1.0 + 1.0 / e)) / d**2

    # below e of about 0.03 the root is 1 - exp(-1/e), to double precision 1
    return _root(excess, 1e-3 * near, math.nextafter(1.0, 0.0)) / e


def hysteretic_restitution(factor: float) -> float:
    """The e that a law with factor c = `factor` >= 0 gives; see the module's docstring."""
    refuse("hysteretic law", [problem("factor", factor, _NOT_NEGATIVE)])
    c = factor
    if c < 1e-7:
        return 1.0 - 2.0 / 3.0 * c  # first order of the same equation

    def excess(e: float) -> float:
        return (math.log1p(c) - math.log1p(-c * e) - c * (1.0 + e)) / c**2

    return _root(excess, 0.0, min(1.0, math.nextafter(1.0, 0.0) / c * (1.0 - 1e-15)))


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function turns positive; `high` where it does so only within rounding of it."""
    return high if rising(high) <= 0.0 else float(brentq(rising, low, high, xtol=1e-15))


def kelvin_voigt_restitution(damping_ratio: float) -> float:
    """The e of a mass on spring and damper that separate at zero force: exp(-2 z acos(z)/sqrt(1 - z^2)).

    The force of (5.2) is zero again at the time t with cos(w t) = 2 z^2 - 1, where the speed is -onset exp(-z w_0 t).
    The closed form holds for z = b/(2 sqrt(k m)) > 1 with acosh and sqrt(z^2 - 1).
    """
    refuse("kelvin_voigt", [problem("damping_ratio", damping_ratio, _NOT_NEGATIVE)])
    z = damping_ratio
    if abs(z - 1.0) < 1e-8:
        return math.exp(-2.0)
    if z < 1.0:
        return math.exp(-2.0 * z * math.acos(z) / math.sqrt(1.0 - z * z))
    return math.exp(-2.0 * z * math.acosh(z) / math.sqrt(z * z - 1.0))


def kelvin_voigt_damping(stiffness: float, mass: float, restitution: float) -> float:
    """Damping b [N s/m] that sends `mass` [kg] back from `stiffness` [N/m] with a restitution in (0, 1]."""
    refuse(
        "kelvin_voigt",
        [
            problem("stiffness", stiffness, _POSITIVE),
            problem("mass", mass, _POSITIVE),
            problem("restitution", restitution, _RESTITUTION),
        ],
    )
    if restitution == 1.0:
        return 0.0
    # acosh(z) > ln z and z > sqrt(z^2 - 1), so e < 1/z^2: the upper end is past the root
    highest = max(2.0, 1.0 / math.sqrt(restitution))
    ratio = brentq(lambda z: kelvin_voigt_restitution(z) - restitution, 0.0, highest, xtol=1e-15)
    return float(2.0 * ratio * math.sqrt(stiffness * mass))


# Below this approach speed [m/s] a contact counts as placed, not hit, which keeps the damping factor finite.
SLOWEST_ONSET = 1e-3

HUNT_CROSSLEY, LANKARANI_NIKRAVESH, LEE_WANG, GONTHIER, HERTZ, KELVIN_VOIGT, VISCO_ELASTIC = range(7)
LAWS = {
    "hunt_crossley": HUNT_CROSSLEY,
    "lankarani_nikravesh": LANKARANI_NIKRAVESH,
    "lee_wang": LEE_WANG,
    "gonthier": GONTHIER,
    "hertz": HERTZ,
    "kelvin_voigt": KELVIN_VOIGT,
    "visco_elastic": VISCO_ELASTIC,
}
_STIFFNESS = Range(0.0, math.inf, "N/m^p", open_low=True)
_EXPONENT = Range(1.0, 3.0, "")
_RESTITUTION = Range(0.0, 1.0, "", open_low=True)
_DAMPING = Range(0.0, math.inf, "N s/m^(1+n)")
_MASS = Range(0.0, math.inf, "kg", open_low=True)


class Law(NamedTuple):
    """A contact law as data; its field names are those of models.contact.obstacle.Obstacle.

    Attributes:
        law: code, a value of LAWS.
        stiffness: k [N/m^p].
        exponent: p; 3/2 for spheres (Hertz), 1 for a lumped structure.
        restitution: wanted e; Hertz, Kelvin-Voigt and visco-elastic do not read it.
        damping: Kelvin-Voigt: b [N s/m]; visco-elastic: b [N s/m^(1+p)]; Gonthier: d/e [-]; the others do not read it.
    """

    law: int
    stiffness: float
    exponent: float
    restitution: float
    damping: float


@kernel
def law_force(law: Law, depth: float, rate: float, onset_rate: float) -> float:
    """Contact force [N], positive in compression and never pulling.

    With F = k delta^p, MacMahon 2016:
    Hunt-Crossley (5.5): F (1 + 3/2 (1 - e) rate/onset);
    Lankarani-Nikravesh (5.6): F (1 + 3/4 (1 - e^2) rate/onset);
    Lee-Wang (5.8), its delta^p corrected: F (1 + 3/4 (1 - e) rate/onset);
    Gonthier (5.10): F (1 + d/e rate/onset);
    Hertz (5.3): F;
    Kelvin-Voigt (5.2), where p is 1: F + b rate;
    visco-elastic (5.32), where n is p: F + b delta^p rate.

    Args:
        law: its code and parameters.
        depth: delta [m].
        rate: its time derivative [m/s].
        onset_rate: the rate when contact began [m/s].
    """
    if depth <= 0.0:
        return 0.0
    power = depth if law.exponent == 1.0 else depth**law.exponent
    elastic = law.stiffness * power
    if law.law == HUNT_CROSSLEY:
        factor = 1.5 * (1.0 - law.restitution)
    elif law.law == LANKARANI_NIKRAVESH:
        factor = 0.75 * (1.0 - law.restitution * law.restitution)
    elif law.law == LEE_WANG:
        factor = 0.75 * (1.0 - law.restitution)
    elif law.law == GONTHIER:
        factor = law.damping
    elif law.law == KELVIN_VOIGT:
        return max(0.0, elastic + law.damping * rate)
    elif law.law == VISCO_ELASTIC:
        return max(0.0, elastic + law.damping * power * rate)
    else:
        return elastic
    return max(0.0, elastic * (1.0 + factor * rate / max(onset_rate, SLOWEST_ONSET)))


def make_law(
    name: str,
    stiffness: float,
    *,
    exponent: float = 1.0,
    restitution: float = 1.0,
    damping: float | None = None,
    mass: float | None = None,
) -> Law:
    """A checked law, with its damping solved for once.

    `Obstacle(..., **make_law(...)._asdict())` makes an obstacle with it.

    Args:
        name: a key of LAWS.
        stiffness: k [N/m^p], above 0.
        exponent: p in [1, 3]; Kelvin-Voigt has 1.
        restitution: e in (0, 1]. Which one each law then gives is tabled in docs/explanation/contact.md.
        damping: b of Kelvin-Voigt [N s/m] or of the visco-elastic law [N s/m^(1+p)], 0 or more.
        mass: for Kelvin-Voigt instead of `damping`: the mass [kg] that rebounds with `restitution`.

    Raises:
        ValueError: an unknown name, a value out of range, or damping or mass where the law has none or needs one.
    """
    if name not in LAWS:
        raise ValueError(f"contact law: name is {name!r}, allowed: {', '.join(LAWS)}")
    viscous, by_mass = name in ("kelvin_voigt", "visco_elastic"), name == "kelvin_voigt"
    problems = [
        problem("stiffness", stiffness, _STIFFNESS),
        problem("exponent", exponent, Range(1.0, 1.0, "") if by_mass else _EXPONENT),
        problem("restitution", restitution, _RESTITUTION),
        None if damping is None else problem("damping", damping, _DAMPING),
        None if mass is None else problem("mass", mass, _MASS),
    ]
    if damping is not None and not viscous:
        problems.append(f"damping is {damping}, allowed: none; it follows from restitution")
    if mass is not None and not by_mass:
        problems.append(f"mass is {mass}, allowed: none; only the damping of kelvin_voigt depends on it")
    if viscous and (damping is None) == (mass is None or not by_mass):
        problems.append(f"damping is {damping}, allowed: a number" + (", or mass instead" if by_mass else ""))
    refuse(f"contact law {name}", problems)
    if name == "gonthier":
        damping = gonthier_factor(restitution)
    elif mass is not None:
        damping = kelvin_voigt_damping(stiffness, mass, restitution)
    return Law(LAWS[name], float(stiffness), float(exponent), float(restitution), float(damping or 0.0))


def law_problems(law: Law) -> list[str | None]:
    """The error in a law built by hand, for `models.checks.refuse`; None if there is none."""
    known = law.law in LAWS.values()
    return [
        None if known else f"law is {law.law!r}, allowed: a code of {', '.join(LAWS)}",
        problem("stiffness", law.stiffness, _STIFFNESS),
        problem("exponent", law.exponent, Range(1.0, 1.0, "") if law.law == KELVIN_VOIGT else _EXPONENT),
        problem("restitution", law.restitution, _RESTITUTION),
        problem("damping", law.damping, _DAMPING),
    ]


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
