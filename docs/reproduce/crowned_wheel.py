"""Crowned wheels: what MacMahon 2016 (5.4) and Petersen 2012 (3.2.1) say of domed wheels and of a torus, beside ours.

Writes docs/reproduce/crowned_wheel.md; with --check compares. Takes seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from written_page import page_script

from models.contact.rim import rim_contact
from models.wheel import CrownedWheel, RigidWheel, Soil

PAGE = Path(__file__).with_suffix(".md")
# Petersen's seven exponents, and a torus; its radii are not printed.
EXPONENTS = np.linspace(0.25, 1.75, 7)
MAJOR, MINOR = 0.2, 0.05
RADIUS, WIDTH, CROWN = 0.175, 0.15, 0.3


def sand(stiffness: float, exponent: float) -> Soil:
    """Dry sand, but for its pressure-sinkage law."""
    return Soil(stiffness, exponent, friction_angle=0.52, rebound=0.07, slip_modulus=0.185)


def coefficient_slopes() -> list[tuple[float, float, float]]:
    """Exponent, slope of ln c_v over ln V for sinkages up to the minor radius, and how straight it is (R^2)."""
    z, rows = np.geomspace(1e-3 * MINOR, MINOR, 60), []
    volume = torus(1.0).hypervolume(z)
    for exponent in EXPONENTS.tolist():
        if exponent < 0.3 or exponent == 1.0:
            continue
        y = np.log(torus(exponent).hypervolume(z) / volume)
        slope, _ = np.polyfit(np.log(volume), y, 1)
        rows.append((exponent, float(slope), float(np.corrcoef(np.log(volume), y)[0, 1] ** 2)))
    return rows


def torus(exponent: float) -> CrownedWheel:
    """The torus on a soil of this exponent."""
    return CrownedWheel(MAJOR + MINOR, 2.0 * MINOR, sand(1e6, exponent), MINOR)


def sinkage_at(wheel: CrownedWheel | RigidWheel, load_N: float) -> float:
    """Sinkage under a load [m]."""
    z = np.linspace(1e-5, 0.5 * RADIUS, 20001)
    return float(np.interp(load_N, wheel.normal_force(z).vertical, z))


def page() -> str:
    """Its text."""
    slopes = coefficient_slopes()
    straight = min(row[2] for row in slopes)
    per_exponent = [slope / (exponent - 1.0) for exponent, slope, _ in slopes]
    lean = math.radians(10.0)
    axle = (0.0, math.cos(lean), math.sin(lean))
    _, arm = rim_contact(np.array([(CROWN, 0.5 * WIDTH)]), 0, RADIUS, (0.0, 0.0, 1.0), axle)
    moved_mm = 1e3 * abs(sum(one * other for one, other in zip(arm, axle, strict=True)))
    soil = sand(1.783e6, 0.75)
    wheels: dict[str, CrownedWheel | RigidWheel] = {
        "cylinder": RigidWheel(RADIUS, WIDTH, soil),
        "crown 1 m": CrownedWheel(RADIUS, WIDTH, soil, 1.0),
        "crown 0.3 m": CrownedWheel(RADIUS, WIDTH, soil, CROWN),
        "torus": CrownedWheel(RADIUS, WIDTH, soil, 0.5 * WIDTH),
    }
    small = 1e-8
    shallow = torus(0.75).hypervolume(small) / (2.0 * math.pi * math.sqrt((MAJOR + MINOR) * MINOR) * small**1.75 / 1.75)
    rows = []
    for name, wheel in wheels.items():
        z = sinkage_at(wheel, 233.0)
        rows.append(f"| {name} | {1e3 * z:.1f} | {wheel.forces(z, 0.3).longitudinal:.1f} |")
    growing = all((slope > 0.0) == (exponent > 1.0) for exponent, slope, _ in slopes)
    compared = [
        (
            "Petersen 3.2.1, Fig. 3.2",
            "ln c_v over ln V is a line for a torus that sinks up to its minor radius, for seven exponents from 0.25 "
            "to 1.75",
            f"R^2 at least {straight:.5f}, for those from 0.5 on (0.25 is below our range, 1 is c_v = 1)",
            "none in what is said",
            "each slope drifts a little, as the edge of the contact comes near the side of the torus",
        ),
        (
            "Petersen 3.2.1",
            "it grows for exponents above 1 and falls below 1",
            "so for all" if growing else "not so for all",
            "none",
            "",
        ),
        (
            "Petersen (3.7) with A_1",
            "one A_1 for each geometry, slope A_1 (n - 1)",
            f"A_1 from {min(per_exponent):.3f} to {max(per_exponent):.3f}",
            "-",
            "1/2 in the limit of a point contact (a cylinder has 2/3): V ~ z^2, V_h ~ z^(n+1)",
        ),
        (
            "closed form",
            "-",
            f"hypervolume at a sinkage of {small:g} m over 2 pi sqrt(R rho) z^(n+1)/(n+1): {shallow:.6f}",
            "-",
            "a paraboloid, the limit of a small sinkage",
        ),
        (
            "MacMahon 5.4",
            'the RCP\'s wheels are domed "and so have a curvature allowing a rolling motion about more than one axis"',
            f"leaning by 10 degrees the contact of a wheel with a crown of {CROWN:g} m moves by {moved_mm:.1f} mm over "
            "the rim, rho times the sine",
            "none",
            "the thesis takes the wheel as a point that rolls about any axis; it prints no crown",
        ),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in compared)
    changed = "\n".join(rows)
    return f"""# MacMahon 2016, 5.4, and Petersen 2012, 3.2.1: domed wheels and a torus

Written by `python docs/reproduce/crowned_wheel.py`. The sources' text was at hand, their curves were not. Neither
prints a crown: assumed are a torus of radii {MAJOR:g} and {MINOR:g} m, and for the RCP's wheel
(R {RADIUS:g} m, b {WIDTH:g} m) a crown of {CROWN:g} m.

| where | quoted | ours | difference | why |
|---|---|---|---|---|
{table}

A printed slip: the profile of a cylinder under (3.8) has sqrt(R^2 + x^2); it is sqrt(R^2 - x^2).

## What a crown changes
The RCP's wheel under 233 N, a sixth of its weight, on dry sand (Table 3.1), slip 0.3:

| rim | sinkage [mm] | pull [N] |
|---|---|---|
{changed}

A rounder rim sinks more at one load, and so pulls less.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it."""
    return page_script(__doc__, PAGE, page, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
