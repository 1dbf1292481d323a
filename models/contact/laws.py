"""Continuous contact-force laws: from depth and its rate to compression; the law's code and parameters are data."""

from __future__ import annotations

import math
from typing import NamedTuple

from models.checks import Range, problem, refuse
from models.contact.restitution import gonthier_factor, kelvin_voigt_damping
from models.kernels.compiled import kernel

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
